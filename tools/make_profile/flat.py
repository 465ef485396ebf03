"""The order and the times of the op events of one run of a module."""
import numpy as np


class Flat:
    """The order of op events of one run of a module: pre-order, each with its leaf or
    its span of leaves."""

    def __init__(self, mod):
        self.instrs, self.lo, self.hi, self.depth = [], [], [], []
        self.leaf_base = []
        self.walk(mod.tree, 0)
        self.lo = np.array(self.lo, np.int64)
        self.hi = np.array(self.hi, np.int64)
        self.leaf_base = np.array(self.leaf_base, np.float64)
        uniq = {}
        self.uniq = []
        idx = []
        for i in self.instrs:
            if i.id not in uniq:
                uniq[i.id] = len(self.uniq)
                self.uniq.append(i)
            idx.append(uniq[i.id])
        self.idx = np.array(idx, np.int64)
        self.is_leaf = self.lo == self.hi
        self.coll_leaves = np.array([self.lo[k] for k, i in enumerate(self.instrs)
                                     if i.loop and i.loop[0] == 'coll'], np.int64)
        self.nominal = int(self.leaf_base.sum()) + 150_000 * len(self.leaf_base)
        self.depth = np.array(self.depth, np.int64)

    def walk(self, nodes, depth):
        for nd in nodes:
            k = len(self.instrs)
            self.instrs.append(nd[1])
            self.depth.append(depth)
            self.lo.append(len(self.leaf_base))
            self.hi.append(0)
            if nd[0] == 'op':
                self.hi[k] = len(self.leaf_base)
                self.leaf_base.append(nd[1].base_ps)
            else:
                for _ in range(nd[2]):
                    self.walk(nd[3], depth + 1)
                self.hi[k] = len(self.leaf_base) - 1

    def times(self, rng, start, speed=1.0, sigma=0.04, gap=(40_000, 260_000), coll_extra=0):
        """Start and duration of each event of a run that begins at `start`; the run's
        collectives wait `coll_extra` longer in all."""
        n = len(self.leaf_base)
        d = np.maximum(1250, self.leaf_base * speed * np.exp(rng.normal(0, sigma, n))).astype(np.int64)
        if coll_extra > 0 and len(self.coll_leaves):
            d[self.coll_leaves] += int(coll_extra // len(self.coll_leaves))
        g = rng.integers(gap[0], gap[1], n)
        t = start + np.cumsum(d + g) - d
        off = t[self.lo] - np.where(self.is_leaf, 0, 9_000 - 500 * np.minimum(self.depth, 10))
        end = (t + d)[self.hi] + np.where(self.is_leaf, 0, 9_000 - 500 * np.minimum(self.depth, 10))
        return off, end - off
