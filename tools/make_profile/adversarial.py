"""Scenario: adversarial but legal files."""
import os

from .gpu_train import gpu_caps
from .space import Plane, SpaceFile
from .wire import f_bytes, f_double, f_int, SEC, stat_bytes, tag, US


class Stage:
    """What a kind starts from: an empty TPU plane with its lines, and an empty host plane."""

    def __init__(self, rng, f):
        self.rng, self.f = rng, f
        self.h = Plane(0, '/host:CPU')
        self.t = Plane(2, '/device:TPU:0')
        self.t.pstat('device_type_string', 's', 'TPU v4')
        self.t.pstat('peak_teraflops_per_second', 'd', 275.0)
        self.t.pstat('peak_hbm_bw_gigabytes_per_second', 'd', 1228.8)
        self.E = {n: self.t.line(k, n) for k, n in ((1, 'Steps'), (2, 'XLA Modules'), (3, 'XLA Ops'))}
        self.planes = [self.t, self.h]

    def op(self, q, name=None, **k):
        """The metadata id of the q-th op, or of one with the given name, display name or stats."""
        name = name or '%%fusion.%d = f32[8,128]{1,0:T(8,128)} fusion(f32[8,128]{1,0:T(8,128)} %%p.%d), kind=kLoop, calls=%%fc.%d' % (q, q, q)
        st = [('hlo_category', 's', 'loop fusion'), ('program_id', 'u', 99), ('symbol_id', 'u', q + 1),
              ('flops', 'i', 1000 * q), ('model_flops', 'i', 1000 * q), ('bytes_accessed', 'i', 4096),
              ('tf_op', 's', 'jit(f)/layer_%d/add:' % q)]
        return self.t.E(name, k.get('display', 'fusion.%d' % q), k.get('stats', st), key=('op', q, name))

    def base(self, n=5, start=SEC):
        """One ordinary step of n ops; gives the host's line."""
        E, t, h = self.E, self.t, self.h
        E['Steps'].add(t.E('0'), start, 1000 * US)
        E['XLA Modules'].add(t.E('jit_f(99)'), start, 900 * US, t.stat('run_id', 'u', 1) + t.stat('queue_id', 'u', 0))
        for q in range(n):
            E['XLA Ops'].add(self.op(q), start + q * 100 * US, 90 * US)
        ln = h.line(1, 'python', 0, 'python')
        ln.add(h.E('train'), start, 1000 * US, h.stat('step_num', 'i', 0) + h.stat('_r', 'i', 1))
        return ln


def empty_planes(s):
    s.planes = [Plane(2, '/device:TPU:0'), Plane(0, '/host:CPU'), Plane(0, '/host:metadata'), Plane(0, ''), Plane(7, '/device:GPU:0')]


def one_event(s):
    h = s.h
    s.planes = [h]
    h.line(1, 'main').add(h.E('only'), SEC, US)


def no_events(s):
    h = s.h
    h.line(1, 'python')
    h.E('never used')


def dup_ids(s):
    h, t, op, base = s.h, s.t, s.op, s.base
    base()
    for q in range(3):
        ln = h.line(1, 'python %d' % q, 0)
        ln.add(h.E('dup_%d' % q), SEC + q * 100, 5000)
    E2 = t.line(3, 'XLA Ops')
    E2.add(op(9), SEC + 600 * US, 10 * US)
    t.em_out.append(f_int(1, 5) + f_bytes(2, f_int(1, 5) + f_bytes(2, 'second entry for id 5')))
    h.sm_out.append(f_int(1, 1) + f_bytes(2, f_int(1, 1) + f_bytes(2, 'step_num')))


def out_of_order(s):
    h, E, op, base, rng = s.h, s.E, s.op, s.base, s.rng
    base(0)
    for q in rng.permutation(60):
        E['XLA Ops'].add(op(int(q) % 7), SEC + int(q) * 10 * US, 9 * US)
    ln = h.line(2, 'worker')
    for q in rng.permutation(60):
        ln.add(h.E('w%d' % (q % 5)), SEC + int(q) * 10 * US, 25 * US)


def deep_nesting(s):
    h, E, op, base = s.h, s.E, s.op, s.base
    base(0)
    for q in range(400):
        E['XLA Ops'].add(op(q % 50), SEC + q * 1000, 800 * US - 2000 * q)
    ln = h.line(2, 'deep')
    for q in range(3000):
        ln.add(h.E('frame_%d' % (q % 100)), SEC + q * 1000, 7000 * US - 2000 * q)


