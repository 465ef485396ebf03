"""What one run of the generator shares between its hosts, and the metadata plane."""
import os
import zlib

import numpy as np

from .space import Plane, SpaceFile


class Ctx:
    """What one run of the tool shares between its hosts."""

    def __init__(self, a):
        self.a = a
        self.root = np.random.SeedSequence([a.seed, zlib.crc32(a.scenario.encode())])
        self.start_ns = 1_760_000_000_000_000_000 + (a.seed % 100_000) * 1_000_000_007
        self.dir = os.path.join(a.out, 'plugins', 'profile', a.run)
        self.log = []

    def rng(self, *key):
        return np.random.default_rng([self.a.seed, zlib.crc32(self.a.scenario.encode())]
                                     + [k if isinstance(k, int) else zlib.crc32(k.encode()) for k in key])

    def host(self, h):
        n = self.a.hosts
        return self.a.host_prefix + ('%d' % h if n < 10 else '%03d' % h)

    def open(self, h):
        return SpaceFile(os.path.join(self.dir, self.host(h) + '.xplane.pb'))


def fingerprint(rng):
    return int(rng.integers(1 << 40, 1 << 63)) * 2 + int(rng.integers(0, 2))


def signed(x):
    return x - (1 << 64) if x >> 63 else x


def hlo_metadata_plane(rng, mods, legacy=False):
    p = Plane(0, '/host:metadata', rng)
    for m in mods:
        name = '%s(%d)' % (m.name, m.program_id)
        p.E(name, stats=[('Hlo Proto' if not legacy else 'HLO Proto', 'b', m.proto())],
            eid=signed(m.program_id) if not legacy else None)
    return p
