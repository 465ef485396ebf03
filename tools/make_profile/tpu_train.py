"""Scenario: TPU training, and its multi-host, DCN, SparseCore and counter forms."""
import numpy as np

from .chips import TPU
from .context import fingerprint, hlo_metadata_plane
from .counters import add_counters, find_counter_ids
from .flat import Flat
from .host import HostPlane
from .model import ModelBuilder
from .real_hlo import real_modules
from .space import solve_steps, task_env
from .tpu_device import sparse_core_plane, tpu_device_plane, TpuHost
from .tpu_runtime import tpu_runtime_events
from .wire import MS, US


def tpu_modules(cx, name, scale, chip, ndev, cfg, kind='train'):
    dev = TPU[chip]
    r = cx.rng('model', name)
    if cx.a.hlo:
        mods = real_modules(cx.a.hlo, r, (dev[1], dev[2]))
        while len(mods) < 4:
            mods.append(ModelBuilder(r, 'jit_broadcast_in_dim', fingerprint(r), 'tpu', (dev[1], dev[2]), 1).tiny(3))
        return mods, [Flat(m) for m in mods]
    pid = fingerprint(r)
    mb = ModelBuilder(r, name, pid, 'tpu', (dev[1], dev[2]), ndev, cfg)
    mods = [mb.train(scale) if kind == 'train' else mb.forward(scale)]
    for n in ('jit_convert_element_type', 'jit_broadcast_in_dim', 'jit__threefry_fold_in'):
        t = ModelBuilder(r, n, fingerprint(r), 'tpu', (dev[1], dev[2]), 1, {})
        mods.append(t.tiny(int(r.integers(2, 6))))
    return mods, [Flat(m) for m in mods]


def tpu_scale(a, devices, want_steps=14, event_bytes=48.0, full=12000, share=0.75):
    per = a.size_mb * 1e6 * share / (devices * (a.steps or want_steps) * event_bytes)
    return float(min(2.4 if not a.steps else 9.0, max(0.002, per / full)))


