"""Records real JAX profiles on the CPU backend.

    jax_cpu.py OUT_DIR [NAME ...]

Writes OUT_DIR/NAME/plugins/profile/run1/localhost.xplane.pb. Runs on jax 0.4.30 to 0.10;
options that a version lacks are left out.
"""
import glob
import os
import shutil
import sys
import tempfile
import time

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map

JOBS = {}


def job(**opts):
    """Names a program to record, with the profiler's options for it. A program gives what runs
    before the trace (or None) and what runs inside it."""
    def deco(fn):
        JOBS[fn.__name__] = (fn, opts)
        return fn
    return deco


def mlp(sizes, key=0):
    ks = jax.random.split(jax.random.PRNGKey(key), len(sizes))
    return [(jax.random.normal(k, (i, o)) * i ** -0.5, jnp.zeros(o)) for k, i, o in zip(ks, sizes, sizes[1:])]


def mlp_apply(ps, x):
    for i, (w, b) in enumerate(ps):
        x = x @ w + b
        if i + 1 < len(ps):
            x = jax.nn.relu(x)
    return x


@jax.jit
def mlp_train_step(ps, x, y):
    def loss(ps): return jnp.mean((mlp_apply(ps, x) - y) ** 2)
    l, g = jax.value_and_grad(loss)(ps)
    return jax.tree_util.tree_map(lambda p, d: p - 1e-2 * d, ps, g), l


@job()
def mlp_steps():
    """plain training loop, steps marked, compile inside the trace"""
    ps = mlp([256, 512, 512, 64]); x = jnp.ones((128, 256)); y = jnp.ones((128, 64))
    def run():
        nonlocal ps
        for i in range(8):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                ps, l = mlp_train_step(ps, x, y)
                l.block_until_ready()
    return None, run


@job(python_tracer_level=0, host_tracer_level=3)
def mlp_steps_nopython():
    """same loop, warm, no Python tracer, host tracer at its highest level"""
    ps = mlp([256, 512, 512, 64]); x = jnp.ones((128, 256)); y = jnp.ones((128, 64))
    def warm(): mlp_train_step(ps, x, y)[1].block_until_ready()
    def run():
        nonlocal ps
        for i in range(8):
            with jax.profiler.StepTraceAnnotation("train", step_num=100 + i):
                ps, l = mlp_train_step(ps, x, y)
                l.block_until_ready()
    return warm, run


@job(host_tracer_level=1, python_tracer_level=0)
def mlp_steps_level1():
    return mlp_steps_nopython()


@job(python_tracer_level=0, host_tracer_level=0)
def host_tracer_off():
    return mlp_steps_nopython()


@job(python_tracer_level=0)
def empty():
    """nothing happens between start and stop"""
    return None, lambda: None


@job(python_tracer_level=0, host_tracer_level=2)
def small_mlp():
    """three warm steps of a small net: a profile to keep in a repository"""
    ps = mlp([32, 64, 8])
    x, y = jnp.ones((16, 32)), jnp.ones((16, 8))
    def warm():
        mlp_train_step(ps, x, y)[1].block_until_ready()
    def run():
        nonlocal ps
        for i in range(3):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                with jax.profiler.TraceAnnotation("load_batch", batch_size=16, source="numpy", ratio=0.25):
                    batch = x + i
                ps, l = mlp_train_step(ps, batch, y)
                l.block_until_ready()
    return warm, run


