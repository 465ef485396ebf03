"""HLO building: shapes, instructions, computations, modules and their buffer assignment."""
import struct

from .wire import f_bytes, f_bytes0, f_int, f_int0, f_packed

DT = {'pred': (1, 1), 's8': (2, 1), 's32': (4, 4), 's64': (5, 8), 'u8': (6, 1), 'u32': (8, 4),
      'f16': (10, 2), 'f32': (11, 4), 'bf16': (16, 2), 'token': (17, 0), 'tuple': (13, 0),
      'f8e4m3fn': (20, 1)}


class Shape:
    def __init__(self, dt, dims=(), tiled=True, space=0, elems=None):
        self.dt, self.dims, self.tiled, self.space = dt, tuple(dims), tiled, space
        self.elems = elems

    def at(self, space):
        return Shape(self.dt, self.dims, self.tiled, space, self.elems)

    @property
    def count(self):
        n = 1
        for d in self.dims:
            n *= d
        return n

    @property
    def size(self):
        if self.elems is not None:
            return sum(e.size for e in self.elems) + 8 * len(self.elems)
        return self.count * DT[self.dt][1]

    def text(self):
        if self.elems is not None:
            return '(' + ', '.join(e.text() for e in self.elems) + ')'
        if self.dt == 'token':
            return 'token[]'
        r = len(self.dims)
        lay = ','.join(str(i) for i in range(r - 1, -1, -1))
        t = ''
        if self.tiled:
            t = 'T(%s)' % ('128' if r == 0 else '1024' if r == 1 else '8,128')
            if self.dt == 'bf16' and r > 1:
                t += '(2,1)'
        if self.space:
            t += 'S(%d)' % self.space
        if t:
            lay += ':' + t
        s = '%s[%s]' % (self.dt, ','.join(map(str, self.dims)))
        return s + ('{%s}' % lay if lay else '')

    def proto(self):
        if self.elems is not None:
            return f_int(2, 13) + b''.join(f_bytes(4, e.proto()) for e in self.elems)
        if self.dt == 'token':
            return f_int(2, 17)
        r = len(self.dims)
        lay = f_packed(1, range(r - 1, -1, -1))
        if self.tiled:
            tiles = [(128,)] if r == 0 else [(1024,)] if r == 1 else [(8, 128)]
            if self.dt == 'bf16' and r > 1:
                tiles.append((2, 1))
            lay += b''.join(f_bytes(6, f_packed(1, t)) for t in tiles)
        lay += f_int0(8, self.space) + f_int(16, 1)
        return (f_int(2, DT[self.dt][0]) + f_packed(3, self.dims) + f_bytes(5, lay)
                + f_packed(6, [0] * r))


def tup(*elems):
    return Shape('tuple', elems=elems)


class Instr:
    __slots__ = ('id', 'name', 'opcode', 'shape', 'ops', 'called', 'extra', 'attrs', 'op_name',
                 'op_type', 'src', 'line', 'frame', 'dedup', 'category', 'flops', 'model_flops',
                 'bytes', 'base_ps', 'comp', 'kind', 'target', 'pair', 'loop', 'groups', 'child_ids',
                 'breakdown', 'channel', 'dcn', 'cached')

    def __init__(self, **k):
        for s in self.__slots__:
            setattr(self, s, None)
        for a, b in k.items():
            setattr(self, a, b)

    def text(self):
        if self.cached is None:
            self.cached = self.make_text()
        return self.cached

    def make_text(self):
        if self.opcode == 'constant':
            return '%%%s = %s constant(%s)' % (self.name, self.shape.text(), self.attrs or '0')
        if self.opcode == 'parameter':
            return '%%%s = %s parameter(%s)' % (self.name, self.shape.text(), self.attrs)
        args = ', '.join('%s %%%s' % (o.shape.text(), o.name) for o in self.ops)
        s = '%%%s = %s %s(%s)' % (self.name, self.shape.text(), self.opcode, args)
        if self.kind:
            s += ', kind=' + self.kind
        if self.opcode == 'fusion':
            s += ', calls=%' + self.called[0].name
        elif self.opcode == 'while':
            s += ', condition=%%%s, body=%%%s' % (self.called[1].name, self.called[0].name)
        elif self.called:
            s += ', to_apply=%' + self.called[0].name
        if self.target:
            s += ', custom_call_target="%s"' % self.target
        if self.channel:
            s += ', channel_id=%d' % self.channel
        if self.groups:
            s += ', replica_groups={%s}' % ','.join('{%s}' % ','.join(map(str, g)) for g in self.groups)
        if self.attrs:
            s += ', ' + self.attrs
        return s

    def proto(self):
        md = (f_bytes0(1, self.op_type or '') + f_bytes0(2, self.op_name or '') + f_bytes0(3, self.src or '')
              + f_int0(4, self.line or 0) + f_bytes0(12, self.dedup or '') + f_int0(15, self.frame or 0))
        b = f_bytes(1, self.name) + f_bytes(2, self.opcode) + f_bytes(3, self.shape.proto()) + f_bytes(7, md)
        if self.kind:
            b += f_bytes(11, self.kind)
        if self.channel:
            b += f_int(26, self.channel)
        if self.target:
            b += f_bytes(28, self.target)
        b += f_int(35, self.id)
        b += f_packed(36, [o.id for o in self.ops])
        if self.called:
            b += f_packed(38, [c.id for c in self.called])
        if self.groups:
            b += b''.join(f_bytes(49, f_packed(1, g)) for g in self.groups)
        return b + (self.extra or b'')


