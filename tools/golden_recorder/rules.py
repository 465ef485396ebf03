"""What the oracle itself does not repeat from process to process, undone by narrow named rules.

`tests/golden.rs` applies the same rules, by the same names, to the answers that it compares.
A golden keeps the names of the rules that its answer needs; all else stays byte for byte.
"""
import itertools
import re

FRAMES = b'"stackFrames":{'
HOVER = b':hover ~ '
# What an address is in a graph: at the start of a line, after an arrow, or in the name of a cluster.
ADDRESS = re.compile(rb'^\d+(?= )|(?<= -> )\d+(?= \[)|(?<=cluster_)\d+')
EVENTS = b'"traceEvents":['
ROWS = b'"rows":['
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{},]', re.S)


def rename_flow_ids(body: bytes) -> bytes:
    """Ids that tie the ends of a flow together are addresses: named 0, 1, 2 … as they appear."""
    names = {}
    return re.sub(rb'("(?:bind_id|flow)": ?"?)([0-9]+)', lambda m: m[1] + names.setdefault(m[2], b'%d' % len(names)), body)


def elements(body: bytes, start: int):
    """The parts between commas of the JSON list or object whose inside begins at `start`, and
    where that inside ends."""
    parts, begin, depth = [], start, 0
    for token in TOKEN.finditer(body, start):
        byte, at = token[0], token.start()
        if byte in (b'{', b'['):
            depth += 1
        elif byte in (b'}', b']'):
            if depth == 0:
                return parts + [body[begin:at]], at
            depth -= 1
        elif byte == b',' and depth == 0:
            parts.append(body[begin:at])
            begin = at + 1
    return parts + [body[begin:]], len(body)


def sort_stack_frames(body: bytes) -> bytes:
    """The stack frame table is written in hash order: its entries are sorted as bytes."""
    start = body.find(FRAMES)
    if start < 0:
        return body
    start += len(FRAMES)
    frames, end = elements(body, start)
    return body[:start] + b','.join(sorted(frames)) + body[end:]


def counter_of(event: bytes):
    """The start of a counter track's event up to its name, which says whose it is; else None."""
    return event[:event.find(b',"name"')] if b',"ph":"C","event_stats"' in event else None


def sort_counters(body: bytes) -> bytes:
    """Counter tracks of one device that follow each other come in hash order: each such run is
    sorted as bytes."""
    start = body.find(EVENTS)
    if start < 0:
        return body
    start += len(EVENTS)
    events, end = elements(body, start)
    out = []
    for owner, run in itertools.groupby(events, counter_of):
        out += run if owner is None else sorted(run)
    return body[:start] + b','.join(out) + body[end:]


def sort_graph(body: bytes) -> bytes:
    """Ids of a graph's nodes and clusters are addresses: named 0, 1, 2 … as they appear. Its hover rules come in
    hash order, the first one indented: they are sorted as bytes."""
    if not body.startswith(b'digraph G {'):
        return body
    names = {}
    lines = body.split(b'\n')
    rules = sorted(line.strip() for line in lines if HOVER in line)
    return b'\n'.join(rules + [
        ADDRESS.sub(lambda m: names.setdefault(m[0], b'%d' % len(names)), line)
        for line in lines if line.strip() and HOVER not in line
    ])


def sort_collectives(body: bytes) -> bytes:
    """The collectives of megascale_stats come in hash order: their rows are sorted as bytes."""
    start = body.find(ROWS)
    if b'{"id":"rendezvous_name",' not in body or start < 0:
        return body
    start += len(ROWS)
    rows, end = elements(body, start)
    return body[:start] + b','.join(sorted(rows)) + body[end:]


RULES = {
    'flow-ids': rename_flow_ids, 'stack-frames': sort_stack_frames, 'counter-order': sort_counters, 'graph': sort_graph,
    'collectives': sort_collectives,
}


def apply(names: list, body: bytes) -> bytes:
    for name in names:
        body = RULES[name](body)
    return body


def settle(bodies: list):
    """The fewest rules that make the bodies equal, and the body after them; None when none do.

    Tables in hash order that came in the same order each time still have no order to rely on, so
    the rules for those are kept wherever they change something.
    """
    bodies = list(set(bodies))
    always = {name for name in ('stack-frames', 'counter-order', 'graph', 'collectives')
              if any(RULES[name](b) != b for b in bodies)}
    for more in (set(), {'flow-ids'}):
        names = [name for name in RULES if name in always | more]
        after = [apply(names, b) for b in bodies]
        if all(b == after[0] for b in after):
            return names, after[0]
    return None