@job()
def conv_train():
    k = jax.random.PRNGKey(1)
    ws = [jax.random.normal(k, (3, 3, i, o)) * .1 for i, o in [(3, 16), (16, 32), (32, 32)]]
    x, y = jnp.ones((8, 32, 32, 3)), jnp.zeros((8,), jnp.int32)
    @jax.jit
    def conv_train_step(ws, x, y):
        def loss(ws):
            h = x
            for w in ws:
                with jax.named_scope("conv_block"):
                    h = jax.nn.relu(lax.conv_general_dilated(h, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
            lg = h.mean((1, 2))
            return -jnp.take_along_axis(jax.nn.log_softmax(lg), y[:, None], 1).mean()
        l, g = jax.value_and_grad(loss)(ws)
        return [w - .1 * d for w, d in zip(ws, g)], l
    def run():
        nonlocal ws
        for i in range(5):
            with jax.profiler.StepTraceAnnotation("conv_train", step_num=i):
                ws, l = conv_train_step(ws, x, y)
        l.block_until_ready()
    return (lambda: conv_train_step(ws, x, y)[1].block_until_ready()), run


def transformer(D=128, H=4, T=64, V=512, L=4):
    ks = jax.random.split(jax.random.PRNGKey(2), 8)
    n = lambda k, *s: jax.random.normal(k, s) * s[-2] ** -0.5
    p = dict(emb=n(ks[0], V, D), qkv=n(ks[1], L, D, 3 * D), o=n(ks[2], L, D, D), up=n(ks[3], L, D, 4 * D), dn=n(ks[4], L, 4 * D, D))
    def fwd(p, tok):
        x = p["emb"][tok]
        B = tok.shape[0]
        def layer(x, w):
            with jax.named_scope("attn"):
                q, k, v = jnp.split(x @ w["qkv"], 3, -1)
                q, k, v = (a.reshape(B, -1, H, D // H) for a in (q, k, v))
                s = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (D // H) ** -.5
                s = jnp.where(jnp.tril(jnp.ones((s.shape[-1],) * 2, bool)), s, -1e9)
                x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s), v).reshape(B, -1, D) @ w["o"]
            with jax.named_scope("ffn"):
                return x + jax.nn.gelu(x @ w["up"]) @ w["dn"], None
        blk = {k: p[k] for k in ("qkv", "o", "up", "dn")}
        x, _ = lax.scan(layer, x, blk)
        return x @ p["emb"].T
    @jax.jit
    def transformer_train_step(p, tok):
        def loss(p):
            lg = jax.nn.log_softmax(fwd(p, tok[:, :-1]))
            return -jnp.take_along_axis(lg, tok[:, 1:, None], 2).mean()
        l, g = jax.value_and_grad(loss)(p)
        return jax.tree_util.tree_map(lambda a, b: a - .1 * b, p, g), l
    return p, transformer_train_step, fwd, V, T


@job()
def transformer_annotated():
    """nested annotations with metadata of several types; data step, checkpoint-like host work"""
    p, step, fwd, V, T = transformer()
    rng = np.random.default_rng(0)
    infer = jax.jit(fwd)
    def run():
        nonlocal p
        for i in range(6):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                with jax.profiler.TraceAnnotation("load_batch", batch_size=4, source="numpy", ratio=0.25, last=(i == 5)):
                    tok = jnp.asarray(rng.integers(0, V, (4, T + 1)))
                p, l = step(p, tok)
                with jax.profiler.TraceAnnotation("log", step=i):
                    float(l)
        with jax.profiler.TraceAnnotation("eval", text="caf\u00e9 \u65e5\u672c <&>\"'"):
            with jax.profiler.TraceAnnotation("inner#k1=v1,k2=2#"):
                infer(p, tok[:, :-1]).block_until_ready()
        @jax.profiler.annotate_function
        def decorated(x): return jnp.sort(x).block_until_ready()
        decorated(jnp.arange(1000.)[::-1])
    return None, run


@job(python_tracer_level=0)
def multi_device():
    """four host devices: sharded jit, psum, all-gather, reduce-scatter, all-to-all, ppermute"""
    m = Mesh(np.array(jax.devices()), ("d",))
    sh = NamedSharding(m, P("d"))
    def coll(x, w):
        h = jnp.tanh(x @ w)
        s = lax.psum(h, "d")
        g = lax.all_gather(h, "d", tiled=True)
        r = lax.psum_scatter(g, "d", tiled=True)
        a = lax.all_to_all(h, "d", 1, 0, tiled=True)
        q = lax.ppermute(h, "d", [(i, (i + 1) % 4) for i in range(4)])
        return s, r + h + q, a, lax.pmax(h.max(), "d")
    kw = {}
    try:
        f = shard_map(coll, mesh=m, in_specs=(P("d"), P()), out_specs=(P(), P("d"), P("d"), P()), check_vma=False)
    except TypeError:
        f = shard_map(coll, mesh=m, in_specs=(P("d"), P()), out_specs=(P(), P("d"), P("d"), P()), check_rep=False)
    collectives = jax.jit(f)
    x = jax.device_put(jnp.ones((64, 64)), sh); w = jax.device_put(jnp.ones((64, 64)), NamedSharding(m, P()))
    tp = jax.jit(lambda a, b: a @ b, in_shardings=(NamedSharding(m, P(None, "d")), NamedSharding(m, P("d", None))), out_shardings=NamedSharding(m, P()))
    def step():
        o = collectives(x, w); jax.block_until_ready(o); jax.block_until_ready(tp(jnp.ones((32, 64)), jnp.ones((64, 32))))
    def run():
        for i in range(5):
            with jax.profiler.StepTraceAnnotation("spmd", step_num=i):
                step()
    return step, run


@job(python_tracer_level=0)
def pmap_steps():
    f = jax.pmap(lambda x: lax.pmean(jnp.sin(x) @ x.T, "i"), axis_name="i")
    x = jnp.ones((4, 32, 32))
    def run():
        for i in range(4):
            with jax.profiler.StepTraceAnnotation("pmap_step", step_num=i):
                f(x).block_until_ready()
    return (lambda: f(x).block_until_ready()), run


@job()
def eager_and_recompile():
    """many tiny jit modules, one compile for each new shape, eager ops, nested jit, callbacks"""
    @jax.jit
    def inner(x): return jnp.sin(x) + 1
    @jax.jit
    def outer(x): return inner(inner(x)).sum()
    def cb(x): time.sleep(.001); return np.asarray(x) * 2
    @jax.jit
    def with_callback(x): return jax.pure_callback(cb, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    def run():
        for n in (3, 5, 8, 13, 21):
            x = jnp.arange(n, dtype=jnp.float32)
            outer(x); (x * 2 + 1).mean(); jnp.linalg.norm(x); jnp.sort(x); with_callback(x)
            jnp.fft.fft(x); jnp.cumsum(x)
        jax.random.normal(jax.random.PRNGKey(0), (100,)).block_until_ready()
    return None, run


@job(python_tracer_level=0)
def inference_loop():
    """while loop and dynamic-update-slice (KV cache), no steps marked"""
    B, S, D = 2, 64, 64
    w = jnp.ones((D, D)) * .01
    @jax.jit
    def generate(x, cache):
        def body(c):
            i, x, cache = c
            cache = lax.dynamic_update_slice(cache, (x @ w)[:, None], (0, i, 0))
            a = jax.nn.softmax(jnp.einsum("bd,bsd->bs", x, cache))
            return i + 1, jnp.einsum("bs,bsd->bd", a, cache), cache
        return lax.while_loop(lambda c: c[0] < S, body, (0, x, cache))
    x, cache = jnp.ones((B, D)), jnp.zeros((B, S, D))
    def run():
        for _ in range(10):
            jax.block_until_ready(generate(x, cache))
    return (lambda: jax.block_until_ready(generate(x, cache))), run


@job()
def threads():
    """several Python threads at once: many lines, overlapping spans"""
    import threading
    f = jax.jit(lambda x: (x @ x).sum())
    x = jnp.ones((256, 256))
    def work(n):
        for i in range(6):
            with jax.profiler.TraceAnnotation(f"worker_{n}", it=i):
                f(x).block_until_ready()
    def run():
        ts = [threading.Thread(target=work, args=(n,), name=f"feeder-{n}") for n in range(6)]
        [t.start() for t in ts]; [t.join() for t in ts]
    return (lambda: f(x).block_until_ready()), run


def long_run(seconds):
    p, step, fwd, V, T = transformer(D=64, T=32, L=2)
    rng = np.random.default_rng(0)
    def run():
        nonlocal p
        t, i = time.time(), 0
        while time.time() - t < seconds:
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                with jax.profiler.TraceAnnotation("load_batch", batch=i):
                    tok = jnp.asarray(rng.integers(0, V, (2, T + 1)))
                p, l = step(p, tok)
                l.block_until_ready()
            i += 1
    return (lambda: step(p, jnp.zeros((2, T + 1), jnp.int32))[1].block_until_ready()), run


@job()
def long_2s(): return long_run(2)

@job()
def long_6s(): return long_run(6)

@job()
def long_20s(): return long_run(20)


def options(opts):
    PO = getattr(jax.profiler, "ProfileOptions", None)
    if PO is None:
        from jax._src.lib import xla_client
        PO = getattr(xla_client.profiler, "ProfileOptions", None)
    if PO is None:
        return None
    o = PO()
    for k, v in opts.items():
        setattr(o, k, v)
    return o


def record(out, name):
    """Runs one program under the profiler and keeps its profile."""
    fn, opts = JOBS[name]
    warm, run = fn()
    if warm:
        warm()
    folder = tempfile.mkdtemp(prefix="jaxprof_")
    kw = {"profiler_options": options(opts)} if opts and hasattr(jax.profiler, "ProfileOptions") else {}
    try:
        jax.profiler.start_trace(folder, **kw)
    except TypeError:
        jax.profiler.start_trace(folder)
    run()
    jax.profiler.stop_trace()
    target = os.path.join(out, name, "plugins/profile/run1")
    os.makedirs(target, exist_ok=True)
    shutil.copy(glob.glob(f"{folder}/plugins/profile/*/*.xplane.pb")[0], os.path.join(target, "localhost.xplane.pb"))
    shutil.rmtree(folder)
    print("recorded", name, opts, flush=True)


if __name__ == "__main__":
    for job_name in sys.argv[2:] or JOBS:
        record(sys.argv[1], job_name)
