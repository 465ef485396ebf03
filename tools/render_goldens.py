#!/usr/bin/env python3
"""Records how XProf prints numbers and texts: tests/golden/render/{numbers,table_numbers,escaped}.tsv.

Run with the oracle's Python (xprof==2.23.2 installed):  python tools/render_goldens.py
    numbers.tsv        bits of a double (hex), Python's repr and %.17g of it, its text in trace_viewer (absl's six digits) and in protobuf's JSON
    table_numbers.tsv  bits of a double (hex), its text in a data table: seeded 32-bit floats, and thousandths
    escaped.tsv        a dialect, and the ranges of characters (hex) that it escapes, of all of the first plane and some of the others
The numbers go through the tools themselves: as arguments of events, as memory fragmentation, as occupancy and times of kernels. They are seeded,
so that a new run gives the same files.
"""
import json
import random
import re
import struct
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tools'))
from make_profile.space import Plane, SpaceFile  # noqa: E402
from xprof.convert import raw_to_tool_data  # noqa: E402

OUT = ROOT / 'tests/golden/render'
NUMBERS = 1000          # as many as one memory profile and one kernel table show
FIRST_TIME_PS = 1_000_000_000


def bits(value):
    return struct.pack('>d', value).hex()


def doubles(rng):
    """Doubles of all sizes: fixed ones at the edges of the forms, decimals, quotients, arbitrary bits."""
    yield from [0.0, -0.0, 1.0, -1.0, 0.1, 1e-4, 1e-5, 9.99995e-5, 999999.5, 999999.4999999999, 1e6, 1e15, 1e16, 1e17, 5e-324, 1.7976931348623157e308,
                2.2250738585072014e-308, 123456.5, 1234565.0, 0.5, 2.5, 100000.5, 0.000123456500000, float('inf'), float('-inf')]
    while True:
        kind = rng.randrange(5)
        if kind == 0:
            yield rng.randrange(1, 10**rng.randrange(1, 17)) / 10**rng.randrange(0, 12)
        elif kind == 1:
            yield rng.randrange(1, 1 << 40) / rng.randrange(1, 1 << 20)
        elif kind == 2:
            yield rng.uniform(-1, 1) * 10**rng.randrange(-8, 18)
        elif kind == 3:
            yield (2 * rng.randrange(50_000, 500_000) + 1) / 2 * 10**rng.randrange(-8, 3)
        else:
            value = struct.unpack('>d', rng.randbytes(8))[0]
            if value == value:
                yield value


def write(path, planes):
    file = SpaceFile(str(path))
    for plane in planes:
        file.plane(plane)
    file.close(hostname='h')
    return [str(path)]


def ask(files, tool, **params):
    answer, _ = raw_to_tool_data.xspace_to_tool_data(files, tool, params)
    return answer.decode() if isinstance(answer, bytes) else answer


def record_numbers(work):
    source = doubles(random.Random(1))
    values = [next(source) for _ in range(NUMBERS)]
    host = Plane(1, '/host:CPU')
    memory, thread = host.line(1, 'memory'), host.line(2, 'thread')
    for index, value in enumerate(values):
        start = FIRST_TIME_PS + index * 1_000_000
        memory.add(host.E('MemoryAllocation'), start, 1_000, host.stat('fragmentation', 'd', value) + host.stat('allocator_name', 's', 'a'))
        thread.add(host.E('event'), start, 1_000, host.stat('value', 'd', value))
    files = write(work / 'numbers' / 'h.xplane.pb', [host])
    columns = [
        [repr(value) for value in values],
        ['%.17g' % value for value in values],
        re.findall(r'"value": "([^"]+)', ask(files, 'trace_viewer')),
        re.findall(r'"fragmentation":([^,]+)', ask(files, 'memory_profile').split('"sampledTimelineSnapshots"')[1]),
    ]
    assert all(len(column) == NUMBERS for column in columns), [len(column) for column in columns]
    save('numbers.tsv', ('\t'.join((bits(value), *row)) for value, *row in zip(values, *columns)))


