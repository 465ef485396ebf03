"""Scenario: GPU training, in JAX and in TensorFlow."""
import numpy as np

from .chips import GPU
from .context import hlo_metadata_plane
from .flat import Flat
from .host import HostPlane
from .model import ModelBuilder
from .space import Plane, solve_steps, task_env
from .tpu_train import tpu_scale
from .wire import MS, US, vi

GEMMS = {'nv': ['sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas',
                'nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT', 'ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn',
                'cutlass_80_tensorop_s16816gemm_bf16_256x128_32x3_nn_align8'],
         'amd': ['Cijk_Ailk_Bljk_BBS_BH_MT256x128x32_MI16x16x16x1_SN_1LDSB1_APM1_ABV0_ACED0',
                 'Cijk_Alik_Bljk_HHS_BH_MT128x128x64_MI32x32x8x1_SN_1LDSB0_APM1']}
TF_KERNEL = ('void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<'
             'Eigen::Tensor<%s, 1, 1, long>, 16, Eigen::MakePointer>, Eigen::TensorCwiseBinaryOp<Eigen::internal::'
             'scalar_%s_op<%s, %s>, ...> const> const, Eigen::GpuDevice>, long>(...)')


class GpuOps:
    """Kernels of one step: for each kernel its name, details and the op it came from."""

    def __init__(self, r, flat, mod, vendor):
        self.k, self.names, self.details = [], {}, {}
        amd = vendor == 'AMD'
        per = {}
        rows = []
        for n, i in enumerate(flat.uniq):
            if i.opcode in ('while', 'bitcast', 'all-reduce-done', 'all-gather-done'):
                per[n] = []
                continue
            ks = []
            grid = int(max(1, min(65535, i.shape.size // 2048 if i.shape.elems is None else 512)))
            if i.opcode.startswith(('all-reduce', 'all-gather', 'reduce-scatter')):
                op = {'all-r': 'AllReduce_Sum_bf16_RING_LL', 'all-g': 'AllGather_RING_LL', 'reduc': 'ReduceScatter_Sum_bf16_RING_LL'}[i.opcode[:5]]
                ks.append(('ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)' % op, 24, 512, 96, 1))
            elif i.opcode == 'custom-call' and 'gemm' in (i.target or ''):
                ks.append((GEMMS['amd' if amd else 'nv'][int(r.integers(2 if amd else 4))], grid // 8 + 1, 256, 168, 0))
                if r.random() < 0.25:
                    ks.append(('void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(...)', 64, 512, 32, 0))
            elif i.opcode == 'custom-call':
                ks.append(('cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128_4x1x1_kernel0_0', 256, 128, 168, 0))
            elif i.opcode == 'copy':
                ks.append(('wrapped_transpose', grid, 128, 20, 0))
            else:
                ks.append((i.name.replace('.', '_').replace('-', '_'), grid, int(r.choice([128, 256, 512])), int(r.integers(16, 96)), 0))
            per[n] = []
            for nm, g, b, reg, coll in ks:
                occ = float(r.choice([25, 37.5, 50, 75, 100]))
                if amd:
                    det = ' grid:%d,1,1 block:%d,1,1 private_mem:0 group_mem:%d occ_pct:%g' % (g, b, int(r.choice([0, 8192, 33792])), occ)
                else:
                    det = 'regs:%d static_shared:%d dynamic_shared:%d grid:%d,1,1 block:%d,1,1 occ_pct:%g' % (
                        reg, int(r.choice([0, 1024, 8192])), int(r.choice([0, 0, 98304])), g, b, occ)
                per[n].append(len(rows))
                rows.append((nm + ('.kd' if amd else ''), det, i, occ, coll, 1.0 / len(ks), g, b))
        self.rows = rows
        seq, leaf = [], []
        for j in np.nonzero(flat.is_leaf)[0]:
            for q in per[int(flat.idx[j])]:
                seq.append(q)
                leaf.append(int(flat.lo[j]))
        self.seq = np.array(seq, np.int64)
        self.leaf = np.array(leaf, np.int64)
        self.frac = np.array([rows[q][5] for q in seq])
        self.base = flat.leaf_base[self.leaf] * self.frac
        self.coll = np.array([rows[q][4] for q in seq], bool)


def gpu_caps(p, g):
    v = GPU[g]
    p.pstat('device_vendor', 's', v[0])
    if v[1]:
        p.pstat('gpu_device_name', 's', v[1])
    p.pstat('clock_rate', 'i', v[2])
    p.pstat('core_count', 'i', v[3])
    p.pstat('memory_bandwidth', 'u', v[4])
    p.pstat('memory_size', 'u', v[5])
    p.pstat('compute_cap_major', 'i', v[6])
    p.pstat('compute_cap_minor', 'i', v[7])


def gpu_train(cx, tf=False):
    a = cx.a
    g = a.chip or 'h100'
    caps = GPU[g]
    amd = caps[0] == 'AMD'
    devices = a.devices or 8
    r = cx.rng('model')
    scale = tpu_scale(a, devices, want_steps=10, event_bytes=150.0)
    name = 'jit_train_step' if not tf else 'cluster_0__XlaCompiledKernel_true__XlaNumConstantArgs_4__XlaNumResourceArgs_82_.1234'
    cfg = {'prefix': 'jit(train_step)/jit(main)'} if not tf else {'prefix': 'gradient_tape/model'}
    mb = ModelBuilder(r, name, int(r.integers(3, 400)) if not tf else int(r.integers(400, 900)), 'gpu',
                      (caps[3] * 3.0 if not amd else 900.0, caps[4] / 1e9), devices * a.hosts, cfg)
    mod = mb.train(scale)
    flat = Flat(mod)
    ops = GpuOps(r, flat, mod, caps[0])
    nk = len(ops.seq)
    api = 'hipModuleLaunchKernel' if amd else 'cuLaunchKernelEx'

    def write(f, steps, h=0):
        ts = 871_000
        hp = HostPlane(cx, h, ts)
        main = hp.thread('python', 7_512_490)
        t0 = 900 * MS
        length = int(ops.base.sum()) + nk * 2_500_000
        step_ps = int(length * 1.03) + 3 * MS
        f.plane(hlo_metadata_plane(cx.rng('hlo', h), [mod]))
        corr = 0
        ctx = 100
        step_ctx = {}
        for s in range(steps):
            b = t0 + s * step_ps
            hp.ev(main, 'train', b, step_ps - 900 * US, ('step_num', 'i', s), ('_r', 'i', 1))
            for d in range(devices):
                ctx += 1
                step_ctx[s, d] = ctx
                if not tf:
                    hp.ev(main, 'PjitFunction(train_step)' if d == 0 else 'ParseArguments', b + (10 + 30 * d) * US, 25 * US)
                    hp.ev(main, 'PjRtStreamExecutorLoadedExecutable::Execute', b + (12 + 30 * d) * US, 20 * US,
                          ('_pt', 'i', 5), ('_p', 'i', ctx))
                else:
                    hp.ev(main, 'FunctionRun', b + (12 + 30 * d) * US, 20 * US, ('id', 'i', ctx), ('_pt', 'i', 1), ('_p', 'i', ctx))
            hp.python(main, b + (30 + 30 * devices) * US, step_ps - (1200 + 40 * devices) * US, 5,
                      int(min(3000, 20 + nk * devices // 40)))
        for d in range(devices):
            rng = cx.rng('gpu', h, d)
            p = Plane(d, '/device:GPU:%d' % d, rng)
            gpu_caps(p, g)
            cstream = p.line(16 + d, 'Stream #%d(%s)' % (16 + d, 'Kernel' if amd else 'Compute'), ts)
            nstream = p.line(32 + d, 'Stream #%d(%s)' % (32 + d, 'Kernel' if amd else 'Compute'), ts)
            h2d = p.line(48 + d, 'Stream #%d(MemcpyH2D)' % (48 + d), ts)
            d2h = p.line(64 + d, 'Stream #%d(MemcpyD2H)' % (64 + d), ts)
            lt = hp.thread(('tf_gpu_private_%d' if tf else 'py_xla_execute_%d') % d)
            S = p.S
            kid = np.array([p.E(x[0]) for x in ops.rows], np.int64)
            det = np.array([S(x[1]) for x in ops.rows], np.int64)
            hop = np.array([S(x[2].name) for x in ops.rows], np.int64)
            tfn = np.array([S('%s:%s' % (x[2].op_name, (x[2].op_type or '').title().replace('_', '')) if tf else 'XlaModule:')
                            for x in ops.rows], np.int64)
            nam = np.array([S(x[2].op_name or '?') for x in ops.rows], np.int64)
            occ = np.array([x[3] for x in ops.rows])
            mgs = np.array([x[6] for x in ops.rows], np.int64)
            sbs = np.array([x[7] for x in ops.rows], np.int64)
            hmod = S(mod.name)
            ann = np.array([S('%s:%s#shape=(%s)#' % (x[2].op_name, (x[2].op_type or 'Op').title().replace('_', ''),
                                                     x[2].ops[0].shape.text() if x[2].ops else '')) for x in ops.rows], np.int64) if tf else None
            shp = S('(half[4,384,4096];half[])') if tf else 0
            hpS = hp.p.S
            hop_h = np.array([hpS(x[2].name) for x in ops.rows], np.int64)
            launch = hp.p.E(api)
            glaunch = hp.p.E('cuGraphLaunch')
            if tf:
                tfop = np.array([hp.p.E('%s:%s' % (x[2].op_name, (x[2].op_type or 'Op').title().replace('_', ''))) for x in ops.rows], np.int64)
            for s in range(steps):
                b = t0 + s * step_ps
                dur = np.maximum(1000, ops.base * np.exp(rng.normal(0, 0.06, nk))).astype(np.int64) // 1000 * 1000
                gap = rng.integers(400, 4000, nk) * 1000
                st = b + 600 * US + np.cumsum(dur + gap) - dur
                ls = b + 300 * US + np.cumsum(np.minimum(dur + gap, rng.integers(3_000, 9_000, nk) * 1000))
                ls = np.minimum(ls, st - 5 * US)
                ls = np.maximum.accumulate(ls)
                cid = corr + 1 + np.arange(nk)
                graph = np.zeros(nk, bool)
                if not amd and not tf and a.cuda_graphs and nk > 64:
                    for q in range(0, nk - 40, 120):       # segments run as CUDA graphs
                        graph[q:q + 40] = True
                        cid[q:q + 40] = cid[q]
                corr += nk
                seq = ops.seq
                for line, sel in ((cstream, ~ops.coll), (nstream, ops.coll)):
                    ix = np.nonzero(sel)[0]
                    if not len(ix):
                        continue
                    n = len(ix)
                    q = seq[ix]
                    stats = [(S('correlation_id'), 'u', cid[ix], None)]
                    if tf:
                        stats += [(S('annotation'), 'r', ann[q], None), (S('context_id'), 's', ([b'$$%d' % (d + 1)], np.zeros(n, np.int64)), None)]
                    stats += [(S('kernel_details'), 'r', det[q], None)]
                    if tf:
                        shape = ((S('shape'), 'r', np.full(n, shp), None) if d % 2 else      # both forms occur
                                 (S('shape'), 's', ([b'(half[4,384,4096];half[])'], np.zeros(n, np.int64)), None))
                        stats += [(S('tf_op'), 'r', tfn[q], None), shape, (S('is_eager'), 'i', np.zeros(n, np.int64), None)]
                    else:
                        stats += [(S('tf_op'), 'r', tfn[q], None), (S('name'), 'r', nam[q], None),
                                  (S('hlo_op'), 'r', hop[q], None), (S('hlo_module'), 'r', np.full(n, hmod), None),
                                  (S('program_id'), 'i', np.full(n, mod.program_id), None)]
                        if not amd:
                            stats += [(S('theoretical_occupancy_pct'), 'd', occ[q], None),
                                      (S('occupancy_min_grid_size'), 'i', mgs[q], None),
                                      (S('occupancy_suggested_block_size'), 'i', sbs[q], None)]
                        if graph[ix].any():
                            stats += [(S('cuda_graph_id'), 'u', np.full(n, 7), graph[ix]),
                                      (S('cuda_graph_node_id'), 'u', ix % 40 + 1, graph[ix])]
                    line.rows(kid[q], st[ix], dur[ix], stats)
                keep = np.ones(nk, bool)
                keep[1:] = cid[1:] != cid[:-1]
                ix = np.nonzero(keep)[0]
                n = len(ix)
                ld = np.minimum(2_200_000, np.maximum(500_000, np.diff(ls[ix], append=ls[ix[-1]] + 3_000_000) - 200_000))
                w0 = b + 250 * US
                w1 = int(ls[-1] + 40 * US)
                c = step_ctx[s, d]
                if tf:
                    hp_ev = [('ExecutorState::Process', w0, w1 - w0, [('id', 'i', c), ('iter_num', 'i', 0), ('_ct', 'i', 1), ('_c', 'i', c)])]
                else:
                    hp_ev = [('PjRtStreamExecutorLoadedExecutable::EnqueueExecution', w0, w1 - w0, [('_ct', 'i', 5), ('_c', 'i', c)])]
                for nm, x, w, ss in hp_ev:
                    body = (b'\x08' + vi(hp.p.E(nm)) + b'\x10' + vi(x - ts * 1000) + b'\x18' + vi(w)
                            + b''.join(hp.p.stat(*z) for z in ss))
                    lt.raw(b'\x22' + vi(len(body)) + body)
                q = ops.seq[ix]
                lstats = [(hpS('device_id'), 'u', np.full(n, d), None), (hpS('correlation_id'), 'u', cid[ix], None),
                          (hpS('hlo_op'), 'r', hop_h[q], None), (hpS('hlo_module'), 'r', np.full(n, hpS(mod.name)), None),
                          (hpS('program_id'), 'i', np.full(n, mod.program_id), None)] if not tf else [
                          (hpS('context_id'), 's', ([b'$$%d' % (d + 1)], np.zeros(n, np.int64)), None), (hpS('correlation_id'), 'u', cid[ix], None)]
                mids = np.where(graph[ix], glaunch, launch)
                if tf:      # each launch sits inside the op that made it
                    m2 = np.empty(2 * n, np.int64)
                    m2[0::2], m2[1::2] = tfop[q], mids
                    o2 = np.empty(2 * n, np.int64)
                    o2[0::2], o2[1::2] = ls[ix], ls[ix] + 100_000
                    d2 = np.empty(2 * n, np.int64)
                    d2[0::2], d2[1::2] = ld, np.maximum(100_000, ld - 200_000)
                    pr = np.zeros(2 * n, bool)
                    pr[1::2] = True
                    lstats = [(hpS('context_id'), 's', ([b'$$%d' % (d + 1)], np.zeros(2 * n, np.int64)), pr),
                              (hpS('correlation_id'), 'u', np.repeat(cid[ix], 2), pr),
                              (hpS('shape'), 'r', np.full(2 * n, hpS('(half[4,384,4096];half[])')), ~pr),
                              (hpS('is_eager'), 'i', np.zeros(2 * n, np.int64), ~pr)]
                    lt.rows(m2, o2, d2, lstats)
                else:
                    lt.rows(mids, ls[ix], ld, lstats)
                for q in range(3):
                    corr += 1
                    t = b + (100 + 90 * q) * US
                    sz = int(rng.integers(1 << 12, 1 << 24))
                    dt = 'kind_src:pageable kind_dst:device size:%d dest:%d async:1' % (sz, d) if not amd else 'kind:Unknown size:%d dest:%d async:1' % (sz, d)
                    h2d.add(p.E('MemcpyH2D'), t, max(2000, sz // 20) * 1000 // 1000 * 1000,
                            p.stat('correlation_id', 'u', corr) + p.stat('memcpy_details', 'r', dt) + p.stat('context_id', 's', '$$%d' % (d + 1)))
                    mt = hp.thread('memcpy_%d' % d)
                    hp.ev(mt, 'cuMemcpyHtoDAsync_v2' if not amd else 'hipMemcpyHtoDAsync', t - 20 * US, 9 * US, ('device_id', 'u', d),
                          ('correlation_id', 'u', corr), ('memcpy_details', 'r', dt))
                corr += 1
                t = int(st[-1] + dur[-1]) + 20 * US
                d2h.add(p.E('MemcpyD2H'), t, 4_000_000, p.stat('correlation_id', 'u', corr)
                        + p.stat('memcpy_details', 'r', 'kind_src:device kind_dst:pinned size:4 dest:0 async:1') + p.stat('context_id', 's', '$$%d' % (d + 1)))
                if s == 0:
                    h2d.add(p.E('Memset'), t, 1_000_000, p.stat('correlation_id', 'u', corr + 9_000_000)
                            + p.stat('Memset_details', 'r', 'kind:device size:4096 async:1'))
                    h2d.add(p.E('MemAlloc'), t + 2 * US, 1_000_000, p.stat('memalloc_details', 'r', 'kind:device num_bytes:1048576'))
                    h2d.add(p.E('MemFree'), t + 4 * US, 1_000_000, p.stat('MemFree_details', 'r', 'kind:device num_bytes:1048576'))
                mm = hp.thread('tf_gpu_mem_%d' % d)
                al = 'GPU_%d_bfc' % d
                ad = [hp.memory(mm, b + (20 + q) * US, d, int(rng.integers(1 << 20, 1 << 28)), allocator=al, cap=caps[5] * 3 // 4,
                                tf_op='model/layer_%d/MatMul' % q, region='output', shape='[4,384,%d]' % (1024 + q), dtype=19 if q % 2 else 1)
                      for q in range(6)]
                for q, x in enumerate(ad[:5]):
                    hp.memory(mm, b + step_ps - (900 - q) * US, d, 0, free=x, allocator=al, cap=caps[5] * 3 // 4)
            for ln in (h2d, d2h):
                ln.sort()
            f.plane(p)
        if tf:
            hp.tf_data(t0, t0 + steps * step_ps, steps * 2, step_of=lambda e: step_ctx[min(e // 2, steps - 1), 0])
        f.plane(hp.done())
        f.plane(task_env(cx.start_ns, cx.start_ns + (t0 + steps * step_ps) // 1000 + 9_000_000))

    steps = solve_steps(a, write)
    cx.log.append('scale %.3f, %d kernels a step and device, %d steps' % (scale, nk, steps))
    total = 0
    for h in range(a.hosts):
        f = cx.open(h)
        write(f, steps, h)
        total += f.close(cx.host(h))
    return total
