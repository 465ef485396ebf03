"""The host plane: threads, events, memory, tf.data and Python frames."""
import re

import numpy as np

from .space import Plane

PYFUNCS = ['$train.py:211 train_step', '$data.py:88 __next__', '$tokenizer.py:140 encode', '$image.py:61 decode_jpeg',
           '$image.py:90 resize', '$pjit.py:318 cache_miss', '$pxla.py:1180 __call__', '$profiler.py:205 wrapper',
           '$metrics.py:44 update', '$checkpoint.py:301 maybe_save', '$threading.py:589 wait', '$queue.py:180 get',
           '$array.py:631 _value', '$api.py:2764 block_until_ready', '$<string> <lambda>', '$builtins isinstance']


class HostPlane:
    def __init__(self, cx, h, ts_ns=212_990):
        self.cx, self.h, self.ts = cx, h, ts_ns
        self.rng = cx.rng('host', h)
        self.p = Plane(0, '/host:CPU', cx.rng('hostmap', h))
        self.by = {}
        self.tid = 3_116_000 + h * 17
        self.alloc = {}

    def thread(self, name, tid=None):
        ln = self.by.get(name)
        if ln is None:
            self.tid += 1
            t = tid if tid is not None else self.tid
            base = re.sub(r'_\d+$', '', name) if not name.startswith('ThreadPool') else name
            nm = name if '/' in name or name == 'python' else '%s/%d' % (base, t)
            ln = self.by[name] = self.p.line(t, nm, self.ts, nm)
        return ln

    def ev(self, ln, name, t, d, *stats, display=''):
        p = self.p
        ln.add(p.E(name, display), int(t), int(d), b''.join(p.stat(*s) for s in stats))

    def memory(self, ln, t, dev, size, free=None, tf_op=None, shape=None, allocator=None, region=None, cap=32 << 30,
               dtype=1):
        """An allocation (or the release of address `free`); keeps the allocator's totals."""
        st = self.alloc.setdefault((dev, allocator), dict(used=0, peak=0, next=0x7f0000000000 + (dev << 36), live={}))
        who = [('allocator_name', 'r', allocator)] if allocator else [('index_on_host', 'i', dev)]
        if free is None:
            size = (size + 511) // 512 * 512
            st['used'] += size
            st['peak'] = max(st['peak'], st['used'])
            addr = st['next']
            st['next'] += size
            st['live'][addr] = size
        else:
            if free not in st['live']:
                return None
            addr = free
            size = st['live'].pop(addr)
            st['used'] -= size
        frag = 0.0 if not st['used'] else float('%.6g' % (0.2 * self.rng.random()))
        s = who + [('bytes_reserved', 'i', 0 if allocator else 5_414_912), ('bytes_allocated', 'i', st['used']),
                   ('bytes_available', 'i', cap - st['used']),
                   ('fragmentation', 'd', frag) if frag else ('fragmentation', 'i', 0),
                   ('peak_bytes_in_use', 'i', st['peak'])]
        if free is None or allocator:
            s += [('requested_bytes', 'i', size - int(self.rng.integers(0, 300))), ('allocation_bytes', 'i', size)]
        s.append(('addr', 'i', addr))
        if free is None:
            if tf_op:
                s.append(('tf_op', 'r', tf_op))
            s += [('id', 'i', 0)]
            if region:
                s.append(('region_type', 'r', region))
            s.append(('data_type', 'i', dtype))
            if shape:
                s.append(('shape', 'r', shape))
        self.ev(ln, 'MemoryAllocation' if free is None else 'MemoryDeallocation', t, 0, *s)
        return addr

    def python(self, ln, t, d, depth, budget):
        """A nest of Python function events that fills [t, t+d)."""
        r = self.rng
        stack = [(t, d, 0)]
        n = 0
        while stack and n < budget:
            x, w, lv = stack.pop()
            if w < 1500:
                continue
            self.ev(ln, PYFUNCS[int(r.integers(len(PYFUNCS)))], x, w)
            n += 1
            if lv < depth:
                k = int(r.integers(1, 5))
                cuts = np.sort(r.integers(x + 200, x + w - 200, 2 * k)) if w > 4000 else []
                for q in range(0, len(cuts), 2):
                    stack.append((int(cuts[q]), int(cuts[q + 1] - cuts[q]), lv + 1))
        return n

    def tf_data(self, t0, t1, n, stages=('Prefetch', 'BatchV2', 'ParallelMapV2', 'ParallelInterleaveV4', 'TFRecord'),
                step_of=None, ipl=False):
        """tf.data iterators, each element produced on one thread and consumed on another."""
        r = self.rng
        con, pro, wrk = (self.thread('tf_data_iterator_get_next'), self.thread('tf_data_prefetch'),
                         self.thread('tf_data_private_threadpool'))
        ids = [int(x) for x in r.integers(1 << 40, 1 << 62, len(stages))]
        span = max(1000, (t1 - t0) // max(1, n))
        for e in range(n):
            t = t0 + e * span
            w = int(span * r.uniform(0.1, 0.5))
            gen = [('id', 'i', ids[0]), ('buffer_limit', 'i', 8)]
            if step_of is None:
                self.ev(con, 'IteratorGetNextOp::DoCompute', t, w, ('id', 'i', 0), ('iter_num', 'i', e))
            else:
                self.ev(con, 'IteratorGetNextOp::DoCompute', t, w, ('id', 'i', step_of(e)), ('iter_num', 'i', 0))
            self.ev(con, 'Iterator::Prefetch', t + 200, w - 400, *gen)
            self.ev(con, 'PrefetchConsume', t + w - 900, 300, ('element_id', 'i', e))
            tp = max(t0, t - span)
            wp = int(span * 0.8)
            self.ev(pro, 'PrefetchProduce', tp, wp, ('element_id', 'i', e))
            x, ww = tp + 100, wp - 200
            for q in range(1, len(stages)):
                name = 'Iterator::' + '::'.join(stages[:q + 1])
                self.ev(pro, name, x, ww, ('id', 'i', ids[q]), ('parent_id', 'i', ids[q - 1]),
                        *([('shapes', 'r', '[256]')] if q == 1 else []), display='Iterator::' + stages[q])
                x, ww = x + 150, ww - 300
                if ww <= 600:
                    break
            if ww > 600:
                self.ev(pro, 'ParallelMapConsume', x, 300, ('element_id', 'i', e))
            self.ev(wrk, 'ParallelMapProduce', tp, wp // 2, ('element_id', 'i', e))
            sid = int(r.integers(1, 1 << 60))
            self.ev(wrk, 'InstantiatedCapturedFunction::Run', tp + 50, wp // 2 - 100, ('id', 'i', sid))
            for q, op in enumerate(('ParseSingleExample', 'DecodeJpeg', 'ResizeBilinear', 'Cast', 'Mul')):
                o = tp + 100 + q * (wp // 2 - 200) // 5
                self.ev(wrk, 'map/%s:%s' % (op.lower(), op), o, max(200, (wp // 2 - 200) // 5 - 50),
                        ('id', 'i', sid))
            if ipl:
                for q, (st, cat) in enumerate((('Read', 'source'), ('Decode', 'preprocessing'),
                                               ('Batch', 'batch'), ('Transfer', 'transfer'))):
                    self.ev(self.thread('grain_worker'), 'grain.%s' % st, t + q * span // 5, span // 6,
                            ('_ipl_stage_id', 'i', q + 1), ('_ipl_stage_name', 'r', st), ('_ipl_stage_cat', 'r', cat))

    def done(self):
        for ln in self.p.lines:
            ln.sort()
        return self.p
