"""A training or serving step made of random layers, as HLO and as a tree of what runs."""
from .hlo import Comp, Module, scalar_literal, Shape, tup
from .wire import f_bytes, f_int, f_int0, f_packed

SOURCES = [('/app/clip/train.py', 'train_step'), ('/app/clip/model.py', '__call__'),
           ('/app/clip/layers.py', 'attention'), ('/app/clip/layers.py', 'mlp'),
           ('/app/clip/loss.py', 'contrastive_loss'), ('/app/clip/optim.py', 'apply_updates'),
           ('/usr/lib/python3/site-packages/flax/linen/normalization.py', 'layer_norm')]


class ModelBuilder:
    """Builds a training (or serving) step out of random layers, as HLO and as a tree of
    what runs: nodes are ('op', instr) or ('loop', instr, trip, [nodes])."""

    def __init__(self, rng, name, program_id, target, peaks, devices_total, cfg=None):
        self.rng, self.target = rng, target          # target: 'tpu' or 'gpu'
        self.m = Module(name, int(program_id & 0x7fffffff), tiled=target == 'tpu')
        self.m.program_id = program_id
        self.tflops, self.hbm = peaks
        self.ndev = max(1, devices_total)
        self.cfg = cfg or {}
        base = self.m.frame('/app/clip/train.py', '<module>', 412, 2)
        top = self.m.frame('/app/clip/train.py', 'main', 377, 6, base)
        self.fr = [self.m.frame(f, fn, int(self.rng.integers(20, 400)), int(self.rng.integers(4, 40)), top)
                   for f, fn in SOURCES for _ in range(3)]
        self.add_comp = {}
        self.prefix = self.cfg.get('prefix', 'jit(%s)/jit(main)' % name.replace('jit_', ''))
        self.channel = 0
        self.coll_ids = 0
        self.sparse = []        # ops offloaded to the sparse core

    # -- helpers ------------------------------------------------------------
    def meta(self, i, scope, op, src=None):
        r = self.rng
        i.op_name = '%s/%s/%s' % (self.prefix, scope, op) if scope else '%s/%s' % (self.prefix, op)
        i.op_type = op
        f = self.fr[int(r.integers(len(self.fr)))]
        i.frame = f
        i.src, _, i.line = self.m.frames[f - 1][:3]
        return i

    def cost(self, i, category, flops, nbytes, eff=None):
        r = self.rng
        i.category, i.flops, i.model_flops, i.bytes = category, int(flops), int(flops), int(nbytes)
        t = max(flops / (self.tflops * 1e12), nbytes / (self.hbm * 1e9))
        e = eff if eff else float(r.uniform(0.35, 0.85))
        i.base_ps = int(max(350_000, t / e * 1e12) * float(r.uniform(0.9, 1.15)))
        hb = int(nbytes * 0.8)
        vm = int(nbytes * (0.2 + 1.1 * r.random()))
        i.breakdown = (f_bytes(1, f_int(1, 1) + f_int(2, 1) + f_int(3, hb // 2))
                       + f_bytes(1, f_int(1, 2) + f_int(2, 1) + f_int(3, hb - hb // 2))
                       + f_bytes(1, f_int(1, 1) + f_int(2, 3) + f_int(3, vm)))
        return i

    def add_fn(self, dt):
        c = self.add_comp.get(dt)
        if c is None:
            c = self.m.comp('region_0')
            a = c.param(0, self.m.sh(dt), 'Arg_0')
            b = c.param(1, self.m.sh(dt), 'Arg_1')
            c.add('add', self.m.sh(dt), [a, b])
            self.add_comp[dt] = c
        return c

    def fused(self, shapes, out, kind, ew=('multiply', 'add')):
        """A fused computation over parameters of these shapes that gives `out`."""
        c = self.m.comp('fused_computation', True)
        ps = [c.param(k, s, 'param_%d' % k) for k, s in enumerate(shapes)]
        same = [p for p in ps if p.shape.dims == out.dims and p.shape.dt == out.dt]
        if not same:
            z = c.add('constant', self.m.sh(out.dt), extra=scalar_literal(self.m.sh(out.dt), 1) if out.dt in
                      ('f32', 'bf16', 's32', 'u32') else b'', attrs='1')
            same = [c.add('broadcast', out, [z], attrs='dimensions={}')]
        x = same[0]
        for k, op in enumerate(ew):
            y = same[(k + 1) % len(same)]
            if op in ('tanh', 'exponential', 'negate', 'rsqrt', 'log', 'copy'):
                x = c.add(op, out, [x])
            else:
                x = c.add(op, out, [x, y])
        return c

    def out_shape(self, big=False):
        r = self.rng
        d = [256, 512, 768, 1024, 2048, 3072, 4096]
        a = int(d[int(r.integers(2, 7))]) * (4 if big else 1)
        b = int(d[int(r.integers(1, 7))])
        dt = 'bf16' if r.random() < 0.75 else 'f32'
        if r.random() < 0.35:
            return self.m.sh(dt, int(r.choice([8, 16, 32, 64])), a, b // 4)
        return self.m.sh(dt, a, b)

    def loop_fusion(self, c, pool, scope):
        r = self.rng
        out = self.out_shape()
        ins = [pool[int(r.integers(len(pool)))] for _ in range(int(r.integers(1, 4)))]
        ew = [str(x) for x in r.choice(['add', 'multiply', 'subtract', 'maximum', 'tanh', 'exponential', 'negate'],
                                       int(r.integers(2, 7)))]
        f = self.fused([i.shape for i in ins], out, 'kLoop', ew)
        nm = {'add': 'add', 'multiply': 'multiply', 'tanh': 'tanh'}.get(ew[-1], 'loop')
        base = 'fusion' if r.random() < 0.6 else '%s_%s_fusion' % (ew[0], nm)
        if self.target == 'gpu':
            base = 'loop_%s_fusion' % ew[-1]
        i = c.add('fusion', out, ins, base, called=[f], kind='kLoop')
        self.meta(i, scope, str(r.choice(['add', 'mul', 'tanh', 'exp', 'convert_element_type', 'select_n', 'integer_pow'])))
        self.cost(i, 'loop fusion', out.count * len(ew), out.size + sum(x.shape.size for x in ins) // 2)
        if r.random() < 0.3:
            i.dedup = 'fusion.%d' % int(r.integers(1, 60))
        return i

    def reduce_fusion(self, c, pool, scope):
        r = self.rng
        big = self.out_shape()
        src = pool[int(r.integers(len(pool)))]
        out = self.m.sh('f32', big.dims[0])
        add = self.add_fn('f32')          # callees come first in the module
        f = self.m.comp('fused_computation', True)
        f.param(0, src.shape, 'param_0')
        z = f.add('constant', self.m.sh('f32'), extra=scalar_literal(self.m.sh('f32'), 0), attrs='0')
        b = f.add('broadcast', self.m.sh('f32', *big.dims), [z], attrs='dimensions={}')
        f.add('reduce', out, [b, z], called=[add],
              extra=f_packed(14, range(1, len(big.dims))), attrs='dimensions={%s}' % ','.join(
                  str(x) for x in range(1, len(big.dims))))
        i = c.add('fusion', out, [src], 'reduce_fusion' if self.target == 'tpu' else 'input_reduce_fusion',
                  called=[f], kind='kInput')
        self.meta(i, scope, 'reduce_sum')
        self.cost(i, 'input fusion' if self.target == 'gpu' else 'loop fusion', big.count, big.size)
        return i

    def matmul(self, c, pool, scope, op='dot_general', big=False):
        r = self.rng
        m = int(r.choice([1024, 2048, 4096, 8192]))
        k = int(r.choice([512, 768, 1024, 2048]))
        n = int(r.choice([768, 1024, 3072, 4096]))
        dt = 'bf16' if r.random() < 0.9 else 'f32'
        a, b = self.m.sh(dt, m, k), self.m.sh(dt, k, n)
        out = self.m.sh(dt, m, n)
        ins = [pool[int(r.integers(len(pool)))] for _ in range(2)]
        fl = 2.0 * m * n * k
        nb = a.size + b.size + out.size
        if self.target == 'gpu' and r.random() < 0.6:
            ga = c.add('bitcast', a, [ins[0]])
            gb = c.add('bitcast', b, [ins[1]])
            i = c.add('custom-call', tup(out, self.m.sh('s8', 4194304)), [ga, gb], 'cublas-gemm', target='__cublas$gemm',
                      extra=f_bytes(43, '{"gemm_backend_config":{"alpha_real":1,"beta":0,"dot_dimension_numbers":'
                                    '{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],'
                                    '"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]},"selected_algorithm":"%d"}}'
                                    % int(r.integers(0, 60))))
            g = c.add('get-tuple-element', out, [i], extra=f_int0(13, 0), attrs='index=0')
            self.meta(i, scope, op)
            self.cost(i, 'custom-call', fl, nb, float(r.uniform(0.4, 0.75)))
            i.pair = g
            return i
        f = self.m.comp('fused_computation', True)
        pa = f.param(0, ins[0].shape, 'param_0')
        pb = f.param(1, ins[1].shape, 'param_1')
        ba = f.add('bitcast' if ins[0].shape.size == a.size else 'custom-call', a, [pa],
                   'bitcast' if ins[0].shape.size == a.size else 'pad-maximum',
                   target=None if ins[0].shape.size == a.size else 'AssumeGatherIndicesInBound')
        bb = f.add('bitcast' if ins[1].shape.size == b.size else 'custom-call', b, [pb],
                   'bitcast' if ins[1].shape.size == b.size else 'pad-maximum',
                   target=None if ins[1].shape.size == b.size else 'AssumeGatherIndicesInBound')
        if self.target == 'tpu':
            dn = (f_int(3, 0) + f_int(4, 1) + f_int(7, 0) + f_int(8, 1) + f_int(9, 0) + f_int(10, 1))
            d = f.add('convolution', out, [ba, bb], 'convolution', extra=f_bytes(15, b'') + f_bytes(16, dn)
                      + f_int(50, 1) + f_int(58, 1), attrs='dim_labels=bf_io->bf')
        else:
            d = f.add('dot', out, [ba, bb], extra=f_bytes(30, f_packed(1, [1]) + f_packed(2, [0])),
                      attrs='lhs_contracting_dims={1}, rhs_contracting_dims={0}')
        self.meta(d, scope, op)
        if r.random() < 0.6:
            d = f.add('add', out, [d, d])
            if r.random() < 0.5:
                d = f.add('tanh', out, [d])
        i = c.add('fusion', out, ins, ('convolution_add_fusion' if r.random() < 0.4 else 'fusion') if self.target == 'tpu'
                  else 'gemm_fusion_dot', called=[f], kind='kOutput' if self.target == 'tpu' else 'kCustom')
        self.meta(i, scope, op)
        self.cost(i, 'convolution fusion' if self.target == 'tpu' else 'custom fusion', fl, nb, float(r.uniform(0.4, 0.8)))
        return i

    def copy(self, c, pool, scope):
        src = pool[int(self.rng.integers(len(pool)))]
        i = c.add('copy', src.shape, [src])
        self.meta(i, scope, 'transpose')
        return self.cost(i, 'data formatting' if self.rng.random() < 0.6 else 'copy', 0, 2 * max(src.shape.size, 1024))

    def async_copy(self, c, pool, scope, host=False):
        src = pool[int(self.rng.integers(len(pool)))]
        dst = src.shape.at(5 if host else 1)
        st = c.add('copy-start', tup(dst, src.shape, self.m.sh('u32', space=2)), [src])
        self.meta(st, scope, 'copy')
        self.cost(st, 'copy-start', 0, src.shape.size)
        st.base_ps = int(self.rng.integers(60_000, 400_000))
        dn = c.add('copy-done', dst, [st])
        self.meta(dn, scope, 'copy')
        self.cost(dn, 'copy-done', 0, src.shape.size)
        dn.base_ps = int(self.rng.integers(20_000, 2_000_000))
        st.pair, dn.pair = dn, st
        return st, dn

    def groups(self):
        return [list(range(self.ndev))]

    def collective(self, c, pool, scope, op='all-reduce', start=False):
        r = self.rng
        src = pool[int(r.integers(len(pool)))]
        self.channel += 1
        k = dict(channel=self.channel, groups=self.groups())
        sh = src.shape
        if op == 'all-gather':
            sh = Shape(sh.dt, (sh.dims[0] * self.ndev,) + sh.dims[1:] if sh.dims else (), sh.tiled)
            k['extra'] = f_packed(14, [0]) + f_int(71, 1)
            k['attrs'] = 'dimensions={0}, use_global_device_ids=true'
        elif op == 'all-reduce':
            k['called'] = [self.add_fn(sh.dt if sh.dt in ('f32', 'bf16') else 'f32')]
            k['extra'] = f_int(71, 1)
            k['attrs'] = 'use_global_device_ids=true'
        elif op == 'reduce-scatter':
            sh = Shape(sh.dt, (max(1, sh.dims[0] // self.ndev),) + sh.dims[1:] if sh.dims else (), sh.tiled)
            k['called'] = [self.add_fn(sh.dt if sh.dt in ('f32', 'bf16') else 'f32')]
            k['extra'] = f_packed(14, [0]) + f_int(71, 1)
            k['attrs'] = 'dimensions={0}, use_global_device_ids=true'
        self.coll_ids += 1
        nb = max(src.shape.size, sh.size)
        if start:
            shp = sh if op == 'all-reduce' else tup(src.shape, sh)
            st = c.add(op + '-start', shp, [src], **k)
            self.meta(st, scope, 'psum' if op == 'all-reduce' else 'all_gather')
            self.cost(st, op + '-start', 0, nb)
            st.base_ps = int(r.integers(100_000, 900_000))
            dn = c.add(op + '-done', sh, [st])
            self.meta(dn, scope, 'psum' if op == 'all-reduce' else 'all_gather')
            self.cost(dn, op + '-done', 0, nb, 0.4)
            dn.loop = ('coll', self.coll_ids)
            st.pair, dn.pair = dn, st
            return st, dn
        i = c.add(op, sh, [src], **k)
        self.meta(i, scope, 'psum' if op == 'all-reduce' else op.replace('-', '_'))
        self.cost(i, op, src.shape.count if op == 'all-reduce' else 0, nb, 0.3)
        i.loop = ('coll', self.coll_ids)
        return i

    def custom(self, c, pool, scope):
        r = self.rng
        out = self.m.sh('bf16', 16, 1024, 1024)
        ins = [pool[int(r.integers(len(pool)))] for _ in range(3)]
        tgt = 'tpu_custom_call' if self.target == 'tpu' else '__cudnn$fmhaSoftmax'
        i = c.add('custom-call', out if self.target == 'tpu' else tup(out, self.m.sh('u8', 65536)), ins,
                  'flash_attention' if self.target == 'tpu' else 'cudnn-fmha', target=tgt)
        self.meta(i, scope, 'pallas_call' if self.target == 'tpu' else 'dot_general')
        self.cost(i, 'custom-call', 2.0 * 16 * 1024 * 1024 * 128, out.size * 3, 0.5)
        if self.target == 'gpu':
            i.pair = c.add('get-tuple-element', out, [i], extra=f_int0(13, 0), attrs='index=0')
        return i

    # -- blocks -------------------------------------------------------------
    def block(self, c, pool, scope, n, colls=True, hostcopy=False, mods=('attn', 'mlp', 'ln1', 'ln2')):
        r = self.rng
        nodes, open_async = [], []
        for k in range(n):
            sc = '%s/%s' % (scope, mods[int(r.integers(len(mods)))])
            x = r.random()
            gpu = self.target == 'gpu'
            if x < 0.46:
                i = self.loop_fusion(c, pool, sc)
            elif x < 0.54:
                i = self.reduce_fusion(c, pool, sc)
            elif x < 0.70:
                i = self.matmul(c, pool, sc)
            elif x < 0.76:
                i = self.copy(c, pool, sc)
            elif x < 0.88 and not gpu:
                s, d = self.async_copy(c, pool, sc, host=hostcopy and r.random() < 0.25)
                nodes.append(('op', s))
                open_async.append((k + int(r.integers(2, 9)), d))
                pool.append(d)
                continue
            elif x < 0.92:
                i = self.custom(c, pool, sc)
            elif x < 0.95 and colls and self.ndev > 1:
                op = str(r.choice(['all-reduce', 'all-gather']))
                s, d = self.collective(c, pool, sc, op, start=True)
                nodes.append(('op', s))
                open_async.append((k + int(r.integers(2, 6)), d))
                continue
            elif x < 0.97 and colls and self.ndev > 1:
                i = self.collective(c, pool, sc, str(r.choice(['all-reduce', 'reduce-scatter'])))
            else:
                sh = self.out_shape()
                z = c.add('constant', self.m.sh(sh.dt), extra=scalar_literal(self.m.sh(sh.dt), 0), attrs='0')
                i = c.add('broadcast', sh, [z], attrs='dimensions={}')
                self.meta(i, sc, 'broadcast_in_dim')
                self.cost(i, 'broadcast', 0, sh.size)
            nodes.append(('op', i))
            y = i.pair if (i.pair is not None and i.opcode == 'custom-call') else i
            if y.shape.elems is None and y.shape.dims:
                pool.append(y)
            if len(pool) > 24:
                del pool[:len(pool) - 24]
            due = [d for t, d in open_async if t <= k]
            open_async = [(t, d) for t, d in open_async if t > k]
            nodes += [('op', d) for d in due]
        nodes += [('op', d) for _, d in open_async]
        # The done instruction must stay where it is in the proto order: after its start.
        return nodes

    def while_loop(self, c, pool, scope, n, trip, inner=None, **k):
        m = self.m
        carried = [p for p in pool if p.shape.elems is None and p.shape.dims][-4:]
        st = tup(m.sh('s32'), *[p.shape for p in carried])
        cond = m.comp('region_cond')
        p = cond.param(0, st, 'arg_tuple')
        g = cond.add('get-tuple-element', m.sh('s32'), [p], extra=f_int0(13, 0), attrs='index=0')
        t = cond.add('constant', m.sh('s32'), extra=scalar_literal(m.sh('s32'), trip), attrs=str(trip))
        cond.add('compare', m.sh('pred'), [g, t], extra=f_bytes(63, 'LT'), attrs='direction=LT')
        body = Comp(m, m.unique('region_body'))
        p = body.param(0, st, 'arg_tuple')
        gi = body.add('get-tuple-element', m.sh('s32'), [p], extra=f_int0(13, 0), attrs='index=0')
        gs = [body.add('get-tuple-element', x.shape, [p], extra=f_int(13, q + 1), attrs='index=%d' % (q + 1))
              for q, x in enumerate(carried)]
        bp = list(gs)
        nodes = self.block(body, bp, scope, n, **k)
        for kid in inner or ():
            nodes.append(kid(body, bp))
        one = body.add('constant', m.sh('s32'), extra=scalar_literal(m.sh('s32'), 1), attrs='1')
        nx = body.add('add', m.sh('s32'), [gi, one])
        self.meta(nx, scope, 'add')
        body.add('tuple', st, [nx] + gs)
        m.comps.append(body)
        zero = c.add('constant', m.sh('s32'), extra=scalar_literal(m.sh('s32'), 0), attrs='0')
        init = c.add('tuple', st, [zero] + carried)
        w = c.add('while', st, [init], called=[body, cond])
        self.meta(w, scope.rsplit('/', 2)[0], 'while')
        self.cost(w, 'while', 0, 0)
        for q, x in enumerate(carried):
            pool.append(c.add('get-tuple-element', x.shape, [w], extra=f_int(13, q + 1), attrs='index=%d' % (q + 1)))
        return ('loop', w, trip, nodes)

    def finish(self, entry, pool):
        outs = [p for p in pool if p.shape.elems is None and p.shape.dims][-6:]
        entry.add('tuple', tup(*[o.shape for o in outs]), outs)
        self.m.comps.append(entry)
        self.m.entry = entry

    def entry(self, nparams, name='main'):
        c = Comp(self.m, self.m.unique(name))
        pool = []
        for k in range(nparams):
            p = c.param(k, self.out_shape(), 'param')
            p.op_name = "params['%s']['kernel']" % ('layer_%d' % k)
            pool.append(p)
        return c, pool

    def train(self, scale):
        """scale 1.0 is about 12000 op events a step and core."""
        r = self.rng
        cfg = self.cfg
        c, pool = self.entry(24)
        nodes = []
        s = scale ** 0.5
        nl = max(1, round(12 * s))
        nops = max(6, round(45 * s))
        if cfg.get('infeed'):
            tok = c.add('after-all', Shape('token'))
            dsh = self.m.sh('bf16', 256, 224, 224, 3)
            inf = c.add('infeed', tup(dsh, Shape('token')), [tok])
            self.meta(inf, 'infeed', 'infeed')
            self.cost(inf, 'infeed', 0, dsh.size, 0.2)
            inf.op_name, inf.op_type = 'infeed:InfeedDequeueTuple', 'InfeedDequeueTuple'
            g = c.add('get-tuple-element', dsh, [inf], extra=f_int0(13, 0), attrs='index=0')
            nodes.append(('op', inf))
            pool.append(g)
        nodes += self.block(c, pool, 'jvp(CLIP)/embed', max(4, nops // 4), hostcopy=True)

        def tower(body, bp, name, d, n):
            scope = '%s/%s/layers/while/body/layer' % ('transpose(jvp(CLIP))' if d else 'jvp(CLIP)', name)
            return self.while_loop(body, bp, scope, n, nl)
        micro = 4 if scale > 0.3 else 1
        kids = [lambda b, p: tower(b, p, 'image', 0, nops), lambda b, p: tower(b, p, 'text', 0, nops // 2),
                lambda b, p: tower(b, p, 'text', 1, nops), lambda b, p: tower(b, p, 'image', 1, nops * 2)]
        nodes.append(self.while_loop(c, pool, 'grad_accum/while/body', max(6, nops // 2), micro, inner=kids,
                                     hostcopy=True))
        if cfg.get('dcn'):
            nodes += self.dcn(c, pool)
        nodes += self.block(c, pool, 'loss', max(6, nops // 2))
        for _ in range(3):
            if self.ndev > 1:
                nodes.append(('op', self.collective(c, pool, 'transpose(jvp(CLIP))/grads', 'all-reduce')))
        nodes += self.block(c, pool, 'adamw', max(10, round(1000 * s)), colls=False,
                            mods=('mu', 'nu', 'update', 'clip_by_global_norm'))
        if cfg.get('sparse'):
            for _ in range(4):
                x = pool[int(r.integers(len(pool)))]
                i = c.add('custom-call', x.shape, [x], 'sparse_dense_matmul', target='SparseDenseMatmulGradOp')
                self.meta(i, 'embedding', 'sparse_dense_matmul')
                self.cost(i, 'custom-call', x.shape.count, x.shape.size * 4, 0.2)
                self.sparse.append(i)
                nodes.append(('op', i))
        if cfg.get('infeed'):
            tok = c.add('after-all', Shape('token'))
            x = pool[-1]
            o = c.add('outfeed', Shape('token'), [x, tok], extra=f_bytes(29, x.shape.proto()))
            self.meta(o, 'outfeed', 'outfeed')
            self.cost(o, 'outfeed', 0, x.shape.size, 0.3)
            nodes.append(('op', o))
        self.finish(c, pool)
        self.m.tree = nodes
        return self.m

    def dcn(self, c, pool):
        """Cross-slice transfers: host send and recv with a rendezvous name."""
        nodes = []
        r = self.rng
        kinds = ['ALL_REDUCE', 'ALL_GATHER', 'REDUCE_SCATTER', 'ONE_TO_ONE', 'ALL_TO_ALL']
        for k in range(len(kinds)):
            x = pool[int(r.integers(len(pool)))]
            tok = c.add('after-all', Shape('token'))
            rv = 'collective.%d.%s' % (k + 1, kinds[k].lower())
            self.channel += 2
            sch, rch = self.channel - 1, self.channel

            def attrs(ch):
                e = [('_xla_host_transfer_rendezvous', rv), ('_xla_megascale_transfer_type', kinds[k]),
                     ('_xla_host_transfer_handler_name', 'xla_megascale_runtime')]
                return f_bytes(68, b''.join(f_bytes(1, f_bytes(1, a) + f_bytes(2, b)) for a, b in e)) + f_int(47, 1)
            if kinds[k] == 'ONE_TO_ONE':
                grp = b''.join(f_bytes(3, f_bytes(1, f_int0(1, q) + f_int0(2, 0)) + f_bytes(2, f_int0(1, 1 - q) + f_int0(2, 0)))
                               for q in range(2))
            else:
                grp = f_bytes(2, b''.join(f_bytes(1, f_int0(1, q) + f_int0(2, d)) for q in range(2) for d in range(4)))
            info = f_int0(1, {'ALL_TO_ALL': 1, 'ONE_TO_ONE': 2, 'REDUCE_SCATTER': 3, 'ALL_GATHER': 4,
                              'ALL_REDUCE': 5}[kinds[k]]) + grp
            snd = c.add('send', tup(x.shape, self.m.sh('u32'), Shape('token')), [x, tok], channel=sch, extra=attrs(sch))
            rcv = c.add('recv', tup(x.shape, self.m.sh('u32'), Shape('token')), [tok], channel=rch, extra=attrs(rch))
            sd = c.add('send-done', Shape('token'), [snd], channel=sch, extra=f_int(47, 1))
            rd = c.add('recv-done', tup(x.shape, Shape('token')), [rcv], channel=rch, extra=f_int(47, 1))
            for i, cat in ((snd, 'host send'), (rcv, 'host recv'), (sd, 'host send-done'), (rd, 'host recv-done')):
                self.meta(i, 'transpose(jvp(CLIP))/dcn', 'psum')
                self.cost(i, cat, 0, x.shape.size)
                i.base_ps = int(r.integers(300_000, 3_000_000))
                i.dcn = info
            rd.base_ps *= 8
            nodes += [('op', snd), ('op', rcv)]
            nodes += self.block(c, pool, 'transpose(jvp(CLIP))/overlap', 6, colls=False)
            nodes += [('op', sd), ('op', rd)]
            pool.append(c.add('get-tuple-element', x.shape, [rd], extra=f_int0(13, 0), attrs='index=0'))
        return nodes

    def forward(self, scale):
        c, pool = self.entry(12)
        s = scale ** 0.5
        nodes = self.block(c, pool, 'embed', max(4, round(10 * s)))
        nodes.append(self.while_loop(c, pool, 'decoder/layers/while/body/layer', max(6, round(40 * s)),
                                     max(1, round(16 * s))))
        nodes += self.block(c, pool, 'lm_head', max(4, round(10 * s)))
        self.finish(c, pool)
        self.m.tree = nodes
        return self.m

    def tiny(self, n=5):
        c, pool = self.entry(3)
        self.m.tree = self.block(c, pool, '', n, colls=False)
        self.finish(c, pool)
        return self.m
