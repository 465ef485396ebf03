"""Real HLO modules, read from *.hlo_proto.pb files (--hlo)."""
import os
import re

from .context import fingerprint
from .hlo import Instr, Shape
from .wire import f_bytes, f_int


def rd_varint(b, i):
    r = s = 0
    while True:
        c = b[i]
        i += 1
        r |= (c & 127) << s
        if c < 128:
            return r, i
        s += 7


def rd_fields(b):
    """(field, value) pairs: an int, or bytes."""
    i, n = 0, len(b)
    while i < n:
        t, i = rd_varint(b, i)
        w = t & 7
        if w == 0:
            v, i = rd_varint(b, i)
        elif w == 2:
            ln, i = rd_varint(b, i)
            v = b[i:i + ln]
            i += ln
        else:
            k = 8 if w == 1 else 4
            v = b[i:i + k]
            i += k
        yield t >> 3, v


def rd_ints(vals):
    """A repeated int field, packed or not."""
    out = []
    for v in vals:
        if isinstance(v, int):
            out.append(v)
        else:
            i = 0
            while i < len(v):
                x, i = rd_varint(v, i)
                out.append(x)
    return out


def rd_all(b):
    d = {}
    for f, v in rd_fields(b):
        d.setdefault(f, []).append(v)
    return d


ETYPE = {1: ('pred', 1), 2: ('s8', 1), 3: ('s16', 2), 4: ('s32', 4), 5: ('s64', 8), 6: ('u8', 1), 7: ('u16', 2), 8: ('u32', 4),
         9: ('u64', 8), 10: ('f16', 2), 11: ('f32', 4), 12: ('f64', 8), 15: ('c64', 8), 16: ('bf16', 2), 18: ('c128', 16),
         19: ('f8e5m2', 1), 20: ('f8e4m3fn', 1), 21: ('s4', 1), 22: ('u4', 1)}


class RealShape:
    def __init__(self, b):
        d = rd_all(b)
        et = d.get(2, [0])[0]
        self.elems = [RealShape(x) for x in d.get(4, ())] if et == 13 else None
        self.dt, self.width = ETYPE.get(et, ('token' if et == 17 else 'opaque', 0))
        self.dims = tuple(rd_ints(d.get(3, ())))
        lay = rd_all(d[5][0]) if 5 in d else {}
        self.order = rd_ints(lay.get(1, ()))
        self.tiles = [rd_ints(rd_all(t).get(1, ())) for t in lay.get(6, ())]
        self.space = lay.get(8, [0])[0]

    count = Shape.count

    @property
    def size(self):
        return sum(e.size for e in self.elems) if self.elems is not None else self.count * self.width

    def text(self):
        if self.elems is not None:
            return '(' + ', '.join(e.text() for e in self.elems) + ')'
        t = 'T' + ''.join('(%s)' % ','.join(map(str, x)) for x in self.tiles) if self.tiles else ''
        t += 'S(%d)' % self.space if self.space else ''
        lay = ','.join(map(str, self.order)) + (':' + t if t else '')
        return '%s[%s]%s' % (self.dt, ','.join(map(str, self.dims)), '{%s}' % lay if lay else '')


ELEMENTWISE = {'add', 'multiply', 'subtract', 'divide', 'maximum', 'minimum', 'select', 'compare', 'convert', 'tanh', 'exponential',
               'log', 'negate', 'rsqrt', 'sqrt', 'power', 'and', 'or', 'xor', 'clamp', 'iota', 'abs', 'floor', 'sign'}
NOT_RUN = {'parameter', 'constant', 'get-tuple-element', 'tuple', 'bitcast', 'after-all', 'partition-id', 'replica-id',
           'add-dependency', 'opt-barrier', 'optimization-barrier'}


