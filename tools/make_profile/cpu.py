"""Scenarios without an accelerator: a TensorFlow input pipeline and host-only JAX."""
from .context import hlo_metadata_plane
from .flat import Flat
from .host import HostPlane
from .model import ModelBuilder
from .space import solve_steps, task_env
from .wire import MS, US


def sc_tf_input_pipeline(cx):
    """Eager TF and tf.data on a CPU host, with a memory profile."""
    a = cx.a

    def write(f, steps, h=0):
        hp = HostPlane(cx, h)
        r = hp.rng
        main = hp.thread('python', 900_001)
        step = 12 * MS
        t0 = 500 * MS
        for s in range(steps):
            b = t0 + s * step
            sid = 7_000_000 + s
            hp.ev(main, 'train', b, step - 300 * US, ('step_num', 'i', s), ('_r', 'i', 1))
            hp.ev(main, 'EagerExecute: __inference_train_step_%d' % (s % 3), b + 20 * US, step - 900 * US, ('is_func', 'i', 1),
                  ('tf_function_call', 'r', ('notTraced-xla', 'notTraced-nonXla', 'traced-nonXla')[s % 3] if s > 2 else 'traced-nonXla'),
                  ('tracing_count', 'i', min(3, s)))
            hp.ev(main, 'FunctionRun', b + 40 * US, step - 1200 * US, ('id', 'i', sid), ('_pt', 'i', 1), ('_p', 'i', sid))
            ex = hp.thread('tf_Compute_%d' % (s % 2))
            hp.ev(ex, 'ExecutorState::Process', b + 60 * US, step - 1500 * US, ('id', 'i', sid), ('iter_num', 'i', 0),
                  ('_ct', 'i', 1), ('_c', 'i', sid))
            live = []
            n = 60
            w = (step - 1700 * US) // n
            for q in range(n):
                op = ('MatMul', 'BiasAdd', 'Relu', 'Conv2D', 'FusedBatchNormV3', 'Mean', 'AddV2', 'Mul', 'Sub',
                      'ResourceApplyAdam', 'ReadVariableOp', 'Cast', 'InfeedEnqueueTuple')[int(r.integers(13 if a.infeed else 12))]
                t = b + 80 * US + q * w
                hp.ev(ex, '%s/layer_%d/%s:%s' % ('gradient_tape/model' if q > n // 2 else 'model', q % 12, op, op), t, w * 3 // 4,
                      ('shape', 'r', '(float[32,%d];float[%d,256])' % (64 * (1 + q % 8), 64 * (1 + q % 8))), ('id', 'i', sid))
                if q % 3 == 0:
                    ad = hp.memory(ex, t + 2 * US, 0, int(r.integers(1 << 14, 1 << 24)), allocator='cpu', cap=64 << 30,
                                   tf_op='model/layer_%d/%s' % (q % 12, op), region=('output', 'temp', 'persist/dynamic')[q % 3],
                                   shape='[32,%d]' % (64 * (1 + q % 8)), dtype=int(r.choice([1, 3, 9, 14, 19])))
                    live.append(ad)
                if len(live) > 6:
                    hp.memory(ex, t + 4 * US, 0, 0, free=live.pop(0), allocator='cpu', cap=64 << 30)
            for q in range(2):
                hp.ev(main, 'EagerExecute: Mul', b + step - 280 * US + q * 60 * US, 50 * US, ('is_func', 'i', 0))
                hp.ev(main, 'Mul:Mul', b + step - 275 * US + q * 60 * US, 20 * US)
        hp.tf_data(t0, t0 + steps * step, steps, step_of=lambda e: 7_000_000 + e)
        f.plane(hp.done())
        f.plane(task_env(cx.start_ns, cx.start_ns + (t0 + steps * step) // 1000))

    steps = solve_steps(a, write)
    total = 0
    for h in range(a.hosts):
        f = cx.open(h)
        write(f, steps, h)
        total += f.close(cx.host(h))
    return total


def sc_jax_cpu(cx):
    """JAX on a CPU: XLA ops as host events, and a metadata plane."""
    a = cx.a
    r = cx.rng('model')
    mb = ModelBuilder(r, 'jit_train_step', 77, 'gpu', (1.0, 50.0), 1)
    mod = mb.train(0.004)
    flat = Flat(mod)
    steps = a.steps or max(3, int(a.size_mb * 1e6 / (len(flat.instrs) * 50)))
    total = 0
    for h in range(a.hosts):
        f = cx.open(h)
        f.plane(hlo_metadata_plane(cx.rng('hlo', h), [mod]))
        hp = HostPlane(cx, h)
        main = hp.thread('python', 5_001)
        ln = hp.thread('tf_XLAEigen_0')
        t = 200 * MS
        for s in range(steps):
            off, dur = flat.times(hp.rng, t + 300 * US)
            e = int((off + dur).max()) + 50 * US
            hp.ev(main, 'train', t, e - t + 100 * US, ('step_num', 'i', s), ('_r', 'i', 1))
            hp.ev(main, 'PjitFunction(train_step)', t + 10 * US, 200 * US)
            hp.ev(main, 'TfrtCpuExecutable::Execute', t + 50 * US, 100 * US, ('_pt', 'i', 5), ('_p', 'i', s + 1))
            hp.ev(ln, 'TfrtCpuExecutable::ExecuteHelper', t + 250 * US, e - t - 250 * US, ('_ct', 'i', 5), ('_c', 'i', s + 1))
            for q in range(len(off)):
                i = flat.instrs[q]
                hp.ev(ln, i.name, int(off[q]), int(dur[q]), ('hlo_op', 'r', i.name), ('hlo_module', 'r', mod.name),
                      ('program_id', 'i', 77))
            hp.python(main, e + 120 * US, 2 * MS, 6, 40)
            t = e + 3 * MS
        f.plane(hp.done())
        f.plane(task_env(cx.start_ns, cx.start_ns + t // 1000))
        total += f.close(cx.host(h))
    return total
