"""The plan: which profiles there are, and what is asked about each. Read from two tables.

`profiles.tsv`: name, and the generator's arguments or the words of a recording.
`requests.tsv`: profiles (names with `*`, separated by commas), door (`GET` or `xprof`), request.
A request can name what only the profile knows, in braces:

    {run} {host}                                        the first run and its first host
    {at 0.25}                                           a time in the trace, in milliseconds
    {module} {module.entry} {module.root}               the first HLO module, its entry computation, the result of that
    {event.name} {event.start} {event.duration} {event.uid} {event.prefix}     one of its events
"""
import fnmatch
import json
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote


class Profile(NamedTuple):
    """A profile to ask about, and how it is made."""
    name: str
    made_by: str


class Request(NamedTuple):
    """One question. `door` is `GET` for the server and `xprof` for the command line."""
    door: str
    text: str


def rows(path: Path):
    for line in path.read_text(encoding='utf-8').splitlines():
        if line and not line.startswith('#'):
            yield line.split('\t')


def profiles(folder: Path):
    return [Profile(*row) for row in rows(folder / 'profiles.tsv')]


def requests(folder: Path, name: str):
    return [Request(door, text) for patterns, door, text in rows(folder / 'requests.tsv')
            if any(fnmatch.fnmatchcase(name, p) for p in patterns.split(','))]


def facts(server) -> dict:
    """What the requests can name, learned from the oracle; an empty profile knows less."""
    known = {}
    runs = json.loads(server.ask('/runs').body)
    if not runs:
        return known
    known['run'] = quote(runs[0], safe='')
    hosts = json.loads(server.ask(f'/hosts?run={known["run"]}').body)
    if not hosts:
        return known
    known['host'] = quote(hosts[0]['hostname'], safe='')
    known |= module_facts(server, known['run'])
    answer = server.ask(f'/data?run={known["run"]}&tag=trace_viewer@&host={known["host"]}')
    trace = json.loads(answer.body.decode('utf-8', 'replace')) if answer.status == '200' else {}
    events = [e for e in trace.get('traceEvents', []) if e.get('ph') == 'X' and 'ts' in e]
    if not events:
        return known
    known['begin'] = min(e['ts'] for e in events) / 1e3
    known['end'] = max(e['ts'] + e['dur'] for e in events) / 1e3
    event = next((e for e in events[len(events) // 2:] if 'uid' in e.get('args', {})), events[len(events) // 2])
    known |= {'event.name': quote(event['name'], safe=''), 'event.prefix': quote(event['name'][:3], safe=''),
              'event.start': repr(event['ts'] / 1e3), 'event.duration': repr(event['dur'] / 1e3),
              'event.uid': str(event.get('args', {}).get('uid', 0))}
    return known


def module_facts(server, run: str) -> dict:
    """The first HLO module, and what its text begins and ends with; nothing where there is none."""
    module = server.ask(f'/module_list?run={run}').body.decode().split(',')[0]
    if module in ('', 'NO_MODULE'):
        return {}
    text = server.ask(f'/data?run={run}&tag=graph_viewer&type=short_txt&module_name={quote(module, safe="")}').body.decode()
    entry = re.search(r'^ENTRY (\S+) \{$(?:.*\n)*?  ROOT (\S+) = ', text, re.M)
    names = {'module.entry': entry[1], 'module.root': entry[2]} if entry else {}
    return {'module': quote(module, safe=''), **names}


def fill(text: str, known: dict):
    """The request with what is known put in; None when it names something that is not known."""
    def value(match):
        if match[1].startswith('at '):
            span = known['end'] - known['begin']
            return repr(round(known['begin'] + span * float(match[1][3:]), 6))
        return known[match[1]]
    try:
        return re.sub(r'\{([a-z][a-z. 0-9]*)\}', value, text)
    except KeyError:
        return None
