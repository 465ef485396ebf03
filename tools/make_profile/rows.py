"""Protobuf wire format, many rows at a time.

A row of events is a matrix of bytes with a mask of those that count, so that numpy does the
work and a profile of gigabytes is written in seconds."""
import numpy as np

from .wire import tag, vi


class Part:
    """A column of byte strings: a matrix of bytes and how many of each row count."""
    __slots__ = ('mat', 'mask', 'lens')

    def __init__(self, mat, mask, lens):
        self.mat, self.mask, self.lens = mat, mask, lens


def p_const(n, b):
    a = np.frombuffer(b, np.uint8)
    return Part(np.broadcast_to(a, (n, len(a))), np.ones((n, len(a)), bool),
                np.full(n, len(a), np.int64))


def p_varint(col):
    u = np.asarray(col)
    u = u.astype(np.int64).view(np.uint64) if u.dtype.kind == 'i' else u.astype(np.uint64)
    n = len(u)
    lens = np.ones(n, np.int64)
    for k in range(1, 10):
        lens += (u >> np.uint64(7 * k)) != 0
    w = int(lens.max()) if n else 1
    mat = np.empty((n, w), np.uint8)
    for j in range(w):
        low = (u >> np.uint64(7 * j)).astype(np.uint8) & np.uint8(127)
        mat[:, j] = low | np.where(lens - 1 > j, np.uint8(128), np.uint8(0))
    return Part(mat, np.arange(w) < lens[:, None], lens)


def p_double(col):
    a = np.ascontiguousarray(col, dtype='<f8')
    n = len(a)
    return Part(a.view(np.uint8).reshape(n, 8), np.ones((n, 8), bool), np.full(n, 8, np.int64))


def p_table(table, idx):
    """Row i is table[idx[i]], byte strings of any length."""
    lens = np.array([len(t) for t in table], np.int64)
    w = max(1, int(lens.max())) if len(lens) else 1
    mat = np.zeros((len(table), w), np.uint8)
    for i, t in enumerate(table):
        mat[i, :len(t)] = np.frombuffer(t, np.uint8)
    ln = lens[idx]
    return Part(mat[idx], np.arange(w) < ln[:, None], ln)


def p_cat(parts, present=None):
    mat = np.concatenate([p.mat for p in parts], axis=1)
    mask = np.concatenate([p.mask for p in parts], axis=1)
    lens = sum(p.lens for p in parts)
    if present is not None:
        mask = mask & present[:, None]
        lens = np.where(present, lens, 0)
    return Part(mat, mask, lens)


def p_sub(n, field, part, present=None):
    return p_cat([p_const(n, tag(field, 2)), p_varint(part.lens), part], present)


KIND_TAG = {'i': b'\x20', 'u': b'\x18', 'r': b'\x38'}


def encode_events(mid, off, dur, stats, field=4, chunk=1 << 15):
    """Bytes of many XEvents.  stats: list of (stat id, kind, column, present or None);
    kind 's' takes a (table, index) pair."""
    out = []
    n = len(mid)
    for a in range(0, n, chunk):
        b = min(n, a + chunk)
        m = b - a
        d = np.asarray(dur[a:b])
        parts = [p_const(m, b'\x08'), p_varint(mid[a:b]), p_const(m, b'\x10'), p_varint(off[a:b]),
                 p_cat([p_const(m, b'\x18'), p_varint(d)], d != 0)]
        for sid, kind, col, pres in stats:
            pr = None if pres is None else pres[a:b]
            head = b'\x08' + vi(sid)
            if kind in KIND_TAG:
                body = p_cat([p_const(m, head + KIND_TAG[kind]), p_varint(col[a:b])])
            elif kind == 'd':
                body = p_cat([p_const(m, head + b'\x11'), p_double(col[a:b])])
            else:
                t = p_table(col[0], col[1][a:b])
                body = p_cat([p_const(m, head), p_sub(m, 5, t)])
            parts.append(p_sub(m, 4, body, pr))
        row = p_sub(m, field, p_cat(parts))
        out.append(row.mat[row.mask].tobytes())
    return out
