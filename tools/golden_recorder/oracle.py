"""Runs the oracle, XProf 2.23.2, and keeps what it answers.

Each process of the oracle works on its own copy of a profile, below a folder whose name is
replaced by {ROOT} in every answer. The copy is put back before each request, so that no answer
depends on files that an earlier one left.
"""
import gzip
import http.client
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

XPROF = 'xprof==2.23.2'
START_SECONDS = 120
ANSWER_SECONDS = 120


class Answer(NamedTuple):
    """What came back: HTTP status or exit code ('closed' when the connection was), type, body."""
    status: str
    content_type: str
    body: bytes


def install(venv: Path) -> Path:
    """The Python of a virtual environment with the oracle and what the generator needs."""
    python = venv / 'bin' / 'python'
    if not python.exists():
        subprocess.run([os.environ.get('PYTHON', 'python3'), '-m', 'venv', str(venv)], check=True)
        subprocess.run([str(python), '-m', 'pip', 'install', '--quiet', XPROF, 'numpy'], check=True)
    return python


class Copy:
    """A private copy of a log directory: `log/` beside an empty `tmp/` and `home/`."""

    def __init__(self, logdir: Path):
        self.root = Path(tempfile.mkdtemp(prefix='golden-'))
        self.log = self.root / 'log'
        shutil.copytree(logdir, self.log)
        self.keep()
        self.reset()

    def keep(self):
        """Makes the files of this moment the state that `reset` returns to."""
        self.kept = set(self.log.rglob('*'))

    def reset(self):
        for path in sorted(set(self.log.rglob('*')) - self.kept, reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for name in ('tmp', 'home'):
            shutil.rmtree(self.root / name, ignore_errors=True)
            (self.root / name).mkdir()

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def environment(self) -> dict:
        ours = {k: v for k, v in os.environ.items() if not k.startswith(('XPROF', 'PYTHON', 'TF_CPP'))}
        return {**ours, 'HOME': str(self.root / 'home'), 'TMPDIR': str(self.root / 'tmp'), 'TERM': 'dumb', 'COLUMNS': '80'}

    def scrub(self, body: bytes) -> bytes:
        return body.replace(str(self.root).encode(), b'{ROOT}')

    def fill(self, text: str) -> str:
        """Puts this copy's paths in the place of the names that the plan uses for them."""
        profile = next(iter(sorted(self.log.rglob('*.xplane.pb'))), self.log)
        names = {'{LOGDIR}': self.log, '{SESSION}': profile.parent, '{PROFILE}': profile, '{TMP}': self.root / 'tmp'}
        return re.sub(r'\{[A-Z]+\}', lambda m: str(names.get(m[0], m[0])), text)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Server:
    """One process of the oracle's server, on a copy of its own."""

    def __init__(self, python: Path, logdir: Path):
        self.copy, self.port = Copy(logdir), free_port()
        argv = [str(python.parent / 'xprof'), f'--logdir={self.copy.log}', f'--port={self.port}', f'--grpc_port={free_port()}']
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=self.copy.environment(), cwd=self.copy.root, start_new_session=True)
        deadline = time.monotonic() + START_SECONDS
        while self.ask('/version').status != '200':
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise SystemExit(f'the oracle did not start: {shlex.join(argv)}')
            time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.copy.remove()

    def ask(self, target: str) -> Answer:
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=ANSWER_SECONDS)
        try:
            connection.putrequest('GET', self.copy.fill(target), skip_accept_encoding=True)
            connection.putheader('Accept-Encoding', 'gzip')
            connection.endheaders()
            answer = connection.getresponse()
            body = answer.read()
            if answer.headers.get('Content-Encoding') == 'gzip':
                body = gzip.decompress(body)
            return Answer(str(answer.status), answer.headers.get('Content-Type', ''), self.copy.scrub(body))
        except (OSError, http.client.HTTPException):
            return Answer('closed', '', b'')
        finally:
            connection.close()


def run_command(python: Path, logdir: Path, line: str) -> Answer:
    """One command in a process of its own, with nothing cached. Files that it leaves in its
    temporary directory (its cache aside) follow the body, each with its size."""
    copy = Copy(logdir)
    try:
        argv = [str(python.parent / 'xprof')] + [copy.fill(word) for word in shlex.split(line)]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=copy.environment(), cwd=copy.root, timeout=ANSWER_SECONDS, check=False)
        body = copy.scrub(done.stdout)
        for path in sorted((copy.root / 'tmp').rglob('*')):
            name = path.relative_to(copy.root).as_posix()
            if path.is_file() and 'xprof_cli_cache' not in name:
                body += f'--- wrote {name}, {path.stat().st_size} bytes\n'.encode()
        return Answer(str(done.returncode), '', body)
    finally:
        copy.remove()
