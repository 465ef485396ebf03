#!/usr/bin/env python3
"""Compares profile servers on one log directory: cold answer, warm answer, start, peak memory.

    benches/compare.py LOGDIR --server ours=target/release/xprof-rs --server other=COMMAND [--request QUERY ...]
                       [--trials 5] [--warm 3] [--cores 0,1] [--json FILE]

COMMAND takes --logdir, --port and --grpc_port; XProf itself is "VENV/bin/xprof server".

One trial is a fresh copy of LOGDIR, an empty home and temporary folder, and a new process pinned to --cores. The trials of the
servers alternate, so that whatever else the machine does falls on all of them. Measured in a trial:

    ready   from the start of the process to its first answer (/version)
    cold    its first answer to the request, from sending it to the last byte
    warm    median of the same request asked --warm more times
    peak    the most memory that the process, with its children, has had (VmHWM)

Printed are medians with the range, and each server's ratio to the first one named: the median over the trials of the ratio
within a trial. Different sizes or statuses mean that different work was done; then the ratio says little.
"""
import argparse
import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PREFIX = '/data/plugin/profile'
REQUESTS = ['tag=trace_viewer@&host={HOST}&resolution=8000', 'tag=trace_viewer&host={HOST}']
START_TIMEOUT_S = 120
ANSWER_TIMEOUT_S = 900
STOP_TIMEOUT_S = 10


@dataclasses.dataclass
class Trial:
    """What one fresh process did."""

    ready_s: float
    cold_s: float
    warm_s: float
    peak_mib: float
    status: int
    size: int


MEASURES = ('ready_s', 'cold_s', 'warm_s', 'peak_mib')


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


def ask(port, path, timeout_s):
    """Status and size on the wire of one answer, on a connection of its own, as a browser would ask for it."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=timeout_s)
    with contextlib.closing(connection):
        connection.request('GET', path, headers={'Accept-Encoding': 'gzip'})
        answer = connection.getresponse()
        return answer.status, len(answer.read())


def peak_mib(pid):
    """VmHWM of a process and its children."""
    task = pathlib.Path(f'/proc/{pid}')
    status = (task / 'status').read_text().splitlines()
    own = next(int(line.split()[1]) for line in status if line.startswith('VmHWM')) / 1024
    children = [child for thread in (task / 'task').iterdir() for child in children_of(thread)]
    return own + sum(peak_mib(child) for child in children)


def children_of(thread):
    """The processes that a thread started; none where it ended meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return (thread / 'children').read_text().split()
    return []


@contextlib.contextmanager
def serving(command, logdir, cores):
    """A fresh process on a fresh copy of the log directory: gives its pid, its port and the seconds until it was ready."""
    with tempfile.TemporaryDirectory(prefix='compare-') as folder:
        shutil.copytree(logdir, f'{folder}/logdir')
        os.mkdir(f'{folder}/home')
        environment = dict(os.environ, HOME=f'{folder}/home', TMPDIR=f'{folder}/home', XPROF_CACHE_DIR=f'{folder}/home')
        port = free_port()
        argv = ['taskset', '-c', cores, *shlex.split(command)]
        argv += [f'--logdir={folder}/logdir', f'--port={port}', f'--grpc_port={free_port()}']
        started = time.monotonic()
        process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until_ready(command, process, port)
            yield process.pid, port, time.monotonic() - started
        finally:
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until_ready(command, process, port):
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            ask(port, f'{PREFIX}/version', 5)
            return
        except (OSError, http.client.HTTPException):
            if process.poll() is not None:
                sys.exit(f'{command}: ended with {process.returncode} before its first answer')
            if time.monotonic() > deadline:
                sys.exit(f'{command}: no answer within {START_TIMEOUT_S} s')
            time.sleep(0.002)


def measure(command, logdir, path, warm, cores):
    with serving(command, logdir, cores) as (pid, port, ready_s):
        times = []
        for _ in range(1 + warm):
            before = time.monotonic()
            status, size = ask(port, path, ANSWER_TIMEOUT_S)
            times.append(time.monotonic() - before)
        warm_s = statistics.median(times[1:]) if warm else float('nan')
        return Trial(ready_s, times[0], warm_s, peak_mib(pid), status, size)


def first_run(logdir):
    """The name of a run and of one of its hosts."""
    run = min(path for path in (logdir / 'plugins/profile').iterdir() if any(path.glob('*.xplane.pb')))
    return run.name, min(path.name for path in run.glob('*.xplane.pb')).removesuffix('.xplane.pb')


def summary(trials, reference):
    """Median and range of each measure, and its ratio to the reference's, trial by trial."""
    result = {'status': trials[0].status, 'bytes': trials[0].size}
    for name in MEASURES:
        values = [getattr(trial, name) for trial in trials]
        ratios = [value / getattr(other, name) for value, other in zip(values, reference)]
        result[name] = {
            'median': statistics.median(values),
            'min': min(values),
            'max': max(values),
            'ratio': statistics.median(ratios),
        }
    return result


def line(server, result):
    def cell(name, scale, digits, unit):
        measure = result[name]
        middle, low, high = (f'{measure[key] * scale:.{digits}f}' for key in ('median', 'min', 'max'))
        return f'{name.split("_")[0]} {middle} {unit} ({low}-{high}) x{measure["ratio"]:.2f}'

    cells = [
        cell('cold_s', 1, 3, 's'),
        cell('warm_s', 1000, 1, 'ms'),
        cell('peak_mib', 1, 0, 'MiB'),
        cell('ready_s', 1000, 0, 'ms'),
    ]
    return f'  {server:8} ' + '  '.join(cells) + f'  status {result["status"]}, {result["bytes"]:,} bytes'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('logdir', type=pathlib.Path)
    parser.add_argument('--server', action='append', required=True, metavar='NAME=COMMAND')
    parser.add_argument('--request', action='append', metavar='QUERY', help='a /data query without run; {HOST} is the first host')
    parser.add_argument('--trials', type=int, default=5)
    parser.add_argument('--warm', type=int, default=3)
    parser.add_argument('--cores', default='0,1', help='as taskset takes them')
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE')
    args = parser.parse_args()

    servers = dict(server.split('=', 1) for server in args.server)
    reference = next(iter(servers))
    run, host = first_run(args.logdir)
    report = []
    for query in args.request or REQUESTS:
        query = query.replace('{HOST}', host)
        path = f'{PREFIX}/data?run={run}&{query}'
        trials = {name: [] for name in servers}
        for _ in range(args.trials):
            for name, command in servers.items():
                trials[name].append(measure(command, args.logdir, path, args.warm, args.cores))
        print(query)
        for name in servers:
            result = summary(trials[name], trials[reference])
            print(line(name, result), flush=True)
            report.append({'request': query, 'server': name, **result})
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + '\n')


if __name__ == '__main__':
    main()
