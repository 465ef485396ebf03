#!/usr/bin/env python3
"""Records the goldens anew: makes the profiles, asks the oracle, writes tests/golden.

    tools/regen_goldens.py                      everything (minutes)
    tools/regen_goldens.py --only 'tpu*'        some profiles
    tools/regen_goldens.py --record             also records the JAX and TensorFlow runs again

What is asked about which profile stands in tests/golden/requests.tsv and profiles.tsv: a new
request is a new line there. The oracle (XProf 2.23.2) is installed into .venv/oracle on first use.

Each profile is asked about in several fresh processes of the oracle, forth and back. Where their
answers differ, the narrow rules of golden_recorder/rules.py are tried; an answer that still
varies cannot be compared, is left out, and is named at the end.
"""
import argparse
import fnmatch
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from golden_recorder import files, oracle, plan, record, rules

REPOSITORY = Path(__file__).resolve().parent.parent
GOLDEN = REPOSITORY / 'tests' / 'golden'


def make(python: Path, profile: plan.Profile, logdir: Path, again: bool):
    """Lays the profile down in `logdir`, and in its golden folder."""
    folder = GOLDEN / profile.name
    if profile.made_by.startswith('recorded '):
        if not again:
            files.take_profile(folder, logdir)
            return
        record.run(profile.made_by.split()[1:], logdir)
    else:
        subprocess.run([str(python), str(REPOSITORY / 'tools' / 'make_profile'), *profile.made_by.split(), '--quiet',
                        '--out', str(logdir)], check=True)
    files.put_profile(folder, logdir)


def ask_servers(python: Path, logdir: Path, wanted: list, processes: int):
    """The requests as the oracle took them, and a list of answers for each."""
    asked, answers = [], {}
    for turn in range(processes):
        with oracle.Server(python, logdir) as server:
            known = plan.facts(server)
            if 'run' in known:      # as the page does first; side files that this leaves belong to the state
                server.copy.reset()
                server.ask(f'/run_tools?run={known["run"]}')
                server.ask(f'/module_list?run={known["run"]}')
            server.copy.keep()
            filled = [r._replace(text=text) for r in wanted if (text := plan.fill(r.text, known))]
            asked = asked or filled
            for request in filled if turn % 2 == 0 else reversed(filled):
                server.copy.reset()
                answers.setdefault(request, []).append(server.ask(request.text))
    return asked, answers


def ask_commands(python: Path, logdir: Path, wanted: list, processes: int):
    return wanted, {r: [oracle.run_command(python, logdir, r.text) for _ in range(processes)] for r in wanted}


def how_it_varies(given: list) -> str:
    """A hint for people: the statuses when they differ, else where two bodies part."""
    if len({a.status for a in given}) > 1:
        return 'statuses ' + ', '.join(a.status for a in given)
    bodies = [rules.apply(list(rules.RULES), a.body) for a in given]
    one, other = bodies[0], next((b for b in bodies if b != bodies[0]), b'')
    at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), 0)
    return f'{one[max(0, at - 40):at + 60]} | {other[max(0, at - 40):at + 60]}'


def settle(asked: list, answers: dict):
    """What is kept of the answers, and the requests that cannot be told with the hint why."""
    kept, varying = [], []
    for request in asked:
        given = answers[request]
        same = {(a.status, a.content_type) for a in given}
        found = rules.settle([a.body for a in given]) if len(same) == 1 else None
        if found is None:
            varying.append((request, how_it_varies(given)))
        else:
            kept.append((request, given[0], *found))
    return kept, varying


def regenerate(python: Path, profile: plan.Profile, options) -> list:
    wanted = plan.requests(GOLDEN, profile.name)
    with tempfile.TemporaryDirectory(prefix='golden-') as folder:
        logdir = Path(folder) / 'log'
        logdir.mkdir()
        make(python, profile, logdir, options.record)
        served = ask_servers(python, logdir, [r for r in wanted if r.door == 'GET'], options.processes)
        commands = ask_commands(python, logdir, [r for r in wanted if r.door == 'xprof'], min(2, options.processes))
    kept, varying = settle(*served)
    more, also = settle(*commands)
    files.put_answers(GOLDEN / profile.name, kept + more)
    print(f'{profile.name}: {len(kept)} answers of the server, {len(more)} of commands', flush=True)
    return [f'{profile.name}: {r.door} {r.text}\n      {how}' for r, how in varying + also]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default='*', help='profiles to record, as a file pattern')
    parser.add_argument('--record', action='store_true', help='record the JAX and TensorFlow runs again')
    parser.add_argument('--processes', type=int, default=3, help='processes of the oracle that are asked the same')
    parser.add_argument('--jobs', type=int, default=2, help='profiles at a time')
    parser.add_argument('--oracle-python', type=Path, help='a Python that has the oracle and numpy already')
    options = parser.parse_args()
    python = options.oracle_python or oracle.install(REPOSITORY / '.venv' / 'oracle')
    chosen = [p for p in plan.profiles(GOLDEN) if fnmatch.fnmatchcase(p.name, options.only)]
    with ThreadPoolExecutor(options.jobs) as pool:
        varying = sum(pool.map(lambda p: regenerate(python, p, options), chosen), [])
    if varying:
        print('left out, because the oracle varies there:', *varying, sep='\n  ')
    return 0


if __name__ == '__main__':
    sys.exit(main())
