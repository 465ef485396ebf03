#!/usr/bin/env bash
# check_static.sh BINARY LOGDIR: whether BINARY runs anywhere: statically linked, small, at work in a folder that holds nothing but
# itself and a log directory, and free of the host's name service modules.
#
# A static glibc binary that loads a module named in nsswitch.conf loads the host's libc with it and aborts where the versions
# differ; so the folder has an nsswitch.conf that names one, and not a single shared object may be opened.
# Needs root (chroot); the last check also strace.
set -euo pipefail

binary=$1 logdir=$2
limit_bytes=10000000

die() { echo "check_static: $*" >&2; exit 1; }

ldd "$binary" 2>&1 | grep -q -e 'statically linked' -e 'not a dynamic executable' || die "$binary is linked dynamically"
size=$(stat -c %s "$binary")
((size < limit_bytes)) || die "$binary has $size bytes, $limit_bytes are allowed"

if ((EUID != 0)); then
    echo "check_static: statically linked, $size bytes; the rest needs root and was skipped"
    exit 0
fi

root=$(mktemp -d)
server=
finish() {
    # strace waits for what it runs and takes no notice of SIGTERM: the server under it goes first.
    [ -z "$server" ] || pkill -TERM -P "$server" 2>/dev/null || kill "$server" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$root"
}
trap finish EXIT

cp "$binary" "$root/xprof-rs"
cp -r "$logdir" "$root/logdir"
chroot "$root" /xprof-rs --version >"$root/version" || die 'does not run in an empty chroot'

mkdir -p "$root/etc" "$root/tmp"
printf '127.0.0.1 profile-host\n' >"$root/etc/hosts"
printf 'hosts: files myhostname dns\n' >"$root/etc/nsswitch.conf"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
trace=()
if command -v strace >/dev/null; then
    trace=(strace -f -qq -e trace=open,openat,execve -o "$root/strace")
else
    echo 'check_static: no strace here: not checked that no shared object is opened'
fi
"${trace[@]}" chroot "$root" /xprof-rs --logdir /logdir --host profile-host --port "$port" >"$root/log" 2>&1 &
server=$!
for _ in $(seq 100); do
    runs=$(curl -sf --noproxy '*' "http://127.0.0.1:$port/runs") && break
    kill -0 "$server" 2>/dev/null || die "ended in the chroot: $(cat "$root/log")"
    sleep 0.1
done
[[ ${runs:-} == \[\"* ]] || die "no runs from the chroot: '${runs:-}' $(cat "$root/log")"
curl -sf --noproxy '*' "http://127.0.0.1:$port/" | grep -qi '<html' || die 'no page from the chroot'

if [ -e "$root/strace" ]; then
    # What chroot(1) itself loads comes before the binary's own start.
    opened=$(sed '1,/execve("\/xprof-rs"/d' "$root/strace" | grep -E '\.so[."]' || true)
    [ -z "$opened" ] || die "opens shared objects: $opened"
fi
echo "check_static: ok: $(cat "$root/version"), $size bytes, statically linked; serves from an empty chroot, resolves names, loads nothing"
