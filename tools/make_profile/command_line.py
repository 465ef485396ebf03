"""make_profile.py: a seeded generator of realistic XSpace profiles.

    make_profile.py SCENARIO --out LOGDIR [--seed N] [--size-mb M] [--hosts H]
                    [--devices D] [--steps S] [--chip C] [options]

Writes LOGDIR/plugins/profile/RUN/HOST.xplane.pb (one file a host).  The same
arguments give the same bytes (with the same numpy major version).  The wire
format is written directly: rows of events are encoded as numpy matrices, the
rest with plain Python.  `make_profile.py --list` names the scenarios.
"""
import argparse

from .adversarial import ADVERSARIAL
from .context import Ctx
from .scenarios import SCENARIOS


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('scenario', nargs='?', choices=list(SCENARIOS))
    ap.add_argument('--out', help='logdir to write')
    ap.add_argument('--seed', type=int, default=1)
    ap.add_argument('--size-mb', type=float, default=4.0, help='size of each host file, about')
    ap.add_argument('--hosts', type=int, default=1)
    ap.add_argument('--devices', type=int, default=0, help='devices (cores) a host')
    ap.add_argument('--steps', type=int, default=0, help='steps; otherwise chosen to reach the size')
    ap.add_argument('--chip', help='v4 v5e v5p v6e v7x, or h100 a100 v100 mi300')
    ap.add_argument('--run', default='run1')
    ap.add_argument('--host-prefix', default='host')
    ap.add_argument('--style', help='tpu-inference: batching, tfrt, pathways, orbax or session')
    ap.add_argument('--kind', help='adversarial: one of ' + ' '.join(ADVERSARIAL))
    ap.add_argument('--infeed', action='store_true', help='infeed and outfeed ops')
    ap.add_argument('--sparse', action='store_true', help='SparseCore planes (v5p, v6e, v7x)')
    ap.add_argument('--energy', action='store_true', help='vdd_energy_j on each op')
    ap.add_argument('--no-steps-line', action='store_true', help='no Steps line: grouped by modules')
    ap.add_argument('--hlo', action='append', help='take the programs from real *.hlo_proto.pb files (a file or a folder; '
                    'the largest is the step)')
    ap.add_argument('--legacy-hlo', action='store_true', help='"HLO Proto" metadata with small ids')
    ap.add_argument('--cuda-graphs', action='store_true')
    ap.add_argument('--bottleneck', choices=['input', 'enqueue', 'barrier', 'debug-print', 'collective', 'shuffle', 'idle',
                                             'async-done', 'compute', 'memory'], help='TPU training: what the step waits for')
    ap.add_argument('--samples', type=int, default=3, help='counter samples')
    ap.add_argument('--counters-header', help='tpu_counter_ids_*.h, or their folder, for perf-counters')
    ap.add_argument('--list', action='store_true')
    ap.add_argument('--quiet', action='store_true')
    a = ap.parse_args(argv)
    if a.list or not a.scenario:
        for n, (_, d) in SCENARIOS.items():
            print('%-18s %s' % (n, d))
        return 0
    if not a.out:
        ap.error('--out is needed')
    cx = Ctx(a)
    total = SCENARIOS[a.scenario][0](cx)
    if not a.quiet:
        for m in cx.log:
            print('  ' + m)
        print('%s: %.2f MB in %s' % (a.scenario, total / 1e6, a.out))
    return 0