def record_table_numbers(work):
    rng = random.Random(2)
    gpu = Plane(1, '/device:GPU:0')
    stream = gpu.line(1, 'Stream #1')
    durations, occupancies = [], []
    for index in range(NUMBERS):
        kernel = gpu.E('kernel_%d' % index)
        duration = rng.randrange(1, 10**rng.randrange(1, 13))       # picoseconds are exact doubles
        occupancy = struct.unpack('>f', rng.randbytes(4))[0]
        if not abs(occupancy) >= 2.0**-126:                          # no number, or flushed to zero
            occupancy = 0.5
        stream.add(kernel, FIRST_TIME_PS, duration * 1_000, gpu.stat('kernel_details', 's', 'occ_pct:%r' % occupancy))
        durations.append(duration)
        occupancies.append(occupancy)
    table = ask(write(work / 'table' / 'h.xplane.pb', [gpu]), 'kernel_stats')
    rows = re.findall(r'"kernel_(\d+)"\},\{"v":0.0\},\{"v":0.0\},\{"v":"1,1,1"\},\{"v":"1,1,1"\},\{"v":([^}]+)\}(?:,\{"v":[^}]+\}){4},\{"v":([^}]+)\}', table)
    assert len(rows) == NUMBERS, len(rows)
    lines = []
    for index, occupancy, total in sorted(rows, key=lambda row: int(row[0])):
        lines.append('%s\t%s' % (bits(occupancies[int(index)]), occupancy))
        lines.append('%s\t%s' % (bits(durations[int(index)] / 1000), total))
    save('table_numbers.tsv', lines)


def record_texts(work):
    """All characters of the first plane and some of the others, one text each."""
    codes = [code for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
    codes += [*range(0x1D100, 0x1D200), *range(0xE0000, 0xE0200), 0x1F600, 0x10FFFF]
    host, gpu = Plane(1, '/host:CPU'), Plane(2, '/device:GPU:0')
    memory, stream = host.line(1, 'memory'), gpu.line(1, 'Stream #1')
    texts = [codes[start:start + 64] for start in range(0, len(codes), 64)]
    texts = texts[:NUMBERS] + [[code for text in texts[NUMBERS:] for code in text]]
    texts = [''.join(map(chr, text)) for text in texts]
    for index, text in enumerate(texts[:NUMBERS - 1] + [''.join(texts[NUMBERS - 1:])]):
        start = FIRST_TIME_PS + index * 1_000_000
        memory.add(host.E('MemoryAllocation'), start, 1_000, host.stat('region_type', 's', text) + host.stat('allocator_name', 's', 'a'))
        stream.add(gpu.E('kernel ' + text), start, 1_000_000, gpu.stat('kernel_details', 's', 'regs:1'))
    files = write(work / 'texts' / 'h.xplane.pb', [host, gpu])
    protobuf = ask(files, 'memory_profile').split('"sampledTimelineSnapshots"')[1]
    protobuf = ''.join(re.findall(r'"regionType":"((?:[^"\\]|\\.)*)"', protobuf))
    table = ''.join(re.findall(r'"kernel ((?:[^"\\]|\\.)*)"', ask(files, 'kernel_stats')))
    lines = []
    for name, answer in ('protobuf', protobuf), ('table', table):
        pieces = re.findall(r'(?:\\u[0-9a-f]{4})+|\\.|.', answer, re.S)
        seen = {}
        for piece in pieces:
            if piece.startswith('\\u'):
                units = [int(unit, 16) for unit in re.findall(r'\\u(....)', piece)]
                for character in b''.join(unit.to_bytes(2, 'big') for unit in units).decode('utf-16-be'):
                    seen[ord(character)] = True
            elif piece.startswith('\\'):
                seen[ord(json.loads('"%s"' % piece))] = True
            else:
                seen[ord(piece)] = False
        assert set(codes) <= set(seen) | {0x20}, (name, sorted(set(codes) - set(seen))[:9])
        lines.append(name + '\t' + ' '.join(ranges(code for code in codes if seen.get(code))))
    save('escaped.tsv', lines)


def ranges(codes):
    found = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return ['%x-%x' % (first, last) for first, last in found]


def save(name, lines):
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text(''.join(line + '\n' for line in lines))


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        record_numbers(Path(folder))
        record_table_numbers(Path(folder))
        record_texts(Path(folder))