def overlap(s):
    h, E, op, base, rng = s.h, s.E, s.op, s.base, s.rng
    base(0)
    for q in range(200):
        E['XLA Ops'].add(op(q % 11), SEC + q * 3 * US, 50 * US)
    ln = h.line(2, 'overlap')
    for q in range(500):
        ln.add(h.E('o%d' % (q % 9)), SEC + q * US, int(rng.integers(1, 60)) * US)


def unicode(s):
    h, E, op, base = s.h, s.E, s.op, s.base
    base()
    ln = h.line(2, 'ниткa-\u7dda-\U0001F9F5', 0, '\u7dda')
    for q, n in enumerate(['\u00e9t\u00e9', '\u65e5\u672c\u8a9e', '\U0001F680\U0001F525', 'a\u0301', 'tab\tnl\nquote"back\\slash', '\u202eRTL',
                           '<b>&amp;</b>', '\x01ctl\x7f', 'nul\x00in', '\u2028sep']):
        ln.add(h.E(n), SEC + q * 10 * US, 9 * US, h.stat('k\u00e9y', 's', n) + h.stat('ref', 'r', n + '!'))
    E['XLA Ops'].add(op(50, '%\u5b57 = f32[] fusion()', display='\u5b57'), SEC + 700 * US, 10 * US)


def long_names(s):
    h, E, op, base = s.h, s.E, s.op, s.base
    base()
    ln = h.line(2, 'L' * 5000)
    for q, n in enumerate((1000, 9999, 10001, 70000, 1 << 20)):
        ln.add(h.E('x' * n), SEC + q * 10 * US, 9 * US, h.stat('s', 's', 'y' * n))
    E['XLA Ops'].add(op(51, '%' + 'z' * 30000 + ' = f32[] fusion()', display='short'), SEC + 700 * US, 10 * US)


def missing_metadata(s):
    h, E, base = s.h, s.E, s.base
    base()
    for q in range(5):
        E['XLA Ops'].add(9000 + q, SEC + (500 + q * 10) * US, 9 * US)
    ln = h.line(2, 'nometa')
    ln.add(777, SEC, US, f_bytes(4, stat_bytes(555, 'i', 1)) + f_bytes(4, stat_bytes(556, 'r', 9999)) + f_bytes(4, b''))
    ln.raw(f_bytes(4, b''))


def negative(s):
    h, E, op, base = s.h, s.E, s.op, s.base
    base()
    ln = h.line(2, 'neg', 1000)
    for off, d in ((-5, 10), (10, -5), (0, 0), (-SEC, SEC), (5, 0), (1 << 40, -1)):
        ln.add(h.E('n%d' % off), SEC + off, d)
    E['XLA Ops'].add(op(3), SEC + 600 * US, -100)
    E['XLA Ops'].add(op(4), SEC + 610 * US, 0)
    h.line(-7, 'negative line id', -1000).add(h.E('x'), 0, 5)


def huge_offsets(s):
    h, base = s.h, s.base
    base()
    ln = h.line(2, 'huge')
    for v in ((1 << 62), (1 << 63) - 1, (1 << 63) - 1000, 1 << 53):
        ln.add(h.E('at%d' % v), v, 10)
    ln.add(h.E('wide'), SEC, (1 << 62))
    h.line(3, 'late line', 9_223_372_036_854_775).add(h.E('late'), 9_223_372_036_854_775_000, 5)
    h.line(4, 'max ts', (1 << 63) - 1).raw(f_bytes(4, f_int(1, 1) + f_int(2, 5) + f_int(3, 5)))


