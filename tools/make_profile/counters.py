"""TPU performance counters."""
import importlib.util
import os
import re

from .wire import MS, SEC


def find_counter_ids(chip, header=None):
    """(name, id) pairs of a chip's performance counters, read from the header that an
    installed xprof package carries; none when there is no such package."""
    if header is None:
        spec = importlib.util.find_spec('xprof')
        if spec is None or not spec.submodule_search_locations:
            return []
        header = os.path.join(list(spec.submodule_search_locations)[0], 'utils', 'tpu_counter_ids_%s.h' % chip)
    elif os.path.isdir(header):
        header = os.path.join(header, 'tpu_counter_ids_%s.h' % chip)
    if not os.path.exists(header):
        return []
    body = re.sub(r'//.*', '', open(header, encoding='utf-8').read())
    return [(n, int(v, 0)) for n, v in re.findall(r'(\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)', body)]


def add_counters(cx, p, chip, ids, samples, d):
    r = cx.rng('counters', d)
    if not ids:
        ids = [('synthetic_counter_%d' % k, 4_000_000_000 + 8 * k) for k in range(512)]
    cyc = 1_500_000_000
    for s in range(samples):
        ln = p.line(10_000 + s, 'counters_kernel_%d' % s)
        for name, cid in ids:
            up = name.upper()
            if 'CYCLES' in up and 'MATPUSH' not in up or up.endswith('CYCLE_COUNT'):
                v = int(cyc * (1 + 0.01 * s))
            elif r.random() < 0.12:
                v = 0
            else:
                v = int(cyc * float(r.random()) ** 3)
            mid = p.E(name, key=('counter', name))
            ln.add(mid, 2 * SEC + s * 100 * MS, 0,
                   p.stat('counter_value', 'u', v) + p.stat('performance_counter_id', 'u', cid)
                   + p.stat('performance_counter_description', 'r', 'Counts %s' % name.lower().replace('_', ' ')[-60:])
                   + p.stat('performance_counter_sets', 'r', 'set_%d' % (cid % 7)))
