"""What a profile holds, read by itself: rows of its planes with the number of events and their time.

This knows nothing of xprof-rs. It reads XSpace messages and follows the few rules by which XProf lays planes and lines out as
processes and threads. Rows that XProf adds to a profile (steps and operations of a GPU) or changes are not known here.
"""
import collections

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

INTEGER, TEXT, DOUBLE, BYTES = 'int64', 'string', 'double', 'bytes'
MESSAGES = {
    'XSpace': {1: ('planes', '*XPlane'), 4: ('hostnames', '*string')},
    'XPlane': {
        1: ('id', INTEGER), 2: ('name', TEXT), 3: ('lines', '*XLine'),
        4: ('event_metadata', '*EventMetadataEntry'), 5: ('stat_metadata', '*StatMetadataEntry'),
    },
    'EventMetadataEntry': {1: ('key', INTEGER), 2: ('value', 'XEventMetadata')},
    'StatMetadataEntry': {1: ('key', INTEGER), 2: ('value', 'XStatMetadata')},
    'XEventMetadata': {1: ('id', INTEGER), 2: ('name', BYTES), 4: ('display_name', BYTES), 5: ('stats', '*XStat')},
    'XStatMetadata': {1: ('id', INTEGER), 2: ('name', BYTES)},
    'XLine': {
        1: ('id', INTEGER), 2: ('name', TEXT), 3: ('timestamp_ns', INTEGER), 4: ('events', '*XEvent'),
        10: ('display_id', INTEGER), 11: ('display_name', TEXT),
    },
    'XEvent': {1: ('metadata_id', INTEGER), 2: ('offset_ps', INTEGER), 3: ('duration_ps', INTEGER), 4: ('stats', '*XStat')},
    'XStat': {
        1: ('metadata_id', INTEGER), 2: ('double_value', DOUBLE), 3: ('uint64_value', 'uint64'), 4: ('int64_value', INTEGER),
        5: ('str_value', BYTES), 6: ('bytes_value', BYTES), 7: ('ref_value', 'uint64'),
    },
}

# Events that XProf keeps from its users (`IsInternalEvent`).
INTERNAL = {
    'MemoryAllocation', 'MemoryDeallocation', 'PrefetchProduce', 'PrefetchConsume', 'ParallelInterleaveProduce',
    'ParallelInterleaveConsume', 'ParallelInterleaveInitializedInput', 'ParallelMapProduce', 'ParallelMapConsume',
    'MapAndBatchProduce', 'MapAndBatchConsume', 'ParseExampleProduce', 'ParseExampleConsume',
}

COUNTERS = '_counters_'
NO_ROW = 0xFFFFFFFF
U64 = 0xFFFFFFFFFFFFFFFF


def _message_class():
    file = descriptor_pb2.FileDescriptorProto(name='xspace.proto', package='x', syntax='proto3')
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field_name, kind) in fields.items():
            field = message.field.add(name=field_name, number=number, label=kinds.LABEL_OPTIONAL)
            if kind.startswith('*'):
                kind, field.label = kind[1:], kinds.LABEL_REPEATED
            if kind in MESSAGES:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f'.x.{kind}'
            else:
                field.type = getattr(kinds, f'TYPE_{kind.upper()}')
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName('x.XSpace'))


XSpace = _message_class()


class Row:
    """Number of events of a thread, and their time in Perfetto's nanoseconds."""

    def __init__(self):
        self.events, self.duration_ns = 0, 0

    def add(self, begin_ps, duration_ps):
        self.events += 1
        self.duration_ns += min(begin_ps + duration_ps, U64) // 1000 - begin_ps // 1000


def named(rows, processes, threads):
    """Rows by process and thread, under the names of these; rows of the same names are one."""
    found = collections.defaultdict(Row)
    for (process, thread), row in rows.items():
        into = found[processes[process], threads.get((process, thread), '')]
        into.events += row.events
        into.duration_ns += row.duration_ns
    return found


def shown_planes(space):
    """The planes that XProf shows, with the ids of their processes within the host."""
    planes = [plane for plane in space.planes if plane.lines]
    hosts = sorted((plane for plane in planes if plane.name.startswith('/host:CPU')), key=lambda plane: plane.name)
    yield from enumerate(hosts, 701)
    gpus = [plane for plane in space.planes if plane.name.startswith('/device:GPU:')]
    for plane in gpus or [plane for plane in space.planes if plane.name.startswith('/device:TPU:')]:
        process = (plane.id + 1) & NO_ROW
        if plane.lines:
            yield process if process <= 500 else 1, plane
    for plane in planes:
        if plane.name.startswith('/device:CUSTOM:'):
            yield (501 + plane.id) & NO_ROW, plane


def rows_of(path, host):
    """The rows of threads of a host's profile by names of process and thread."""
    space = XSpace.FromString(path.read_bytes())
    processes, threads = {}, {}
    found = collections.defaultdict(Row)
    for process, plane in shown_planes(space):
        processes[process] = f'{host} {plane.name}'
        names = {entry.key: entry.value.name.decode('utf-8', 'replace') for entry in plane.event_metadata}
        flows = {entry.key for entry in plane.stat_metadata if entry.value.name == b'flow'}
        marks = {entry.key for entry in plane.stat_metadata if entry.value.name == b'_a'}
        for line in plane.lines:
            thread = (line.display_id or line.id) & NO_ROW
            if not line.events or line.name == COUNTERS or thread == NO_ROW:
                continue
            threads[process, thread] = line.display_name or line.name
            for event in line.events:
                if names.get(event.metadata_id) in INTERNAL:
                    continue
                stats = {stat.metadata_id for stat in event.stats} if flows and marks else set()
                if stats & flows and stats & marks:
                    # An asynchronous event has a row of its name.
                    continue
                begin_ps = (line.timestamp_ns * 1000 + event.offset_ps) & U64
                found[process, thread].add(begin_ps, event.duration_ps & U64)
    return named(found, processes, threads)