def tpu_train(cx, cfg=None, opts=None, kind='train'):
    a = cx.a
    cfg, opts = dict(cfg or {}), dict(opts or {})
    chip = a.chip or 'v4'
    devices = a.devices or (8 if TPU[chip][9] == 2 else 4)
    ndev = devices * a.hosts
    if a.infeed:
        cfg['infeed'] = True
    if chip in ('v5p', 'v6e', 'v7x') and a.sparse:
        cfg['sparse'] = opts['sparse'] = True
    bn = opts['bottleneck'] = a.bottleneck
    if bn in ('input', 'enqueue'):
        cfg['infeed'] = True
    name = cfg.get('name', 'jit_train_step')
    scale = tpu_scale(a, devices)
    mods, flats = tpu_modules(cx, name, scale, chip, ndev, cfg, kind)
    if bn:
        stretch(mods[0], flats[0], bn)
        flats[0] = Flat(mods[0])
    n0 = len(flats[0].instrs)
    py_events = int(min(6000, max(20, n0 * devices * 0.06)))
    length = flats[0].nominal
    step_ps = int(length * 1.06) + 2 * MS + max(f.nominal for f in flats[1:])
    first = max(40 * MS, sum(f.nominal for f in flats[1:]) + 20 * MS)      # the small programs run before
    slow = [1.0 + 0.25 * (h == a.hosts - 1) * bool(opts.get('straggler')) for h in range(a.hosts)]
    opts['slowest'] = max(slow) * 1.01

    def write(f, steps, h=0):
        th = TpuHost(cx, h, mods, flats, devices, chip, steps, step_ps)
        sp = int(step_ps * max(slow) if opts.get('straggler') else step_ps)
        for d in range(devices):
            r = cx.rng('sched', h, d)
            run, sched = 1, []
            t = th.t0 + th.skew
            for k in (1, 2, 3):
                sched.append((run, -1, k, t + int(r.integers(0, 50 * US)), 1.0))
                run += 1
                t += flats[k].nominal + 3 * MS
            for s in range(steps):
                t_s = th.t0 + th.skew + first + s * sp
                jit = int(r.integers(0, 90 * US))
                sched.append((run, s, 0, t_s + jit, slow[h] * (1 + 0.004 * d)))
                run += 1
                if s % 5 == 4:
                    sched.append((run, s, 1 + s % 3, t_s + int(length * slow[h] * 1.03) + 600 * US, 1.0))
                    run += 1
            p, spans = tpu_device_plane(cx, th, d, sched, opts)
            if opts.get('counters'):
                add_counters(cx, p, chip, opts['counter_ids'], a.samples, d)
            f.plane(p)
            if opts.get('sparse'):
                for core in range(2):
                    f.plane(sparse_core_plane(cx, th, d, core, spans if core == 0 else spans[::2]))
        f.plane(hlo_metadata_plane(cx.rng('hlo', h), mods, legacy=a.legacy_hlo))
        hp = HostPlane(cx, h)
        hc = dict(py_events=py_events, infeed=cfg.get('infeed') and bn != 'input', allocs=3)
        tpu_runtime_events(hp, th, 'train', hc)
        end = th.t0 + first + steps * sp
        hp.tf_data(th.t0, end, min(20_000, steps * max(1, py_events // 200)), ipl=True)
        if opts.get('dcn'):
            megascale_events(hp, th, mods[0], opts)
        if opts.get('counters') or bn in ('compute', 'memory'):
            mxu, hbm = {'compute': (85.5, 22.25), 'memory': (21.0, 88.125)}.get(bn, (61.25, 47.5))
            hp.p.pstat('matrix_unit_utilization_percent', 'd', mxu)
            hp.p.pstat('hbm_utilization_percent', 'd', hbm)
        f.plane(hp.done())
        start = cx.start_ns + h * 1_234_567
        f.plane(task_env(start, start + end // 1000 + 50_000_000))

    steps = solve_steps(a, write)
    cx.log.append('scale %.3f, %d ops a step and core, %d unique ops, %d steps' % (scale, n0, len(flats[0].uniq), steps))
    total = 0
    for h in range(a.hosts):
        f = cx.open(h)
        write(f, steps, h)
        total += f.close(cx.host(h))
    return total


SHUFFLE = ('data formatting', 'broadcast')
STRETCH = {'input': ('infeed',), 'enqueue': ('infeed',), 'shuffle': SHUFFLE, 'async-done': ('copy-done',),
           'collective': ('all-reduce', 'all-gather', 'reduce-scatter', 'all-reduce-done', 'all-gather-done'),
           'debug-print': ('debug print',)}


def stretch(mod, flat, bn):
    """Makes the ops of one kind take a large part of the step."""
    if bn == 'debug-print':
        i = next(x for x in mod.entry.instrs if x.category == 'loop fusion')
        i.name, i.category, i.cached = 'debug_print', 'debug print', None
    cats = STRETCH.get(bn, ())
    hit = np.array([i.category in cats for i in flat.instrs]) & flat.is_leaf
    mine = flat.leaf_base[flat.lo[hit]].sum()
    if mine:
        f = max(1.0, 0.8 * (flat.leaf_base.sum() - mine) / mine)
        for i in flat.uniq:
            if i.category in cats:
                i.base_ps = int(i.base_ps * f)


def megascale_events(hp, th, mod, opts):
    """MegaScale (multi-slice) runtime events, with the stats that the DCN and the
    megascale views read."""
    r = hp.rng
    dcn = hp.thread('megascale-transport')
    act = hp.thread('megascale-executor')
    names = ['collective.%d.%s' % (k + 1, n) for k, n in
             enumerate(('all_reduce', 'all_gather', 'reduce_scatter', 'one_to_one', 'all_to_all'))]
    rows = [x for x in th.runs if x[1] >= 0 and x[2] == 0]
    me = th.h % 2
    for run, step, k, d, s, e in rows:
        for q, n in enumerate(names):
            t = s + (e - s) * (q + 1) // (len(names) + 2)
            w = (e - s) // 30
            key = 'device_%d%05d_gid_%s$%d^i%d' % (me + 1, d, n, run, step)
            common = [('graph_key', 'r', key), ('local_device_id', 'i', d), ('launch_id', 'i', run),
                      ('loop_iteration', 'i', step), ('collective_type', 'r', n.split('.')[2].upper()),
                      ('input_size', 'i', 1 << 22), ('num_actions', 'i', 4), ('send_channel_id', 'i', 2 * q + 1),
                      ('recv_channel_id', 'i', 2 * q + 2), ('slack_us', 'i', int(r.integers(100, 9000))),
                      ('hlo_module', 'r', mod.name)]
            hp.ev(act, key, t, w, *common)
            for ai, (nm, kind) in enumerate((('MegaScale: Device to Host Action', 'DEVICE_TO_HOST'),
                                             ('MegaScale: Reduction', 'REDUCE'), ('MegaScale: Memory Copy', 'COPY'),
                                             ('MegaScale: Host to Device Action', 'HOST_TO_DEVICE'))):
                hp.ev(act, nm, t + ai * w // 4 + 1000, w // 5, ('graph_key', 'r', key), ('action_type', 'r', kind),
                      ('start_end_type', 'r', 'START'), ('action_index', 'i', ai), ('action_duration_ns', 'i', w // 5000),
                      ('buffer_sizes', 'r', '4194304'), ('chunk', 'i', 0), ('loop_iteration', 'i', step),
                      ('launch_id', 'i', run))
            dur = max(1, w // 4 // US)
            msg = [('dcn_label', 's', n), ('dcn_source_slice_id', 'i', 1 - me), ('dcn_source_per_slice_device_id', 'i', d),
                   ('dcn_destination_slice_id', 'i', me), ('dcn_destination_per_slice_device_id', 'i', d),
                   ('dcn_chunk', 'i', 0), ('dcn_loop_index', 'i', step), ('payload_size_bytes', 'i', int(r.integers(1 << 18, 1 << 24))),
                   ('duration_us', 'i', 0 if r.random() < 0.01 else dur), ('graph_key', 'r', key),
                   ('network_transport_latency_us', 'i', int(dur * 0.8))]
            hp.ev(dcn, 'MegaScale: Communication Transport Send', t + w // 8, w // 20, *msg[:9])
            hp.ev(dcn, 'MegaScale: Communication Transport Receive', t + w // 2, w // 20, *msg)
            if r.random() < 0.1:
                loop = [x if x[0] != 'dcn_source_slice_id' else ('dcn_source_slice_id', 'i', me) for x in msg]
                hp.ev(dcn, 'MegaScale: Communication Transport Receive', t + w // 2 + w // 10, w // 30, *loop)
    hp.ev(dcn, 'MegaScale: Communication Topology Discovery.', th.t0, 5 * MS)
    hp.ev(dcn, 'MegaScale: Barrier.', th.t0 + 6 * MS, 2 * MS)


def sc_tpu_train(cx):
    return tpu_train(cx, {}, {'power': True, 'energy': cx.a.energy, 'steps_line': not cx.a.no_steps_line})


def sc_multi_host(cx):
    if cx.a.hosts == 1:
        cx.a.hosts = 2
    return tpu_train(cx, {'dcn': True}, {'dcn': True, 'straggler': True, 'power': True})


def sc_megascale(cx):
    return tpu_train(cx, {'dcn': True, 'name': 'jit_train_step'}, {'dcn': True})


def sc_perf_counters(cx):
    a = cx.a
    a.chip = a.chip or 'v6e'
    ids = find_counter_ids(a.chip, a.counters_header)
    return tpu_train(cx, {}, {'counters': True, 'counter_ids': ids, 'energy': True})