class RealModule:
    """A module as a compiler wrote it.  Only what the events need is read; proto() is the file."""

    def __init__(self, path, program_id, peaks, rng):
        self.raw = open(path, 'rb').read()
        self.program_id, self.peaks, self.rng = program_id, peaks, rng
        m = rd_all(rd_all(self.raw)[1][0])
        self.name = m[1][0].decode()
        sf = rd_all(m[17][0]) if 17 in m else {}
        self.files = [x.decode() for x in sf.get(1, ())]
        self.locs = [rd_all(x) for x in sf.get(3, ())]
        self.fr = [rd_all(x) for x in sf.get(4, ())]
        self.comps = {}
        self.by_id = {}
        self.coll = 0
        for cb in m.get(3, ()):
            c = rd_all(cb)
            cid = c[5][0]
            ins = [self.instr(x, cid) for x in c.get(2, ())]
            self.comps[cid] = (c[1][0].decode(), ins, c)
        if 7 in m:
            for e in rd_all(m[7][0]).get(1, ()):
                kv = rd_all(e)
                if kv.get(1, [0])[0] in self.comps and 2 in kv:
                    name, ins, c = self.comps[kv[1][0]]
                    pos = {i: k for k, i in enumerate(rd_ints(rd_all(kv[2][0]).get(1, ())))}
                    ins.sort(key=lambda i: pos.get(i.id, 0))
        for cid, (name, ins, c) in self.comps.items():
            for i in ins:
                i.ops = [self.by_id[cid, o] for o in i.ops if (cid, o) in self.by_id]
        for n, i in enumerate(self.instrs):     # ids in the file are unique in a computation only
            i.id = n + 1
        for i in self.instrs:
            self.cost(i)
        self.tree = self.walk(m[6][0] if 6 in m else max(self.comps))
        self.entry = self

    @property
    def instrs(self):
        return [i for _, ins, _ in self.comps.values() for i in ins]

    def instr(self, b, cid):
        d = rd_all(b)
        md = rd_all(d[7][0]) if 7 in d else {}
        i = Instr(name=d[1][0].decode(), opcode=d[2][0].decode(), shape=RealShape(d[3][0]), comp=cid)
        i.id = d.get(35, [0])[0]
        i.ops = rd_ints(d.get(36, ()))
        i.child_ids = rd_ints(d.get(38, ()))
        i.kind = d[11][0].decode() if 11 in d else None
        i.target = d[28][0].decode() if 28 in d else None
        i.channel = d.get(26, [0])[0] or None
        i.attrs = d.get(43, [b''])[0].decode('utf-8', 'replace')
        i.op_type = md.get(1, [b''])[0].decode()
        i.op_name = md.get(2, [b''])[0].decode()
        i.dedup = md.get(12, [b''])[0].decode() or None
        i.frame = md.get(15, [0])[0]
        i.src = md.get(3, [b''])[0].decode()
        i.line = md.get(4, [0])[0]
        if not i.src and i.frame:
            first = self.stack(i.frame).split('\n')[0].rsplit(':', 2)
            if len(first) == 3:
                i.src, i.line = first[0], int(first[1])
        self.by_id[cid, i.id] = i
        return i

    def stack(self, f):
        out = []
        while 0 < f <= len(self.fr):
            d = self.fr[f - 1]
            q = d.get(1, [0])[0]
            loc = self.locs[q - 1] if 0 < q <= len(self.locs) else {}
            k = loc.get(1, [0])[0]
            out.append('%s:%d:%d' % (self.files[k - 1] if 0 < k <= len(self.files) else '', loc.get(3, [0])[0], loc.get(4, [0])[0]))
            f = d.get(2, [0])[0]
        return '\n'.join(out)

    def cost(self, i):
        body = self.comps.get(i.child_ids[0]) if i.child_ids else None
        inner = [x for x in body[1] if x.opcode in ('convolution', 'dot')] if body else []
        op = i.opcode
        if op == 'fusion':
            i.category = ('convolution fusion' if inner else {'kLoop': 'loop fusion', 'kInput': 'loop fusion', 'kOutput': 'output fusion',
                                                              'kCustom': 'custom fusion'}.get(i.kind, 'loop fusion'))
        elif op in ELEMENTWISE:
            i.category = 'non-fusion elementwise'
        elif op in ('copy', 'transpose', 'reshape'):
            i.category = 'data formatting'
        else:
            i.category = op
        fl = sum(2.0 * (max(1, x.shape.count) * max(1, x.ops[0].shape.count) * max(1, x.ops[1].shape.count)) ** 0.5
                 for x in (inner or ([i] if op in ('convolution', 'dot') else [])) if len(x.ops) > 1)
        if not fl and op in ('fusion', 'reduce') or op in ELEMENTWISE:
            fl = i.shape.count * (len(body[1]) if body else 1)
        nb = min(1 << 33, i.shape.size + sum(o.shape.size for o in i.ops))
        i.flops, i.model_flops, i.bytes = int(fl), int(fl), int(nb)
        cyc = re.search(r'"estimated_cycles":"(\d+)"', i.attrs or '')
        t = int(cyc.group(1)) / 1.05e9 if cyc else max(fl / (self.peaks[0] * 1e12), nb / (self.peaks[1] * 1e9)) / 0.7
        if op.endswith('-start') or op in ('while', 'call', 'conditional'):
            t = 2e-7
        i.base_ps = int(max(2e-7, min(t, 0.05)) * 1e12)
        i.breakdown = (f_bytes(1, f_int(1, 1) + f_int(2, 1) + f_int(3, nb // 2)) + f_bytes(1, f_int(1, 2) + f_int(2, 1) + f_int(3, nb // 3)))
        if op.split('-start')[0].split('-done')[0] in ('all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all', 'collective-permute') \
                and not op.endswith('-start'):
            self.coll += 1
            i.loop = ('coll', self.coll)
        extra = ''
        if i.kind:
            extra += ', kind=' + i.kind
        if i.child_ids and op != 'while':
            extra += ', calls=%' + self.comps[i.child_ids[0]][0]
        elif op == 'while':
            extra += ', condition=%%%s, body=%%%s' % (self.comps[i.child_ids[1]][0], self.comps[i.child_ids[0]][0])
        if i.target:
            extra += ', custom_call_target="%s"' % i.target
        if i.channel:
            extra += ', channel_id=%d' % i.channel
        i.cached = '%%%s = %s %s(%s)%s' % (i.name, i.shape.text(), op, ', '.join('%s %%%s' % (o.shape.text(), o.name) for o in i.ops), extra)

    def walk(self, cid, depth=0):
        nodes = []
        for i in self.comps[cid][1]:
            if i.opcode in NOT_RUN:
                continue
            if i.opcode.endswith('-done') and i.ops and i.ops[0].opcode.endswith('-start'):
                i.pair, i.ops[0].pair = i.ops[0], i
            if i.opcode in ('while', 'call', 'conditional') and i.child_ids and depth < 6:
                n = re.search(r'"known_trip_count":\{"n":"(\d+)"', i.attrs or '')
                trip = min(64, int(n.group(1))) if n else (int(self.rng.integers(2, 12)) if i.opcode == 'while' else 1)
                kids = self.walk(i.child_ids[0], depth + 1)
                if kids and trip:
                    nodes.append(('loop', i, trip, kids))
                    continue
            nodes.append(('op', i))
        return nodes

    def proto(self):
        return self.raw


def real_modules(paths, rng, peaks):
    files = []
    for p in paths:
        files += [os.path.join(p, f) for f in sorted(os.listdir(p)) if f.endswith('.hlo_proto.pb')] if os.path.isdir(p) else [p]
    files.sort(key=os.path.getsize, reverse=True)
    return [RealModule(f, fingerprint(rng), peaks, rng) for f in files[:1] + files[1:][-3:]]
