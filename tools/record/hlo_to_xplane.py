"""Wraps *.hlo_proto.pb files in one .xplane.pb, the way a runtime does: a /host:metadata plane
whose event metadata carry the HloProto. No timed events. Needs nothing but Python.

    hlo_to_xplane.py HLO_DIR OUT.xplane.pb
"""
import glob
import hashlib
import os
import sys

START_NS = 1_700_000_000_000_000_000


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def plane(name, *parts):
    return text(1, text(2, name) + b"".join(parts))


def entry(field, key, message):
    """One entry of a map from ids to messages."""
    return text(field, number(1, key) + text(2, message))


def wrap(folder):
    modules = b""
    for path in sorted(glob.glob(folder + "/*.hlo_proto.pb")):
        name = os.path.basename(path)[: -len(".hlo_proto.pb")]
        with open(path, "rb") as f:
            proto = f.read()
        program = int.from_bytes(hashlib.sha256(proto).digest()[:8], "little")
        modules += entry(4, program, number(1, program) + text(2, f"{name}({program})") + text(5, number(1, 1) + text(6, proto)))
    metadata = plane("/host:metadata", modules, entry(5, 1, number(1, 1) + text(2, "Hlo Proto")))
    times = plane("Task Environment", entry(5, 1, number(1, 1) + text(2, "profile_start_time")),
                  entry(5, 2, number(1, 2) + text(2, "profile_stop_time")),
                  text(6, number(1, 1) + number(3, START_NS)), text(6, number(1, 2) + number(3, START_NS + 10**9)))
    return metadata + plane("/host:CPU") + times + text(4, "host0")


if __name__ == "__main__":
    with open(sys.argv[2], "wb") as out:
        out.write(wrap(sys.argv[1]))
