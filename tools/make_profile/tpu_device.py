"""TPU device planes: TensorCores and SparseCores."""
import zlib

import numpy as np

from .chips import TPU
from .context import signed
from .space import Plane
from .wire import f_int, f_int0, MASK64, MS, US


def op_stats(m, i, order, source=True):
    """The stats of an XLA op's event metadata, as libtpu writes them."""
    st = [('hlo_category', 's', i.category), ('program_id', 'u', m.program_id), ('symbol_id', 'u', order),
          ('flops', 'i', i.flops), ('model_flops', 'i', i.model_flops), ('bytes_accessed', 'i', i.bytes),
          ('memory_access_breakdown', 'b', i.breakdown or b'')]
    if source and i.src:
        st += [('source', 's', '%s:%d' % (i.src, i.line)), ('source_stack', 's', m.stack(i.frame))]
    if i.op_name:
        st.append(('tf_op', 's', '%s:' % i.op_name if ':' not in i.op_name else i.op_name))
    if i.dedup:
        st.append(('deduplicated_name', 's', i.dedup))
    st += [('raw_bytes_accessed', 'i', i.bytes), ('shape_with_layout', 's', i.shape.text())]
    if i.dcn is not None:
        st.append(('dcn_collective_info', 'b', i.dcn))
    return st


def core_details(host, local, glob, core, chip, gchip):
    return (f_int0(2, local) + f_int0(3, core) + f_int0(4, chip) + f_int0(5, gchip) + f_int0(6, glob))


class TpuHost:
    """One host's runs: the schedule of each module on each device, and what the host did."""

    def __init__(self, cx, h, mods, flats, devices, chip, steps, step_ps):
        self.cx, self.h, self.mods, self.flats = cx, h, mods, flats
        self.devices, self.chip, self.steps, self.step_ps = devices, chip, steps, step_ps
        self.skew = 0 if h == 0 else int(cx.rng('skew', h).integers(-3 * US, 3 * US))
        self.t0 = 1_500 * MS + int(cx.rng('t0', h).integers(0, 20 * MS))
        self.runs = []          # (run id, step, module index, device -> (start, end), enqueue time)