class Comp:
    def __init__(self, mod, name, fusion=False):
        self.mod, self.name, self.fusion = mod, name, fusion
        self.id = mod.next_id()
        self.instrs = []
        self.root = None
        self.names = set()

    def add(self, opcode, shape, ops=(), name=None, **k):
        i = Instr(opcode=opcode, shape=shape, ops=list(ops), comp=self, **k)
        i.id = self.mod.next_id()
        i.name = self.mod.unique(name or opcode)
        self.instrs.append(i)
        self.root = i
        return i

    def param(self, num, shape, name='param'):
        return self.add('parameter', shape, name=name, extra=f_int0(9, num), attrs=str(num))

    def proto(self):
        params = sorted((i for i in self.instrs if i.opcode == 'parameter'), key=lambda i: int(i.attrs))
        ps = b''.join(f_bytes(1, p.shape.proto()) for p in params) + f_bytes(2, self.root.shape.proto())
        ps += b''.join(f_bytes(3, p.name) for p in params)
        return (f_bytes(1, self.name) + b''.join(f_bytes(2, i.proto()) for i in self.instrs)
                + f_bytes(4, ps) + f_int(5, self.id) + f_int(6, self.root.id) + f_int0(7, int(self.fusion)))

    def program_shape(self):
        params = sorted((i for i in self.instrs if i.opcode == 'parameter'), key=lambda i: int(i.attrs))
        return (b''.join(f_bytes(1, p.shape.proto()) for p in params) + f_bytes(2, self.root.shape.proto())
                + b''.join(f_bytes(3, p.name) for p in params))


