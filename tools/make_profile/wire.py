"""Protobuf wire format, one value at a time, and the units of time.

Times inside the generator are integers in picoseconds."""
import struct

MASK64 = (1 << 64) - 1
US = 1_000_000              # times inside this file are integers, picoseconds
MS = 1_000_000_000
SEC = 1_000_000_000_000
SMALL = [bytes((k,)) if k < 128 else bytes((k & 127 | 128, k >> 7)) for k in range(16384)]


def vi(n):
    """Varint of an int (negative numbers take ten bytes, as int64 does)."""
    if 0 <= n < 16384:
        return SMALL[n]
    n &= MASK64
    out = bytearray()
    while n > 127:
        out.append((n & 127) | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def tag(field, wire):
    return SMALL[field << 3 | wire]


def f_int(field, n):
    return tag(field, 0) + vi(int(n))


def f_int0(field, n):
    """Like f_int, but leaves a zero out (proto3)."""
    return f_int(field, n) if n else b''


def f_bytes(field, b):
    if isinstance(b, str):
        b = b.encode('utf-8')
    return tag(field, 2) + vi(len(b)) + b


def f_bytes0(field, b):
    return f_bytes(field, b) if b else b''


def f_double(field, x):
    return tag(field, 1) + struct.pack('<d', x)


def f_packed(field, ns):
    return f_bytes(field, b''.join(vi(int(n)) for n in ns)) if len(ns) else b''


def stat_bytes(mid, kind, val):
    """The inside of an XStat.  kind: d u i s b r, or '' for no value."""
    if kind == 'i' or kind == 'u':
        return b'\x08' + vi(mid) + (b'\x20' if kind == 'i' else b'\x18') + vi(int(val))
    if kind == 'r':
        return b'\x08' + vi(mid) + b'\x38' + vi(val)
    if kind == 's':
        return b'\x08' + vi(mid) + f_bytes(5, val)
    if kind == 'b':
        return b'\x08' + vi(mid) + f_bytes(6, val)
    if kind == 'd':
        return b'\x08' + vi(mid) + f_double(2, val)
    return b'\x08' + vi(mid)
