"""How goldens lie on disk: one folder a profile.

    NAME/logdir/**/HOST.xplane.pb.gz    the profile
    NAME/answers.tsv                    door, request, status, type, rules, body
    NAME/bodies/HASH.gz                 bodies that are not short text

A short body is written into the table as a JSON string, so that a change of it can be read in a
diff; a longer one is named by its file.
"""
import gzip
import hashlib
import json
import shutil
from pathlib import Path

INLINE_BYTES = 400
HEAD = '# Recorded by tools/regen_goldens.py: door, request, status, content type, rules, body.\n'


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)


def put_profile(folder: Path, logdir: Path):
    """Keeps the profile's own files, compressed."""
    shutil.rmtree(folder / 'logdir', ignore_errors=True)
    for source in sorted(logdir.rglob('*.xplane.pb')):
        target = folder / 'logdir' / (source.relative_to(logdir).as_posix() + '.gz')
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(packed(source.read_bytes()))


def take_profile(folder: Path, logdir: Path):
    """Unpacks a profile that is kept here."""
    for source in sorted((folder / 'logdir').rglob('*.gz')):
        target = logdir / source.relative_to(folder / 'logdir').with_suffix('')
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.decompress(source.read_bytes()))


def put_answers(folder: Path, answers: list):
    """answers: (request, answer, rule names, body), in the plan's order."""
    bodies = folder / 'bodies'
    shutil.rmtree(bodies, ignore_errors=True)
    lines = [HEAD]
    for request, answer, rules, body in answers:
        try:
            text = json.dumps(body.decode(), ensure_ascii=False) if len(body) <= INLINE_BYTES else None
        except UnicodeDecodeError:
            text = None
        if text is None:
            bodies.mkdir(parents=True, exist_ok=True)
            name = hashlib.sha256(body).hexdigest()[:16] + '.gz'
            (bodies / name).write_bytes(packed(body))
            text = '@' + name
        lines.append('\t'.join([request.door, request.text, answer.status, answer.content_type, '+'.join(rules), text]) + '\n')
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'answers.tsv').write_text(''.join(lines), encoding='utf-8')