class Module:
    def __init__(self, name, mid, tiled=True):
        self.name, self.mid, self.tiled = name, mid, tiled
        self.comps, self.entry = [], None
        self._id = 0
        self.used = {}
        self.program_id = None
        self.frames = []        # (file, function, line, column, parent)
        self.files, self.funcs = [], []
        self.tree = []          # execution tree of the entry computation

    def next_id(self):
        self._id += 1
        return self._id

    def unique(self, base):
        n = self.used.get(base)
        self.used[base] = (n or 0) + 1
        return base if n is None else '%s.%d' % (base, n)

    def comp(self, name, fusion=False):
        c = Comp(self, self.unique(name), fusion)
        self.comps.append(c)
        return c

    def sh(self, dt, *dims, space=0):
        return Shape(dt, dims, self.tiled, space)

    def frame(self, file, func, line, col, parent=0):
        self.frames.append((file, func, line, col, parent))
        return len(self.frames)

    def stack(self, f):
        out = []
        while f:
            fl, _, ln, col, f = self.frames[f - 1]
            out.append('%s:%d:%d' % (fl, ln, col))
        return '\n'.join(out)

    def proto(self, buffers=True):
        files, funcs = [], []
        locs, frs = [], []
        for fl, fn, ln, col, par in self.frames:
            if fl not in files:
                files.append(fl)
            if fn not in funcs:
                funcs.append(fn)
            locs.append(f_int(1, files.index(fl) + 1) + f_int(2, funcs.index(fn) + 1) + f_int(3, ln) + f_int(4, col))
            frs.append(f_int(1, len(locs)) + f_int0(2, par))
        sfi = (b''.join(f_bytes(1, x) for x in files) + b''.join(f_bytes(2, x) for x in funcs)
               + b''.join(f_bytes(3, x) for x in locs) + b''.join(f_bytes(4, x) for x in frs))
        seqs = b''
        for c in self.comps:
            if not c.fusion:
                seqs += f_bytes(1, f_int(1, c.id) + f_bytes(2, f_packed(1, [i.id for i in c.instrs])))
        m = (f_bytes(1, self.name) + f_bytes(2, self.entry.name)
             + b''.join(f_bytes(3, c.proto()) for c in self.comps)
             + f_bytes(4, self.entry.program_shape()) + f_int(5, self.mid) + f_int(6, self.entry.id)
             + f_bytes(7, seqs) + f_bytes(17, sfi))
        out = f_bytes(1, m)
        if buffers:
            out += f_bytes(3, self.buffers())
        return out

    def buffers(self):
        """A buffer assignment: parameters and constants each alone, the rest of the
        entry's arrays packed into one heap, with a heap simulator trace."""
        lbs, allocs, trace = [], [], []
        nid = [0]
        users = {}
        order = self.entry.instrs
        pos = {i.id: k for k, i in enumerate(order)}
        for i in order:
            for o in i.ops:
                users[o.id] = pos[i.id]
        heap = []

        def lb(i, size, idx=()):
            nid[0] += 1
            lbs.append(f_int(1, nid[0]) + f_int(2, size)
                       + f_bytes(3, f_int(4, i.id) + f_packed(3, idx)) + f_int0(4, i.shape.space))
            return nid[0]
        alias = {'bitcast', 'get-tuple-element', 'tuple', 'while', 'copy-done', 'all-reduce-done',
                 'all-gather-done', 'after-all', 'send', 'recv', 'send-done', 'recv-done',
                 'copy-start', 'all-reduce-start', 'all-gather-start', 'infeed', 'outfeed',
                 'optimization-barrier'}
        for i in order:
            if i.opcode in alias or i.shape.elems is not None or not i.shape.size:
                continue
            size = max(512, (i.shape.size + 511) // 512 * 512)
            n = lb(i, size)
            if i.opcode in ('parameter', 'constant'):
                k = len(allocs)
                a = (f_int0(1, k) + f_int(2, size) + f_int0(5, int(i.opcode == 'parameter'))
                     + f_int0(6, int(i.attrs) if i.opcode == 'parameter' else 0) + f_int0(8, i.shape.space)
                     + f_bytes(9, f_int(1, n) + f_int(3, size)) + f_int0(12, int(i.opcode == 'constant')))
                allocs.append(a)
            else:
                last = users.get(i.id, pos[i.id])
                if i is self.entry.root or any(i is o for o in self.entry.root.ops):
                    last = len(order)
                heap.append((pos[i.id], last, n, size, i))
        # Best-fit packing by first free offset.
        live, assigned, top = [], [], 0
        for start, last, n, size, i in heap:
            live = [x for x in live if x[2] >= start]
            live.sort()
            off = 0
            for o, s, _ in live:
                if off + size <= o:
                    break
                off = max(off, o + s)
            live.append((off, size, last))
            assigned.append(f_bytes(9, f_int(1, n) + f_int0(2, off) + f_int(3, size)))
            top = max(top, off + size)
        idx = len(allocs)
        if heap:
            allocs.append(f_int0(1, idx) + f_int(2, top) + f_int0(7, 1) + b''.join(assigned))
            ends = {}
            for start, last, n, size, i in heap:
                ends.setdefault(last, []).append((n, i))
            starts = {s: (n, i) for s, _, n, _, i in heap}
            for k in range(len(order)):
                if k in starts:
                    n, i = starts[k]
                    trace.append(f_bytes(1, f_int(2, n) + f_bytes(3, self.entry.name) + f_bytes(4, i.name)))
                for n, i in ends.get(k, ()):
                    trace.append(f_bytes(1, f_int(1, 1) + f_int(2, n) + f_bytes(3, self.entry.name)
                                         + f_bytes(4, order[k].name)))
            for n, i in ends.get(len(order), ()):
                trace.append(f_bytes(1, f_int(1, 1) + f_int(2, n) + f_bytes(3, self.entry.name)
                                     + f_bytes(4, self.entry.root.name)))
        ht = f_bytes(4, b''.join(trace) + f_int(2, 1) + f_int0(3, idx)) if trace else b''
        return b''.join(f_bytes(1, x) for x in lbs) + b''.join(f_bytes(3, x) for x in allocs) + ht


def scalar_literal(sh, val):
    s = f_bytes(1, sh.proto())
    if sh.dt == 'f32':
        s += f_bytes(8, struct.pack('<f', val))
    elif sh.dt == 's32':
        s += f_packed(4, [val])
    elif sh.dt == 'u32':
        s += f_packed(6, [val])
    elif sh.dt == 'bf16':
        s += f_bytes(13, struct.pack('<f', val)[2:])
    return f_bytes(8, s)
