"""XSpace building: lines, planes, and the file that takes them."""
import os

import numpy as np

from .rows import encode_events
from .wire import f_bytes, f_bytes0, f_int, f_int0, stat_bytes, tag, vi


class Line:
    def __init__(self, lid, name, ts_ns=0, display='', display_id=0, dur_ps=0):
        self.id, self.name, self.ts, self.display = lid, name, ts_ns, display
        self.display_id, self.dur = display_id, dur_ps
        self.chunks = []
        self.pending = []

    def add(self, mid, start_ps, dur_ps, stats=b''):
        """An event at an absolute time; stats: ready bytes of field 4 entries."""
        self.pending.append((start_ps - self.ts * 1000, dur_ps, mid, stats))

    def raw(self, b):
        self.chunks.append(b)

    def rows(self, mid, start, dur, stats):
        self.chunks += encode_events(mid, np.asarray(start) - self.ts * 1000, dur, stats)

    def sort(self):
        self.pending.sort(key=lambda e: (e[0], -e[1]))
        return self

    def finish(self):
        for off, dur, mid, stats in self.pending:
            body = (b'\x08' + vi(mid) + b'\x10' + vi(off) + (b'\x18' + vi(dur) if dur else b'') + stats)
            self.chunks.append(b'\x22' + vi(len(body)) + body)
        self.pending = []
        head = f_int0(1, self.id) + f_bytes0(2, self.name) + f_int0(3, self.ts)
        tail = f_int0(9, self.dur) + f_int0(10, self.display_id) + f_bytes0(11, self.display)
        return [head] + self.chunks + [tail]


class Plane:
    def __init__(self, pid, name, rng=None):
        self.id, self.name, self.rng = pid, name, rng
        self.sm, self.em, self.lines, self.stats = {}, {}, [], []
        self.em_out, self.extra, self.sm_out = [], b'', []
        self.next_em = 1

    def S(self, name):
        sid = self.sm.get(name)
        if sid is None:
            sid = self.sm[name] = len(self.sm) + 1
        return sid

    def stat(self, name, kind, val):
        """Bytes of a field-4 entry of an event (also field 5 of a metadata: same inside)."""
        b = stat_bytes(self.S(name), kind, self.S(val) if kind == 'r' else val)
        return b'\x22' + vi(len(b)) + b

    def pstat(self, name, kind, val):
        self.stats.append(stat_bytes(self.S(name), kind, self.S(val) if kind == 'r' else val))

    def E(self, name, display='', stats=(), key=None, meta=b'', children=(), eid=None):
        """Event metadata id; stats are (name, kind, value) triples."""
        key = key or (name, display)
        got = self.em.get(key)
        if got is not None:
            return got
        if eid is None:
            eid = self.next_em
            self.next_em += 1
        self.em[key] = eid
        body = f_int0(1, eid) + f_bytes0(2, name) + f_bytes0(3, meta) + f_bytes0(4, display)
        for sn, k, v in stats:
            body += f_bytes(5, stat_bytes(self.S(sn), k, self.S(v) if k == 'r' else v))
        body += b''.join(f_int(6, c) for c in children)
        self.em_out.append(f_int(1, eid) + f_bytes(2, body))
        return eid

    def line(self, *a, **k):
        ln = Line(*a, **k)
        self.lines.append(ln)
        return ln

    def chunks(self):
        out = [f_int0(1, self.id) + f_bytes0(2, self.name)]
        for ln in self.lines:
            cs = ln.finish()
            out.append(tag(3, 2) + vi(sum(map(len, cs))))
            out += cs
        ems = list(self.em_out)
        sms = [f_int(1, i) + f_bytes(2, f_int(1, i) + f_bytes0(2, n)) for n, i in self.sm.items()]
        sms += self.sm_out
        if self.rng is not None:      # maps come in hash order from C++ writers
            ems = [ems[i] for i in self.rng.permutation(len(ems))]
            sms = [sms[i] for i in self.rng.permutation(len(sms))]
        out += [f_bytes(4, e) for e in ems]
        out += [f_bytes(5, s) for s in sms]
        out += [f_bytes(6, s) for s in self.stats]
        out.append(self.extra)
        return out


class SpaceFile:
    """Writes planes as they are finished, so that one plane is in memory at a time."""

    def __init__(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.f = open(path, 'wb')
        self.path = path

    def plane(self, p):
        cs = p.chunks()
        self.f.write(b'\x0a' + vi(sum(map(len, cs))))
        self.f.writelines(cs)
        p.lines = []

    def raw(self, b):
        self.f.write(b)

    def close(self, hostname=None, errors=(), warnings=()):
        for e in errors:
            self.f.write(f_bytes(2, e))
        for w in warnings:
            self.f.write(f_bytes(3, w))
        if hostname:
            self.f.write(f_bytes(4, hostname))
        self.f.close()
        return os.path.getsize(self.path)


class SizeOnly:
    """Takes planes like SpaceFile, and only adds up their bytes."""

    def __init__(self):
        self.n = 0

    def plane(self, p):
        n = sum(map(len, p.chunks()))
        self.n += n + 1 + len(vi(n))

    def close(self, *_):
        return self.n


def solve_steps(a, write, lo=3):
    """How many steps give a file of a.size_mb; write(sink, steps) builds the planes of a file."""
    if a.steps:
        return a.steps
    got = []
    for n in (lo, lo + 2):
        z = SizeOnly()
        write(z, n)
        got.append(z.n)
    slope = max(1.0, (got[1] - got[0]) / 2)
    return max(lo, lo + int(round((a.size_mb * 1e6 - got[0]) / slope)))


def task_env(start_ns, stop_ns):
    p = Plane(0, 'Task Environment')
    p.pstat('profile_start_time', 'u', start_ns)
    p.pstat('profile_stop_time', 'u', stop_ns)
    return p
