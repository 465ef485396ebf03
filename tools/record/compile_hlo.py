"""Compiles small and large JAX programs for chips that are not present and keeps the
optimized HLO, with buffer assignment, as <module>.hlo_proto.pb.

    compile_hlo.py TOPOLOGY OUT_DIR [MODULE ...]

TPU: compile_hlo.py v6e:2x2 out/v6e      needs jax, libtpu, optax from PyPI
GPU: compile_hlo.py gpu:h100 out/h100    needs jax, jax-cuda12-plugin, jax-cuda12-pjrt, optax;
       reads gpu_h100.txtpb beside this file. Without ptxas the compile stops with an error
       after the HLO is written, which is enough.
CPU: compile_hlo.py cpu out/cpu          needs jax, optax

No accelerator is needed. One child process per module: the dump directory is an XLA flag
and is read once.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

CHILD = os.environ.get("TPU_HLO_CHILD")
if CHILD:
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={os.environ['TPU_HLO_DUMP']} --xla_dump_hlo_as_proto=true --xla_force_host_platform_device_count=4"
    if sys.argv[1].startswith("gpu:"): os.environ["XLA_FLAGS"] += " --xla_gpu_autotune_level=0"
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"  # parent and child both load libtpu
os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import optax
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no machine paths in the HLO
from jax import lax
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

TOPO, OUT = sys.argv[1], sys.argv[2]
ONLY = set(sys.argv[3:])
if TOPO.startswith("gpu:"):
    import jax_plugins.xla_cuda12
    try:
        jax_plugins.xla_cuda12.initialize()
    except Exception as e:
        if "ALREADY_EXISTS" not in str(e):
            raise
    cfg = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), f"gpu_{TOPO[4:]}.txtpb")).read()
    DEV = topologies.get_topology_desc(platform="cuda", topology_name="", target_config=cfg, topology="1x1x4").devices
elif TOPO == "cpu":
    DEV = jax.devices()
else:
    DEV = topologies.get_topology_desc(platform="tpu", topology_name=TOPO).devices
KIND = DEV[0].device_kind
os.makedirs(OUT, exist_ok=True)


def mesh(shape, names):
    n = int(np.prod(shape))
    return Mesh(np.array(DEV[:n]).reshape(shape), names)


ONE = mesh((1,), ("x",))


def rep(m=ONE, spec=P()):
    return NamedSharding(m, spec)


def sds(shape, dtype, sh=None):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sh or rep())


def like(tree, sh=None):
    """abstract pytree -> same pytree, placed with sharding `sh` (one, or a pytree)."""
    if sh is None or isinstance(sh, NamedSharding):
        return jax.tree.map(lambda a: sds(a.shape, a.dtype, sh), tree)
    return jax.tree.map(lambda a, s: sds(a.shape, a.dtype, s), tree, sh)


def dense(key, i, o, dt=jnp.bfloat16):
    return jax.random.normal(key, (i, o), dt) * (i ** -0.5)


def rms(x, g):
    v = x.astype(jnp.float32)
    return (v * lax.rsqrt(jnp.mean(v * v, -1, keepdims=True) + 1e-6)).astype(x.dtype) * g


def layernorm(x, g, b):
    v = x.astype(jnp.float32)
    m = v.mean(-1, keepdims=True)
    s = jnp.square(v - m).mean(-1, keepdims=True)
    return ((v - m) * lax.rsqrt(s + 1e-5)).astype(x.dtype) * g + b


def attention(x, w, heads, causal):
    b, t, d = x.shape
    with jax.named_scope("attention"):
        q, k, v = jnp.split(x @ w["qkv"], 3, -1)
        q, k, v = (a.reshape(b, t, heads, d // heads) for a in (q, k, v))
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * (d // heads) ** -0.5
        if causal:
            s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -1e30)
        p = jax.nn.softmax(s, -1).astype(x.dtype)
        return jnp.einsum("bhqk,bkhd->bqhd", p, v).reshape(b, t, d) @ w["proj"]


def block(x, w, heads, causal):
    x = x + attention(layernorm(x, w["g1"], w["b1"]), w, heads, causal)
    with jax.named_scope("mlp"):
        h = jax.nn.gelu(layernorm(x, w["g2"], w["b2"]) @ w["up"])
        return x + h @ w["down"]


def block_params(key, d):
    k = jax.random.split(key, 4)
    o, z = jnp.ones(d, jnp.bfloat16), jnp.zeros(d, jnp.bfloat16)
    return dict(qkv=dense(k[0], d, 3 * d), proj=dense(k[1], d, d), up=dense(k[2], d, 4 * d),
                down=dense(k[3], 4 * d, d), g1=o, b1=z, g2=o, b2=z)


MODULES = {}


def module(fn):
    MODULES[fn.__name__] = fn
    return fn


# ---- tiny ---------------------------------------------------------------
@module
def add():
    def add_f32(x, y): return x + y
    return jax.jit(add_f32), (sds((8, 128), jnp.float32),) * 2

@module
def convert():
    def convert_f32_bf16(x): return x.astype(jnp.bfloat16)
    return jax.jit(convert_f32_bf16), (sds((1024,), jnp.float32),)

@module
def matmul_tanh():
    def matmul_tanh(x, w): return jnp.tanh(x @ w).sum(-1)
    return jax.jit(matmul_tanh), (sds((4096, 4096), jnp.bfloat16), sds((4096, 4096), jnp.bfloat16))

@module
def constants():
    table = np.arange(4096, dtype=np.float32).reshape(64, 64)
    def with_constants(x): return x @ jnp.asarray(table) + jnp.asarray([1., np.inf, np.nan, -0.] * 16)
    return jax.jit(with_constants), (sds((64, 64), jnp.float32),)

# ---- medium -------------------------------------------------------------
@module
def mlp_sgd():
    dims = [784, 2048, 2048, 10]
    def loss(ps, x, y):
        for i, (w, b) in enumerate(ps):
            x = x @ w + b
            if i < 2: x = jax.nn.relu(x)
        return optax.softmax_cross_entropy_with_integer_labels(x, y).mean()
    def mlp_train_step(ps, x, y):
        l, g = jax.value_and_grad(loss)(ps, x, y)
        return jax.tree.map(lambda p, d: p - 0.1 * d, ps, g), l
    ps = [(sds((i, o), jnp.float32), sds((o,), jnp.float32)) for i, o in zip(dims, dims[1:])]
    return jax.jit(mlp_train_step, donate_argnums=0), (ps, sds((512, 784), jnp.float32), sds((512,), jnp.int32))

@module
def conv_train():
    chans = [(3, 64, 2), (64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
    def conv(x, w, s): return lax.conv_general_dilated(x, w, (s, s), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    def net(ps, x):
        for (w1, w2, sc, bi), (_, _, s) in zip(ps["conv"], chans):
            h = conv(x, w1, s).astype(jnp.float32)
            mu, va = h.mean((0, 1, 2)), h.var((0, 1, 2))
            h = jax.nn.relu((h - mu) * lax.rsqrt(va + 1e-5) * sc + bi).astype(jnp.bfloat16)
            x = h + conv(h, w2, 1)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return x.astype(jnp.float32).mean((1, 2)) @ ps["fc"]
    def loss(ps, x, y): return optax.softmax_cross_entropy_with_integer_labels(net(ps, x), y).mean()
    opt = optax.sgd(0.1, momentum=0.9)
    def resnet_train_step(ps, st, x, y):
        l, g = jax.value_and_grad(loss)(ps, x, y)
        u, st = opt.update(g, st, ps)
        return optax.apply_updates(ps, u), st, l
    ps = {"conv": [(sds((3, 3, i, o), jnp.bfloat16), sds((3, 3, o, o), jnp.bfloat16), sds((o,), jnp.float32), sds((o,), jnp.float32)) for i, o, _ in chans],
          "fc": sds((512, 1000), jnp.float32)}
    st = like(jax.eval_shape(opt.init, ps))
    return jax.jit(resnet_train_step, donate_argnums=(0, 1)), (ps, st, sds((16, 64, 64, 3), jnp.bfloat16), sds((16,), jnp.int32))

@module
def mixed_ops():
    def mixed_ops(x, idx, key):
        with jax.named_scope("sort_and_topk"):
            v, i = lax.top_k(x, 16)
            s = jnp.sort(x, axis=-1)
        with jax.named_scope("gather_scatter"):
            g = x[idx]
            z = jnp.zeros_like(x).at[idx].add(g)
        with jax.named_scope("fft"):
            f = jnp.abs(jnp.fft.rfft(x[:64, :256]))
        with jax.named_scope("rng"):
            r = jax.random.normal(key, x.shape)
        with jax.named_scope("control"):
            c = lax.cond(x[0, 0] > 0, lambda a: jnp.sin(a), lambda a: jnp.cumsum(a, 0), x)
            w = lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * 0.5 + jnp.tanh(c[1])), (0, x))[1]
        q = (x * 16).astype(jnp.int8)
        i8 = lax.dot(q, q.T, preferred_element_type=jnp.int32)
        chol = jnp.linalg.cholesky(x[:128, :128] @ x[:128, :128].T + jnp.eye(128))
        return v, i, s, z, f, r + c + w, i8, chol, jnp.pad(x, ((1, 2), (0, 3))), lax.rev(x, (0,))
    k = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0)))
    def f(x, idx, kd): return mixed_ops(x, idx, jax.random.wrap_key_data(kd))
    f.__name__ = "mixed_ops"
    return jax.jit(f), (sds((512, 512), jnp.float32), sds((256,), jnp.int32), sds(k.shape, k.dtype))

@module
def quantized():
    def quantized_dense(x, w8, scale, w4):
        y = lax.dot(x.astype(jnp.int8), w8, preferred_element_type=jnp.int32).astype(jnp.float32) * scale
        z = x.astype(jnp.float8_e4m3fn).astype(jnp.bfloat16) @ w4.astype(jnp.bfloat16)
        return y + z.astype(jnp.float32)
    return jax.jit(quantized_dense), (sds((1024, 2048), jnp.bfloat16), sds((2048, 4096), jnp.int8), sds((4096,), jnp.float32), sds((2048, 4096), jnp.int4))

# ---- large --------------------------------------------------------------
def clip(layers, batch):
    V, T, E, VOC, CTX = 768, 512, 512, 49408, 77
    def init(key):
        k = jax.random.split(key, 2 * layers + 8)
        return dict(
            patch=dense(k[0], 16 * 16 * 3, V), vpos=dense(k[1], 197, V), cls=jnp.zeros(V, jnp.bfloat16),
            vis=[block_params(k[8 + i], V) for i in range(layers)], vproj=dense(k[2], V, E),
            emb=dense(k[3], VOC, T), tpos=dense(k[4], CTX, T),
            txt=[block_params(k[8 + layers + i], T) for i in range(layers)], tproj=dense(k[5], T, E),
            scale=jnp.float32(2.6))
    def forward(p, img, tok):
        b = img.shape[0]
        with jax.named_scope("vision_tower"):
            x = img.reshape(b, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 196, 768) @ p["patch"]
            x = jnp.concatenate([jnp.broadcast_to(p["cls"], (b, 1, V)), x], 1) + p["vpos"]
            for i, w in enumerate(p["vis"]):
                with jax.named_scope(f"layer_{i}"): x = block(x, w, 12, False)
            vi = x[:, 0] @ p["vproj"]
        with jax.named_scope("text_tower"):
            t = p["emb"][tok] + p["tpos"]
            for i, w in enumerate(p["txt"]):
                with jax.named_scope(f"layer_{i}"): t = block(t, w, 8, True)
            ti = t[jnp.arange(b), tok.argmax(-1)] @ p["tproj"]
        n = lambda a: a / jnp.linalg.norm(a.astype(jnp.float32), axis=-1, keepdims=True)
        return n(vi), n(ti)
    def loss(p, img, tok):
        vi, ti = forward(p, img, tok)
        with jax.named_scope("contrastive_loss"):
            lg = jnp.exp(p["scale"]) * vi @ ti.T
            y = jnp.arange(lg.shape[0])
            ce = optax.softmax_cross_entropy_with_integer_labels
            return (ce(lg, y).mean() + ce(lg.T, y).mean()) / 2
    opt = optax.adamw(1e-4)
    def clip_train_step(p, st, img, tok):
        l, g = jax.value_and_grad(loss)(p, img, tok)
        with jax.named_scope("adam"):
            u, st = opt.update(g, st, p)
            return optax.apply_updates(p, u), st, l
    p = like(jax.eval_shape(init, jax.random.key(0)))
    st = like(jax.eval_shape(opt.init, p))
    clip_train_step.__name__ = f"clip_train_step_L{layers}"
    return jax.jit(clip_train_step, donate_argnums=(0, 1)), (p, st, sds((batch, 224, 224, 3), jnp.bfloat16), sds((batch, CTX), jnp.int32))

@module
def clip_small(): return clip(2, 32)

@module
def clip_b16(): return clip(12, 128)

def llm(tp, fsdp, L=16, D=2048, H=16, F=5632, VOC=32000, B=16, S=2048, accum=1):
    m = mesh((fsdp, tp), ("fsdp", "tp"))
    spec = dict(emb=P("tp", "fsdp"), out=P("fsdp", "tp"), g=P(),
                blk=dict(qkv=P(None, "fsdp", "tp"), proj=P(None, "tp", "fsdp"), up=P(None, "fsdp", "tp"), gate=P(None, "fsdp", "tp"),
                         down=P(None, "tp", "fsdp"), g1=P(None), g2=P(None)))
    def init(key):
        k = jax.random.split(key, 8)
        st = lambda kk, i, o: jax.random.normal(kk, (L, i, o), jnp.bfloat16) * i ** -0.5
        return dict(emb=dense(k[0], VOC, D), out=dense(k[1], D, VOC), g=jnp.ones(D, jnp.bfloat16),
                    blk=dict(qkv=st(k[2], D, 3 * D), proj=st(k[3], D, D), up=st(k[4], D, F), gate=st(k[5], D, F), down=st(k[6], F, D),
                             g1=jnp.ones((L, D), jnp.bfloat16), g2=jnp.ones((L, D), jnp.bfloat16)))
    def con(x, s): return lax.with_sharding_constraint(x, NamedSharding(m, s))
    def layer(x, w):
        with jax.named_scope("decoder_layer"):
            x = con(x, P("fsdp", None, None))
            x = x + attention(rms(x, w["g1"]), w, H, True)
            h = rms(x, w["g2"])
            with jax.named_scope("mlp"):
                x = x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
            return con(x, P("fsdp", None, None)), None
    def loss(p, tok):
        x = con(p["emb"][tok[:, :-1]], P("fsdp", None, None))
        x, _ = lax.scan(jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable), x, p["blk"])
        lg = (rms(x, p["g"]) @ p["out"]).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(lg, tok[:, 1:]).mean()
    opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-4))
    def llm_train_step(p, st, tok):
        l, g = jax.value_and_grad(loss)(p, tok)
        u, st = opt.update(g, st, p)
        return optax.apply_updates(p, u), st, l
    shd = jax.tree.map(lambda s: NamedSharding(m, s), spec, is_leaf=lambda s: isinstance(s, P))
    p = like(jax.eval_shape(init, jax.random.key(0)), shd)
    r = NamedSharding(m, P())
    # adam moments are sharded like the parameters, scalars replicated
    mom = jax.eval_shape(opt.init, p)
    flat = {jax.tree_util.keystr(k): v.sharding for k, v in jax.tree_util.tree_leaves_with_path(p)}
    def place(path, a):
        ks = jax.tree_util.keystr(path)
        for k, s in flat.items():
            if ks.endswith(k) and a.ndim: return sds(a.shape, a.dtype, s)
        return sds(a.shape, a.dtype, r)
    st = jax.tree_util.tree_map_with_path(place, mom)
    llm_train_step.__name__ = f"llm_train_step_fsdp{fsdp}_tp{tp}"
    return jax.jit(llm_train_step, donate_argnums=(0, 1)), (p, st, sds((B, S + 1), jnp.int32, NamedSharding(m, P("fsdp"))))

@module
def llm_fsdp4(): return llm(1, 4)

@module
def llm_tp4(): return llm(4, 1, B=4)

@module
def llm_fsdp2_tp2(): return llm(2, 2, B=8)

@module
def llm_decode():
    L, D, H, F, VOC, B, S = 16, 2048, 16, 5632, 32000, 32, 2048
    hd = D // H
    m = mesh((min(4, len(DEV)),), ("tp",))
    r = lambda *s: NamedSharding(m, P(*s))
    blk = dict(qkv=sds((L, D, 3 * D), jnp.bfloat16, r(None, None, "tp")), proj=sds((L, D, D), jnp.bfloat16, r(None, "tp", None)),
               up=sds((L, D, F), jnp.bfloat16, r(None, None, "tp")), down=sds((L, F, D), jnp.bfloat16, r(None, "tp", None)),
               g1=sds((L, D), jnp.bfloat16, r()), g2=sds((L, D), jnp.bfloat16, r()))
    p = dict(emb=sds((VOC, D), jnp.bfloat16, r("tp")), out=sds((D, VOC), jnp.bfloat16, r(None, "tp")), blk=blk)
    cache = sds((L, 2, B, S, H, hd), jnp.bfloat16, r(None, None, None, None, "tp", None))
    def llm_decode_step(p, cache, tok, pos, kd):
        x = p["emb"][tok]
        def layer(x, wc):
            w, c = wc
            q, k, v = jnp.split(rms(x, w["g1"]) @ w["qkv"], 3, -1)
            q, k, v = (a.reshape(B, 1, H, hd) for a in (q, k, v))
            c = lax.dynamic_update_slice(c, jnp.stack([k, v]), (0, 0, pos, 0, 0))
            s = jnp.einsum("bqhd,bkhd->bhqk", q, c[0]).astype(jnp.float32) * hd ** -0.5
            s = jnp.where(jnp.arange(S) <= pos, s, -1e30)
            o = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1).astype(x.dtype), c[1]).reshape(B, D)
            x = x + o @ w["proj"]
            return x + jax.nn.silu(rms(x, w["g2"]) @ w["up"]) @ w["down"], c
        x, cache = lax.scan(layer, x, (p["blk"], cache))
        lg = (x @ p["out"]).astype(jnp.float32)
        v, i = lax.top_k(lg, 40)
        c = jax.random.categorical(jax.random.wrap_key_data(kd), v / 0.7)
        return jnp.take_along_axis(i, c[:, None], 1)[:, 0], cache
    return jax.jit(llm_decode_step, donate_argnums=1), (p, cache, sds((B,), jnp.int32, r()), sds((), jnp.int32, r()), sds((2,), jnp.uint32, r()))

@module
def moe_all_to_all():
    n = min(4, len(DEV))
    m = mesh((n,), ("ep",))
    E, C, D, F = n * 2, 512, 1024, 4096
    def moe_layer(x, wg, w1, w2):
        g = jax.nn.softmax((x @ wg).astype(jnp.float32))
        pr, ex = lax.top_k(g, 2)
        disp = jax.nn.one_hot(ex[:, 0], E, dtype=x.dtype)
        b = jnp.einsum("td,te->etd", x, disp)[:, :C]
        b = lax.all_to_all(b, "ep", 0, 1, tiled=True)
        h = jax.nn.gelu(jnp.einsum("etd,edf->etf", b, w1))
        o = lax.all_to_all(jnp.einsum("etf,efd->etd", h, w2), "ep", 1, 0, tiled=True)
        y = jnp.einsum("etd,te->td", o, disp[:C]) * pr[:C, :1].astype(x.dtype)
        y = lax.ppermute(y, "ep", [(i, (i + 1) % n) for i in range(n)])
        return lax.psum(y, "ep"), lax.psum_scatter(y, "ep", tiled=True), lax.all_gather(y, "ep")
    f = jax.shard_map(moe_layer, mesh=m, in_specs=(P("ep"), P(), P("ep"), P("ep")), out_specs=(P(), P("ep"), P("ep")), check_vma=False)
    def moe_layer_(*a): return f(*a)
    moe_layer_.__name__ = "moe_all_to_all"
    s = lambda *p: NamedSharding(m, P(*p))
    return jax.jit(moe_layer_), (sds((2048 * n, D), jnp.bfloat16, s("ep")), sds((D, E), jnp.bfloat16, s()), sds((E, D, F), jnp.bfloat16, s("ep")), sds((E, F, D), jnp.bfloat16, s("ep")))

@module
def pallas_matmul():
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu
    def kernel(x, y, o, acc):
        @pl.when(pl.program_id(2) == 0)
        def _(): acc[...] = jnp.zeros_like(acc)
        acc[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)
        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _(): o[...] = jax.nn.gelu(acc[...]).astype(o.dtype)
    def pallas_matmul(x, y):
        M, K, N = 2048, 2048, 2048
        z = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((M, N), jnp.bfloat16), grid=(4, 4, 4),
            in_specs=[pl.BlockSpec((512, 512), lambda i, j, k: (i, k)), pl.BlockSpec((512, 512), lambda i, j, k: (k, j))],
            out_specs=pl.BlockSpec((512, 512), lambda i, j, k: (i, j)), scratch_shapes=[pltpu.VMEM((512, 512), jnp.float32)],
            cost_estimate=pl.CostEstimate(flops=2 * M * N * K, bytes_accessed=3 * M * N * 2, transcendentals=M * N), name="fused_matmul_gelu")(x, y)
        return z + x
    return jax.jit(pallas_matmul), (sds((2048, 2048), jnp.bfloat16),) * 2

@module
def pallas_flash():
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention
    def pallas_flash_train(q, k, v):
        return jax.value_and_grad(lambda q, k, v: flash_attention(q, k, v, causal=True).astype(jnp.float32).sum(), argnums=(0, 1, 2))(q, k, v)
    return jax.jit(pallas_flash_train), (sds((4, 8, 1024, 128), jnp.bfloat16),) * 3

@module
def host_offload():
    d = rep(); h = d.with_memory_kind("pinned_host")
    def host_offload(x, w):
        y = jnp.tanh(x @ w)
        p = jax.device_put(y, h)
        z = jnp.sin(y @ w)
        return jax.device_put(p, d) + z, jax.device_put(z, h)
    return jax.jit(host_offload, out_shardings=(d, h)), (sds((2048, 2048), jnp.bfloat16),) * 2


def compile_here(name):
    jf, args = MODULES[name]()
    print(f"NAME jit_{jf.__name__}", flush=True)
    jf.lower(*args).compile()


def run_child(name):
    """Compile in a child process. The HLO with its buffer assignment is written before the
    slow code generation starts, so the child is stopped as soon as that file is complete."""
    dump = tempfile.mkdtemp(prefix="tpu_hlo_dump_")
    env = dict(os.environ, TPU_HLO_CHILD=name, TPU_HLO_DUMP=dump)
    log = os.path.join(dump, "child.log")
    t = time.time()
    with open(log, "w") as lf:
        ch = subprocess.Popen([sys.executable, __file__, TOPO, OUT], env=env, stdout=lf, stderr=subprocess.STDOUT)
    try:
        size, stable = -1, 0
        while time.time() - t < 900:
            rc = ch.poll()
            name_line = [l for l in open(log, errors="replace") if l.startswith("NAME ")]
            want = "." + (name_line[0].split()[1] if name_line else "none") + "."
            fs = sorted((f for f in glob.glob(f"{dump}/*after_optimizations.hlo.pb") if want in os.path.basename(f)), key=os.path.getsize)
            if rc is not None: break
            # this later dump file marks the HLO file as complete
            if fs and glob.glob(f"{dump}/*.after_optimizations_after_buffer_assignment.hlo.pb"):
                n = os.path.getsize(fs[-1])
                stable = stable + 1 if n == size else 0
                size = n
                if stable >= 6: break
            time.sleep(0.5)
        if not fs:
            text = " ".join(open(log, errors="replace").read().split())
            at = max(text.rfind("Error:"), 0)
            return f"FAIL {TOPO} [{KIND}] {name}: rc={rc} " + text[at:at + 500]
        m = os.path.basename(fs[-1]).split(".")[1]
        dst = os.path.join(OUT, m + ".hlo_proto.pb")
        shutil.copy(fs[-1], dst)
        return f"OK {TOPO} [{KIND}] {name} {m} {os.path.getsize(dst)} bytes {time.time()-t:.0f}s"
    finally:
        if ch.poll() is None: ch.kill()
        ch.wait()
        shutil.rmtree(dump, ignore_errors=True)


if CHILD:
    compile_here(CHILD)
else:
    for name in MODULES:
        if ONLY and name not in ONLY: continue
        print(run_child(name), flush=True)
