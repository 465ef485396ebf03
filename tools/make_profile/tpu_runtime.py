"""What the TPU runtime does on the host around each run of a program."""
from .wire import MS, US


def tpu_runtime_events(hp, th, train_name, cfg):
    """What JAX and the TPU runtime write on the host for the device's runs."""
    r = hp.rng
    main = hp.thread('python' if cfg.get('python', True) else 'main', 3_116_817)
    byrun = {}
    for run, step, k, d, s, e in th.runs:
        byrun.setdefault(run, []).append((step, k, d, s, e))
    ctx = 1 << 32
    live = []
    prev_end = th.t0 - 80 * MS
    step_begin, step_end = {}, {}
    for run in sorted(byrun):
        rows = byrun[run]
        step, k = rows[0][0], rows[0][1]
        name = th.mods[k].name.replace('jit_', '')
        first = min(x[3] for x in rows)
        lead = int(r.integers(1_500, 6_000)) * US
        t = max(prev_end + 20 * US, first - lead)
        if t > first - 800 * US:
            t = first - 800 * US
        w = int(r.integers(350, 650)) * US
        if step >= 0:
            step_begin[step] = min(step_begin.get(step, t - 100 * US), t - 100 * US)
            step_end[step] = max(step_end.get(step, 0), t + w + 100 * US)
        hp.ev(main, '$train.py:211 train_step', t - 40 * US, w + 60 * US)
        hp.ev(main, 'PjitFunction(%s)' % name, t, w)
        hp.ev(main, 'ParseArguments', t + 2 * US, 6 * US)
        hp.ev(main, 'shard_args', t + 12 * US, 40 * US)
        exe = t + 60 * US
        hp.ev(main, 'TfrtTpuLoadedExecutable::Execute', exe, w - 80 * US)
        for step, k, d, s, e in rows:
            ctx += 1
            hp.ev(main, 'TfrtTpuLoadedExecutable::Execute linkage', exe + (2 + d) * US, 600_000,
                  ('_pt', 'i', 5), ('_p', 'i', ctx))
            th_ln = hp.thread('py_xla_execute_%d' % d)
            b = exe + (6 + 3 * d) * US
            hp.ev(th_ln, 'Scheduled TfrtTpuLoadedExecutable::Execute', b, 210 * US, ('_ct', 'i', 5), ('_c', 'i', ctx))
            hp.ev(th_ln, 'TfrtTpuLoadedExecutable::ExecutePrepare', b + US, 90 * US)
            hp.ev(th_ln, 'Acquire semaphore', b + 2 * US, 2 * US)
            hp.ev(th_ln, 'Handle inputs', b + 5 * US, 8 * US)
            hp.ev(th_ln, 'AllocateOutputBufferWithInputReuse', b + 15 * US, 50 * US)
            hp.ev(th_ln, 'DeferredTpuAllocator::Allocate', b + 20 * US, 30 * US)
            for q in range(cfg.get('allocs', 3)):
                sz = int(r.integers(1 << 20, 64 << 20))
                a = hp.memory(th_ln, b + (21 + q) * US, d, sz, tf_op='dummy',
                              shape='bf16[%d,1024]{1,0:T(8,128)(2,1)}' % (sz // 2048))
                live.append((d, a))
            hp.ev(th_ln, 'LoadProgram', b + 70 * US, 12 * US)
            hp.ev(th_ln, 'TfrtTpuLoadedExecutable::ExecuteLaunch', b + 95 * US, 80 * US)
            ctx += 1
            hp.ev(th_ln, 'tpu::System::Execute', b + 97 * US, 60 * US, ('_pt', 'i', 7), ('_p', 'i', ctx))
            hp.ev(th_ln, 'MapDmaBuffer', b + 100 * US, 20 * US, ('size', 'r', '128B'))
            hp.ev(th_ln, 'TfrtTpuLoadedExecutable::CreateOutputs', b + 180 * US, 8 * US)
            q_ln = hp.thread('tfrt-non-blocking-queue_%d' % (d % 4))
            c = b + 130 * US + d * 30 * US
            hp.ev(q_ln, 'tpu::System::Execute=>IssueSequencedEvent', c, 26 * US, ('_ct', 'i', 7), ('_c', 'i', ctx))
            hp.ev(q_ln, 'EnqueueContinuationProgram', c + 4 * US, 20 * US)
            ids = (('run_id', 'i', run), ('queue_id', 'i', 0), ('device_ordinal', 'i', d), ('core_type', 'i', 0))
            hp.ev(q_ln, 'DoEnqueueProgram', c + 8 * US, 10 * US, ('continuation', 'i', 1), *ids,
                  ('_pt', 'i', 12), ('_p', 'i', ctx))
            sd = hp.thread('switchto-default-SDomainT_%d' % d)
            hp.ev(sd, 'ReadSyncFlag', e + 3 * US, 10 * US)
            hp.ev(sd, 'CompleteCallbacks', e + 20 * US, 30 * US, *ids, ('_ct', 'i', 12), ('_c', 'i', ctx))
            hp.ev(sd, 'tpu::System::Execute=>Done', e + 25 * US, 15 * US)
            while len(live) > 12 * th.devices:
                dd, ad = live.pop(0)
                if ad is not None:
                    hp.memory(sd, e + 30 * US, dd, 0, free=ad)
        if cfg.get('transfers', True) and run % 4 == 0:
            d = run % th.devices
            ctx += 1
            wt = hp.thread('pjrt-tpu-tasks_%d' % d)
            sz = 256 * 77 * 4
            b = t - 200 * US
            hp.ev(main, 'DevicePut', b - 30 * US, 25 * US)
            hp.ev(wt, 'H2D Dispatch', b, 160 * US)
            hp.ev(wt, 'Linearize', b + US, 60 * US, ('type', 'r', 'F32'), ('dims', 'r', '[256,77]'),
                  ('shape', 'r', 'f32[256,77]'), ('layout', 'r', '{1,0:T(8,128)}'))
            hp.ev(wt, 'tpu::System::TransferToDevice', b + 70 * US, 60 * US, ('size', 'i', sz), ('device_ordinal', 'i', d),
                  ('_pt', 'i', 7), ('_p', 'i', ctx))
            hp.ev(wt, 'tpu::System::TransferToDevice=>IssueEvent', b + 75 * US, 40 * US, ('_ct', 'i', 7), ('_c', 'i', ctx))
            hp.ev(hp.thread('EventFDAsyncWorker'), 'tpu::System::TransferToDevice=>IssueEvent=>Done', b + 150 * US, 10 * US,
                  ('size', 'i', sz), ('_ct', 'i', 7), ('_c', 'i', ctx))
        if cfg.get('infeed'):
            inf = hp.thread('tf_infeed_enqueue')
            hp.ev(inf, 'infeed/enqueue:InfeedEnqueueTuple', t - 900 * US, 700 * US, ('id', 'i', run))
            hp.ev(inf, 'TransferToInfeed', t - 800 * US, 500 * US)
        prev_end = t + w
    for step in sorted(step_begin):
        s, e = step_begin[step], step_end[step]
        hp.ev(main, train_name, s, e - s, ('step_num', 'i', step), ('_r', 'i', 1))
        n = cfg.get('py_events', 60)
        gap_end = step_begin.get(step + 1, e + 2000 * US) - 20 * US
        if gap_end > e + 100 * US:
            n -= hp.python(main, e + 20 * US, gap_end - e - 40 * US, 6, max(0, n))
        for q in range(4):
            if n <= 0:
                break
            w = hp.thread('ThreadPoolExecutor-0_%d' % q)
            n -= hp.python(w, s, max(10 * US, gap_end - s), 7, n // 2 + 1)
    if not step_begin:
        hp.python(main, th.t0, 10 * MS, 5, cfg.get('py_events', 60))
