"""Scenario: TPU inference."""
import numpy as np

from .context import hlo_metadata_plane
from .host import HostPlane
from .space import solve_steps, task_env
from .tpu_device import tpu_device_plane, TpuHost
from .tpu_train import tpu_modules, tpu_scale
from .wire import MS, SEC, US


def sc_tpu_inference(cx):
    a = cx.a
    chip = a.chip or 'v6e'
    devices = a.devices or 4
    style = a.style or 'batching'
    scale = tpu_scale(a, devices, want_steps=200, full=700)
    mods, flats = tpu_modules(cx, 'jit_serve_fn', scale, chip, devices, {'prefix': 'jit(serve_fn)/jit(main)'}, 'forward')
    n0 = len(flats[0].instrs)

    def write(f, batches, h=0):
        th = TpuHost(cx, h, mods, flats, devices, chip, batches, flats[0].nominal)
        gap = flats[0].nominal + 3 * MS
        sched = {d: [] for d in range(devices)}
        for b in range(batches):
            d = b % devices
            sched[d].append((b + 1, -1, 0, th.t0 + 20 * MS + (b // devices) * gap + d * gap // devices, 1.0))
        for d in range(devices):
            p, _ = tpu_device_plane(cx, th, d, sched[d], {'steps_line': False, 'power': True})
            f.plane(p)
        f.plane(hlo_metadata_plane(cx.rng('hlo', h), mods, legacy=a.legacy_hlo))
        hp = HostPlane(cx, h)
        inference_host(hp, th, style)
        f.plane(hp.done())
        end = max((x[5] for x in th.runs), default=SEC)
        f.plane(task_env(cx.start_ns, cx.start_ns + end // 1000 + 10_000_000))

    batches = solve_steps(a, write, 12)
    cx.log.append('%d ops a batch, %d batches' % (n0, batches))
    total = 0
    for h in range(a.hosts):
        f = cx.open(h)
        write(f, batches, h)
        total += f.close(cx.host(h))
    return total


def inference_host(hp, th, style):
    r = hp.rng
    models = ['clip_encoder:17', 'reranker:3', 'captioner:1']
    ctx = 1 << 33
    req_ctx = 0
    for run, step, k, d, s, e in sorted(th.runs):
        model = models[run % 3]
        nreq = int(r.integers(1, 6))
        size = [int(r.integers(1, 9)) for _ in range(nreq)]
        pad = int(2 ** np.ceil(np.log2(sum(size))))
        bt = s - int(r.integers(900, 1600)) * US
        hold = []
        for q in range(nreq):
            req_ctx += 1
            t = bt - int(r.integers(100, 2500)) * US
            ln = hp.thread('serving_request_%d' % (req_ctx % 12))
            w = e - t + int(r.integers(150, 900)) * US
            ctx += 1
            hold.append(ctx)
            if style == 'batching':
                hp.ev(ln, 'BatchingSessionRun', t, w, ('_r', 'i', 1), ('id', 'i', req_ctx), ('model_id', 'r', model))
                hp.ev(ln, 'ScheduleWithoutSplit' if req_ctx % 3 else 'ScheduleWithSplit', t + 20 * US, 9 * US,
                      ('batching_input_task_size', 'i', size[q]), ('_pt', 'i', 6), ('_p', 'i', ctx))
            elif style == 'tfrt':
                hp.ev(ln, 'TfrtModelRun', t, w, ('_r', 'i', 1), ('model_id', 'r', model), ('request_id', 'i', req_ctx))
                hp.ev(ln, 'ASBSQueue::Schedule', t + 20 * US, 9 * US, ('batching_input_task_size', 'i', size[q]),
                      ('_pt', 'i', 6), ('_p', 'i', ctx))
            elif style == 'pathways':
                hp.ev(ln, 'ServingModelRun', t, w, ('_r', 'i', 1), ('model_id', 'r', model), ('request_id', 'i', req_ctx))
                hp.ev(ln, 'ScheduleWithEagerSplit', t + 20 * US, 9 * US, ('batching_input_task_size', 'i', size[q]),
                      ('_pt', 'i', 6), ('_p', 'i', ctx))
            elif style == 'orbax':
                hp.ev(ln, 'ModelServerRequest_predict', t, w, ('_r', 'i', 1), ('model_id', 'r', model))
                hp.ev(ln, 'ScheduleWithoutSplit', t + 20 * US, 9 * US, ('batching_input_task_size', 'i', size[q]),
                      ('_pt', 'i', 6), ('_p', 'i', ctx))
            else:
                hp.ev(ln, 'SessionRun', t, w, ('_r', 'i', 1), ('id', 'i', req_ctx), ('model_id', 'r', model),
                      ('_pt', 'i', 6), ('_p', 'i', ctx))
        b = hp.thread('batch_threads_%d' % (run % 4))
        if style != 'session':
            hp.ev(b, 'OrbaxServing::ProcessBatch' if style == 'orbax' else 'ProcessBatch', bt, e - bt + 80 * US,
                  ('_r', 'i', 2), ('_ct', 'i', 6), ('_c', 'i', hold[0]))
            for c in hold[1:]:
                hp.ev(b, 'BatchTask', bt + 200_000, 100_000, ('_ct', 'i', 6), ('_c', 'i', c))
            nm = {'batching': 'MergeInputTensors', 'orbax': 'OrbaxServing::ConcatInputBuffers'}.get(style, 'ConcatInputTensors')
            hp.ev(b, nm, bt + 5 * US, 60 * US, ('batch_size_after_padding', 'i', pad), ('padding_amount', 'i', pad - sum(size)))
        else:
            hp.ev(b, 'RunGraph', bt, e - bt + 60 * US, ('_ct', 'i', 6), ('_c', 'i', hold[0]))
        if style == 'batching':
            hp.ev(b, 'SessionRun', bt + 70 * US, e - bt, ('model_id', 'r', model), ('id', 'i', 1_000_000 + run))
        hp.ev(b, 'Linearize', bt + 80 * US, 70 * US, ('type', 'r', 'BF16'), ('shape', 'r', 'bf16[%d,224,224,3]' % pad),
              ('layout', 'r', '{3,0,2,1:T(8,128)(2,1)}'), ('dims', 'r', '[%d,224,224,3]' % pad))
        ctx += 1
        hp.ev(b, 'tpu::System::TransferToDevice', bt + 160 * US, 30 * US, ('size', 'i', pad * 301056), ('device_ordinal', 'i', d),
              ('_pt', 'i', 7), ('_p', 'i', ctx))
        w = hp.thread('EventFDAsyncWorker')
        hp.ev(w, 'tpu::System::TransferToDevice=>IssueEvent', bt + 170 * US, 50 * US, ('_ct', 'i', 7), ('_c', 'i', ctx))
        hp.ev(w, 'tpu::System::TransferToDevice=>IssueEvent=>Done', bt + 230 * US, 8 * US, ('_ct', 'i', 7), ('_c', 'i', ctx))
        ctx += 1
        hp.ev(b, 'tpu::System::Execute', bt + 260 * US, 90 * US, ('_pt', 'i', 7), ('_p', 'i', ctx))
        q = hp.thread('tfrt-non-blocking-queue_%d' % (d % 4))
        ids = (('run_id', 'i', run), ('queue_id', 'i', 0), ('device_ordinal', 'i', d), ('core_type', 'i', 0))
        hp.ev(q, 'tpu::System::Execute=>IssueSequencedEvent', bt + 300 * US, 40 * US, ('_ct', 'i', 7), ('_c', 'i', ctx))
        hp.ev(q, 'DoEnqueueProgram', bt + 310 * US, 12 * US, *ids, ('_pt', 'i', 12), ('_p', 'i', ctx))
        c = hp.thread('switchto-default-SDomainT_%d' % d)
        hp.ev(c, 'CompleteCallbacks', e + 4 * US, 20 * US, *ids, ('_ct', 'i', 12), ('_c', 'i', ctx))
        ctx += 1
        hp.ev(b, 'tpu::System::TransferFromDevice', e + 2 * US, 20 * US, ('size', 'i', pad * 2048), ('device_ordinal', 'i', d),
              ('_pt', 'i', 7), ('_p', 'i', ctx))
        hp.ev(w, 'tpu::System::TransferFromDevice=>IssueEvent', e + 8 * US, 9 * US, ('_ct', 'i', 7), ('_c', 'i', ctx))
        hp.ev(w, 'tpu::System::TransferFromDevice=>IssueEvent=>Done', e + 30 * US, 6 * US, ('_ct', 'i', 7), ('_c', 'i', ctx))
        hp.ev(b, 'Delinearize', e + 40 * US, 25 * US, ('type', 'r', 'F32'), ('shape', 'r', 'f32[%d,512]' % pad),
              ('layout', 'r', '{1,0:T(8,128)}'))
        a = hp.memory(b, bt + 155 * US, d, pad * 301056, tf_op='serve', shape='bf16[%d,224,224,3]' % pad)
        hp.memory(b, e + 70 * US, d, 0, free=a)