def tpu_device_plane(cx, th, d, sched, opts):
    """One TensorCore.  sched: list of (run id, step, module index, start, speed)."""
    rng = cx.rng('dev', th.h, d)
    dev = TPU[th.chip]
    p = Plane(2 + 8 * d, '/device:TPU:%d' % d, rng)
    glob = th.h * th.devices + d
    cores = dev[9]
    p.pstat('core_details', 'b', core_details(cx.host(th.h), d, glob, d % cores, d // cores, glob // cores))
    p.pstat('device_type_string', 's', dev[0])
    for n, v in (('peak_teraflops_per_second', dev[1]), ('peak_hbm_bw_gigabytes_per_second', dev[2]),
                 ('peak_cmem_rd_bw_gigabytes_per_second', dev[3]), ('peak_cmem_wr_bw_gigabytes_per_second', dev[4]),
                 ('peak_vmem_rd_bw_gigabytes_per_second', dev[5]), ('peak_vmem_wr_bw_gigabytes_per_second', dev[6]),
                 ('peak_sram_rd_bw_gigabytes_per_second', dev[5]), ('peak_sram_wr_bw_gigabytes_per_second', dev[6])):
        p.pstat(n, 'd', v)
    p.pstat('has_megacore', 'i', dev[7])
    p.pstat('has_merged_vmem', 'i', dev[8])
    if opts.get('counters'):
        p.pstat('device_id', 'u', d)
        p.pstat('global_chip_id', 'u', glob // cores)
    steps_l = p.line(1, 'Steps') if opts.get('steps_line', True) else None
    mods_l = p.line(2, 'XLA Modules')
    ops_l = p.line(3, 'XLA Ops')
    async_l = p.line(4, 'Async XLA Ops')
    p.line(7, 'Overlay')
    tm_l = p.line(6, 'XLA TraceMe')
    S = p.S
    mid_maps, async_maps = {}, {}
    for k, m in enumerate(th.mods):
        fl = th.flats[k]
        mids = []
        for q, i in enumerate(fl.uniq):
            mids.append(p.E(i.text(), i.name, op_stats(m, i, i.id), key=(k, i.id)))
        mid_maps[k] = np.array(mids, np.int64)
        am = {}
        for q, i in enumerate(fl.uniq):
            if i.opcode.endswith('-start') and i.pair is not None:
                am[i.id] = p.E(i.text(), 'async-copy' if i.opcode == 'copy-start' else 'async-collective',
                               op_stats(m, i, i.id), key=(k, i.id, 'async'))
        async_maps[k] = am
    barrier, depw = p.E('barrier-cores'), p.E('dependency-wait')
    flow = 150_000_000 + glob * 1_000_000
    spans = []
    step_span = {}
    for run, step, k, start, speed in sched:
        m, fl = th.mods[k], th.flats[k]
        r = cx.rng('run', th.h, d, run)
        wait = int(r.integers(2_000_000, 6_000_000))
        extra = 0
        bn = opts.get('bottleneck')
        if bn == 'barrier' and k == 0:
            wait = int(fl.leaf_base.sum() * r.uniform(0.2, 0.5) * (2.2 if th.h == cx.a.hosts - 1 else 1))
        if opts.get('straggler') and k == 0:
            extra = int((opts['slowest'] - speed) * fl.leaf_base.sum())
        off, dur = fl.times(r, start + wait + 200_000, speed, coll_extra=extra)
        end = int((off + dur).max()) + 150_000
        skew_dev = 43_000_000 + 211 * d
        n = len(off)
        dq = (dur // 1250) * 1250
        stats = [(S('device_offset_ps'), 'u', (off - skew_dev) // 1250 * 1250, None),
                 (S('device_duration_ps'), 'u', dq, None)]
        coll = np.array([i.loop[1] if i.loop and i.loop[0] == 'coll' else 0 for i in fl.uniq], np.int64)[fl.idx]
        if coll.any():
            stats.append((S('all_reduce_unique_id'), 'u', (run << 20) + (np.cumsum(coll > 0) << 4) + 1, coll > 0))
            stats.append((S('all_reduce_id'), 'u', coll, coll > 0))
        if opts.get('energy'):
            stats.append((S('vdd_energy_j'), 'd', dur / 1e12 * 90.0 * r.uniform(0.7, 1.1, n), None))
        if opts.get('sparse') and fl.uniq:
            sc = np.array([i.target == 'SparseDenseMatmulGradOp' for i in fl.uniq], bool)[fl.idx]
            stats.append((S('offload_core_id'), 'u', np.zeros(n, np.int64), sc))
            stats.append((S('tc_offload_start_id'), 'i', np.array([i.id for i in fl.uniq], np.int64)[fl.idx], sc))
            spans += [(int(off[j]), int(dur[j]), fl.instrs[j], run) for j in np.nonzero(sc)[0]]
        ops_l.rows(mid_maps[k][fl.idx], off, dur, stats)
        # Async copies: from the start's begin to the done's end.
        am = async_maps[k]
        if am:
            iid = np.array([i.id for i in fl.uniq], np.int64)[fl.idx]
            sel = np.nonzero(np.isin(iid, np.fromiter(am, np.int64)))[0]
            done_of = {i.id: i.pair.id for i in fl.uniq if i.id in am}
            last = {}
            starts, ends, mids, names = [], [], [], []
            want = set(done_of.values())
            dsel = np.nonzero(np.isin(iid, np.fromiter(want, np.int64)))[0]
            for j in np.union1d(sel, dsel):
                x = int(iid[j])
                if x in am:
                    last[done_of[x]] = (int(j), x)
                elif x in last:
                    js, xs = last.pop(x)
                    starts.append(off[js])
                    ends.append(off[j] + dur[j])
                    mids.append(am[xs])
                    names.append(x)
            if starts:
                st = np.array(starts)
                o = np.argsort(st, kind='stable')
                nm = {i.id: i.name.encode() for i in fl.uniq}
                tab = sorted(set(names))
                pos = {x: q for q, x in enumerate(tab)}
                idx = np.array([pos[x] for x in names], np.int64)[o]
                na = len(st)
                async_l.rows(np.array(mids)[o], st[o], np.array(ends)[o] - st[o],
                             [(S('hlo_op'), 's', ([nm[x] for x in tab], idx), None),
                              (S('_a'), 'i', np.ones(na, np.int64), None),
                              (S('flow'), 'u', (flow + np.arange(na)) * 4 + 3, None),      # low bits 3: in and out
                              (S('id'), 'u', np.arange(na), None)])
                flow += na
        mods_l.add(p.E('%s(%d)' % (m.name, m.program_id)), start, end - start,
                   p.stat('run_id', 'u', run) + p.stat('replica_id', 'i', 0) + p.stat('queue_id', 'u', 0)
                   + p.stat('core_type', 'u', 0) + p.stat('_ct', 'i', 12)
                   + p.stat('_c', 'i', signed(zlib.crc32(b'%d/%d' % (run, d)) * 0x9E3779B97F4A7C15 & MASK64)))
        tm_l.add(depw, start + 2078, 1094)
        tm_l.add(barrier, start + 10_078, wait, b'' if bn != 'barrier' else
                 p.stat('device_offset_ps', 'u', start + 10_078 - skew_dev) + p.stat('device_duration_ps', 'u', wait))
        s0, s1, busy = step_span.get(step, (start, end, 0))
        step_span[step] = (min(s0, start), max(s1, end), busy + int(dur[fl.depth == 0].sum()))
        th.runs.append((run, step, k, d, start, end))
    if steps_l is not None:
        for step, (s0, s1, busy) in sorted(step_span.items()):
            if step < 0:
                continue
            if opts.get('bottleneck') == 'idle':
                s1 += int((s1 - s0) * 0.4)
            steps_l.add(p.E(str(step)), s0, s1 - s0, p.stat('device_offset_ps', 'u', s0 - 43_000_000)
                        + p.stat('device_duration_ps', 'u', s1 - s0)
                        + p.stat('step_idle_time_ps', 'i', max(0, s1 - s0 - busy)))
    if opts.get('power'):
        ln = p.line(90, '_counters_')
        t1 = max((x[1] for x in step_span.values()), default=th.t0)
        for q in range(min(4000, 100 * max(1, th.steps))):
            t = th.t0 + (t1 - th.t0) * q // max(1, min(4000, 100 * max(1, th.steps)))
            for nm, lo, hi in (('power_w', 120, 260), ('chip_temperature_c', 48, 71), ('hbm_temperature_c', 44, 66),
                               ('tensorcore_frequency_mhz', 940, 1050)):
                ln.add(p.E(nm), t, 0, p.stat(nm, 'd', round(float(rng.uniform(lo, hi)), 3)))
        sy = p.line(91, 'Tensor Core Sync Flag')
        for q in range(min(500, 20 * max(1, th.steps))):
            sy.add(p.E('sync_flag_%d' % (q % 8)), th.t0 + (t1 - th.t0) * q // 500, int(rng.integers(1000, 90000)))
    for ln in (mods_l, tm_l):
        ln.sort()
    return p, spans


def sparse_core_plane(cx, th, d, core, spans):
    """A SparseCore whose modules are the offloaded ops of the TensorCore."""
    rng = cx.rng('sc', th.h, d, core)
    p = Plane(3 + 8 * d + core, '/device:TPU:%d SparseCore %d' % (d, core), rng)
    p.pstat('core_details', 'b', core_details('', d, th.h * th.devices + d, core, d, th.h * th.devices + d) + f_int(7, 1))
    p.pstat('device_type_string', 's', TPU[th.chip][0])
    sl, ml, ol = p.line(10, 'Sparse Core Steps'), p.line(11, 'Sparse Core Modules'), p.line(12, 'Sparse Core Ops')
    sy = p.line(13, 'Sparse Core Syncs')
    m = th.mods[0]
    names = ['sc_gather', 'sc_scatter_add', 'sc_sort', 'sc_dma_wait']
    em = {}
    for q, n in enumerate(names):
        em[q] = p.E('%%%s.1 = f32[8192,128]{1,0:T(8)} custom-call(f32[8192,128] %%p.%d), custom_call_target="%s"' % (n, q, n),
                    n + '.1', [('hlo_category', 's', 'custom-call'), ('program_id', 'u', m.program_id),
                               ('symbol_id', 'u', 900_000 + q), ('flops', 'i', 1 << 20), ('model_flops', 'i', 1 << 20),
                               ('bytes_accessed', 'i', 4 << 20), ('tf_op', 's', 'jit(train_step)/embedding/%s:' % n)])
    run0, s0 = None, 0
    for off, dur, i, run in spans:
        t = off + 60_000
        w = max(1000, dur - 120_000)
        ml.add(p.E('sc_%s(%d)' % (i.name, m.program_id)), t, w,
               p.stat('offload_core_id', 'u', core) + p.stat('tc_offload_start_id', 'u', i.id)
               + p.stat('offload_execution_index', 'u', run) + p.stat('run_id', 'u', run) + p.stat('queue_id', 'u', 0))
        x = t + 1000
        for q in range(8):
            dd = max(500, (w - 4000) // 8)
            ol.add(em[q % 4], x, dd - 200, p.stat('device_offset_ps', 'u', x) + p.stat('device_duration_ps', 'u', dd - 200))
            x += dd
        sy.add(p.E('sync_wait'), t, 700)
        if run != run0:
            if run0 is not None:
                sl.add(p.E(str(run0)), s0, off - 1000 - s0)
            run0, s0 = run, off
    if run0 is not None:
        sl.add(p.E(str(run0)), s0, spans[-1][0] + spans[-1][1] - s0)
    return p
