"""Records the JAX and TensorFlow runs that lie among the goldens.

A recording names the machine that it was made on: the host in the profile, paths in the HLO's
source lines. So it is made in a folder that says nothing, the host is renamed, and a recording
that still names its machine is refused.
"""
import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

FOLDER = Path('/tmp/profile-run')
RECORDERS = Path(__file__).resolve().parent.parent / 'record'
# what is recorded -> packages, script, its job
KINDS = {
    'jax': (['jax==0.10.2'], 'jax_cpu.py', 'small_mlp'),
    'tensorflow': (['tensorflow-cpu==2.21.0'], 'tf_cpu.py', 'small_loop'),
}
HOSTNAMES = 4       # field of XSpace


def varint(data: bytes, at: int):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def with_host_renamed(space: bytes, name: bytes = b'localhost') -> bytes:
    """The XSpace with its host names replaced. All fields of an XSpace are length-delimited."""
    out, at = [], 0
    while at < len(space):
        key, body = varint(space, at)
        size, body = varint(space, body)
        end = body + size
        out.append(bytes([key, len(name)]) + name if key >> 3 == HOSTNAMES else space[at:end])
        at = end
    return b''.join(out)


def names_of_this_machine():
    home = os.path.expanduser('~')
    names = {socket.gethostname(), socket.getfqdn(), f'/home/{getpass.getuser()}', home, str(RECORDERS.parent.parent)}
    return [n.encode() for n in names - {'localhost', '/'}]


def run(words: list, logdir: Path):
    """Records what the words say into `logdir`."""
    packages, script, job = KINDS[words[0]]
    venv = FOLDER / words[0]
    python = venv / 'bin' / 'python'
    FOLDER.mkdir(exist_ok=True)
    if not python.exists():
        subprocess.run([sys.executable, '-m', 'venv', str(venv)], check=True)
        subprocess.run([str(python), '-m', 'pip', 'install', '--quiet', *packages], check=True)
    shutil.copy(RECORDERS / script, FOLDER / script)
    environment = {k: v for k, v in os.environ.items() if k in ('PATH', 'LANG')} | {'HOME': str(FOLDER), 'TF_CPP_MIN_LOG_LEVEL': '2'}
    subprocess.run([str(python), str(FOLDER / script), str(FOLDER / 'out'), job], check=True, cwd=FOLDER, env=environment)
    made = FOLDER / 'out' / job
    for path in sorted(made.rglob('*.xplane.pb')):
        space = with_host_renamed(path.read_bytes())
        for name in names_of_this_machine():
            if re.search(rb'(?<!\w)' + re.escape(name) + rb'(?!\w)', space):
                raise SystemExit(f'{path} names this machine: {name.decode()}')
        target = logdir / path.relative_to(made)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(space)