def stat_types(s):
    h, t, E, op, base = s.h, s.t, s.E, s.op, s.base
    base()
    ln = h.line(2, 'types')
    vals = [('u', (1 << 64) - 1), ('u', 0), ('i', -(1 << 63)), ('i', (1 << 63) - 1), ('d', float('nan')), ('d', float('inf')),
            ('d', -0.0), ('d', 5e-324), ('d', 1.7976931348623157e308), ('b', b'\x00\xff\xfe'), ('b', b''), ('s', ''), ('r', 'r'), ('', None),
            ('d', 0.1), ('d', 1e21), ('d', 123456789.125), ('d', 1e-7)]
    for q, (k, v) in enumerate(vals):
        ln.add(h.E('st%d' % q), SEC + q * 10 * US, 9 * US, h.stat('v%d' % q, k, v) + h.stat('v%d' % q, 'i', 5)
               + h.stat('flops', k, v) + h.stat('group_id' if q == 2 else 'g', k if k else 'i', v if k else 0))
    for q, (k, v) in enumerate(vals[:9]):
        E['XLA Ops'].add(op(q), SEC + (600 + q) * US, US // 2, t.stat('x', k, v))
    op(60, '%w = f32[] fusion()', stats=[('hlo_category', 'r', 'by ref'), ('program_id', 'i', -1), ('symbol_id', 'd', 4.0), ('flops', 's', '12'),
                                          ('bytes_accessed', 'u', (1 << 64) - 1), ('memory_access_breakdown', 'b', b'\xff\xff')])
    E['XLA Ops'].add(op(60, '%w = f32[] fusion()'), SEC + 700 * US, US)


def unknown_fields(s):
    h, base = s.h, s.base
    base()
    ln = h.line(2, 'unk')
    ln.add(h.E('u'), SEC, US, f_int(99, 5) + f_bytes(100, b'zzz') + f_double(101, 1.0) + tag(102, 5) + b'abcd')
    ln.raw(f_bytes(77, b'line extra') + f_int(78, 1))
    h.extra = f_bytes(50, b'plane extra') + f_int(51, 7)
    s.f.raw(f_bytes(60, b'space extra') + f_int(61, 3))


def many_lines(s):
    h, base = s.h, s.base
    base()
    for q in range(3000):
        h.line(1000 + q, 'thread_%d' % (q % 700)).add(h.E('work'), SEC + q * 100, 50 * US)


def grouped(s):
    t, E, op, base = s.t, s.E, s.op, s.base
    base()
    E['XLA Ops'].add(op(5), SEC + 500 * US, 50 * US, t.stat('group_id', 'i', 4))
    E['Steps'].add(t.E('4'), SEC + 1100 * US, 50 * US, t.stat('group_id', 'i', 4) + t.stat('step_name', 's', 'four'))


def dup_planes(s):
    base = s.base
    base()
    h2 = Plane(0, '/host:CPU')
    h2.line(1, 'again').add(h2.E('twice'), SEC, US)
    t2 = Plane(2, '/device:TPU:0')
    t2.line(3, 'XLA Ops').add(t2.E('twin'), SEC, US)
    s.planes += [h2, t2, Plane(12, '/device:CUSTOM:thing'), Plane(13, '#Chip TPU 0')]
    s.planes[-2].line(1, 'c').add(s.planes[-2].E('custom event'), SEC, US)
    s.planes[-1].line(1, 'HBM').add(s.planes[-1].E('hbm event'), SEC, US)


def tpu_edge(s):
    t, op, base = s.t, s.op, s.base
    base()
    t.pstat('core_details', 'b', b'\xff\xff\xff')
    for n in ('XLA Ops', 'Async XLA Ops', 'XLA TraceMe', 'Framework Ops', '_counters_', 'Host Offload Ops', 'counters_x'):
        ln = t.line(40 + len(n), n)
        ln.add(op(7), SEC + 300 * US, 30 * US, t.stat('flow', 'u', (1 << 64) - 1) + t.stat('_a', 'i', 1))
        ln.add(op(8), SEC + 310 * US, 5 * US, t.stat('flow', 'u', 0))
    s.planes += [Plane(3, '/device:TPU:0 SparseCore 0'), Plane(4, '/device:TPU:12345678901234567890'), Plane(5, '/device:TPU:x')]
    for pl in s.planes[-3:]:
        pl.line(3, 'Sparse Core Ops').add(pl.E('sc'), SEC, US)
        pl.line(2, 'XLA Ops').add(pl.E('op'), SEC, US)


def gpu_edge(s):
    h = s.h
    s.planes = [h]
    gp = Plane(0, '/device:GPU:0')
    gpu_caps(gp, 'a100')
    ln = gp.line(1, 'Stream #1(Compute)')
    hl = h.line(1, 'launch')
    for q in range(40):
        ln.add(gp.E('kernel_%d' % (q % 5)), SEC + q * 10 * US, 9 * US, gp.stat('correlation_id', 'u', q)
               + gp.stat('kernel_details', 's', ['', 'regs:', 'regs:-1 grid:1,2 block:a,b,c', 'grid:1,1,1 block:1,1,1 occ_pct:nan',
                                                 'regs:99999999999 occ_pct:1e400'][q % 5])
               + gp.stat('hlo_op', 's', ['a::b', '', '::', 'x' * 300, 'fusion'][q % 5]) + gp.stat('hlo_module', 's', 'none') + gp.stat('program_id', 'u', q))
        hl.add(h.E('cuLaunchKernel'), SEC + q * 10 * US - 5 * US, 2 * US, h.stat('correlation_id', 'u', q % 30) + h.stat('device_id', 'u', 0))
    s.planes.append(gp)


def memory_edge(s):
    h, rng = s.h, s.rng
    s.planes = [h]
    ln = h.line(1, 'mem')
    for q in range(200):
        ad = int(rng.integers(0, 20))
        st = h.stat('bytes_allocated', 'i', int(rng.integers(-5, 1 << 40))) + h.stat('addr', 'i', ad) + h.stat('allocation_bytes', 'i', 256 * ad)
        st += h.stat('requested_bytes', 'i', 200 * ad) + h.stat('bytes_available', 'i', 1 << 30) + h.stat('peak_bytes_in_use', 'i', 1 << 34)
        st += h.stat('fragmentation', 'd', float(rng.random())) + h.stat('data_type', 'i', int(rng.integers(-2, 40))) + h.stat('bytes_reserved', 'i', q % 3)
        if q % 7:
            st += h.stat('allocator_name', 's', ['GPU_0_bfc', 'gpu_host_bfc', ''][q % 3])
        if q % 5 == 0:
            st += h.stat('group_id', 'i', q // 20)
        ln.add(h.E('MemoryAllocation' if q % 2 else 'MemoryDeallocation'), SEC + int(rng.integers(0, 1000)) * US, 0, st)


def step_edge(s):
    h, t, E, op = s.h, s.t, s.E, s.op
    for s in range(6):
        E['Steps'].add(t.E(str(s)), SEC + s * 100 * US, 150 * US if s % 2 else 40 * US)
        E['XLA Modules'].add(t.E('jit_f(99)'), SEC + s * 100 * US + 20 * US, 95 * US, t.stat('run_id', 'u', s) + t.stat('queue_id', 'u', 0))
        for q in range(4):
            E['XLA Ops'].add(op(q), SEC + s * 100 * US + q * 30 * US, 29 * US)
    ln = h.line(1, 'python')
    for s in range(4):
        ln.add(h.E('train'), SEC + s * 200 * US, 250 * US, h.stat('step_num', 'i', s // 2) + h.stat('_r', 'i', s % 3))


def counters_edge(s):
    t, base = s.t, s.base
    base()
    t.pstat('device_id', 'u', 0)
    t.pstat('global_chip_id', 'u', 3)
    ln = t.line(5000, 'counters_0')
    for q, v in enumerate((0, 1, (1 << 64) - 1, 1 << 53)):
        ln.add(t.E('C%d' % q), SEC, 0, t.stat('counter_value', 'u', v) + t.stat('performance_counter_id', 'u', 3257466888 + 8 * q))
    ln.add(t.E('Cd'), SEC, 0, t.stat('counter_value', 'd', 2.5) + t.stat('performance_counter_id', 'i', -1))


def only_the_base(s):
    base = s.base
    base()


# kind -> what makes it; the empty file has no planes to make
ADVERSARIAL = {
    'empty-file': None,
    'empty-planes': empty_planes,
    'one-event': one_event,
    'no-events': no_events,
    'dup-ids': dup_ids,
    'out-of-order': out_of_order,
    'deep-nesting': deep_nesting,
    'overlap': overlap,
    'unicode': unicode,
    'long-names': long_names,
    'missing-metadata': missing_metadata,
    'negative': negative,
    'huge-offsets': huge_offsets,
    'stat-types': stat_types,
    'unknown-fields': unknown_fields,
    'many-lines': many_lines,
    'no-hostname': only_the_base,
    'errors': only_the_base,
    'grouped': grouped,
    'dup-planes': dup_planes,
    'tpu-edge': tpu_edge,
    'gpu-edge': gpu_edge,
    'memory-edge': memory_edge,
    'step-edge': step_edge,
    'counters-edge': counters_edge,
}


def adversarial_space(cx, kind, f):
    s = Stage(cx.rng('adv', kind), f)
    ADVERSARIAL[kind](s)
    for p in s.planes:
        for ln in p.lines:
            if kind not in ('out-of-order', 'negative', 'unknown-fields'):
                ln.sort()
        f.plane(p)


def sc_adversarial(cx):
    a = cx.a
    kinds = [a.kind] if a.kind else list(ADVERSARIAL)
    total = 0
    for k in kinds:
        if len(kinds) > 1:
            d = os.path.join(a.out, k, 'plugins', 'profile', a.run)
        else:
            d = cx.dir
        f = SpaceFile(os.path.join(d, cx.host(0) + '.xplane.pb'))
        if k != 'empty-file':
            adversarial_space(cx, k, f)
        if k == 'errors':
            f.close('host0', ['first error', 'first error', 'second \u2014 error'], ['a warning'])
        elif k in ('no-hostname', 'empty-file'):
            f.close()
        else:
            f.close('host0')
        total += os.path.getsize(f.path)
    return total
