#!/usr/bin/env python3
"""The names and ids of the TPU's hardware counters, from an installed XProf.

    tools/counter_names.py --oracle-python PATH [--check]

Writes src/opstats/counters/names/CHIP.txt. A line is one counter, in XProf's order: how many
letters its name shares with the one before, the other letters, and by how much its id is larger.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

CHIPS = ('v6e', 'v7x')
FOLDER = pathlib.Path(__file__).resolve().parent.parent / 'src/opstats/counters/names'
ASK = ('import json, sys; from xprof.convert import counter_extractor; '
       'print(json.dumps(counter_extractor.get_all_counters(sys.argv[1])))')


def encode(counters):
    lines, last_name, last_id = [], '', 0
    for counter in counters:
        name, number = counter['name'], counter['val']
        shared = len(os.path.commonprefix([last_name, name]))
        lines.append(f'{shared} {name[shared:]} {number - last_id}\n')
        last_name, last_id = name, number
    return ''.join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--oracle-python', required=True, help='a Python that has XProf')
    parser.add_argument('--check', action='store_true', help='compare instead of writing')
    args = parser.parse_args()
    for chip in CHIPS:
        asked = subprocess.run([args.oracle_python, '-c', ASK, chip], check=True, capture_output=True)
        text = encode(json.loads(asked.stdout))
        path = FOLDER / f'{chip}.txt'
        if not args.check:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f'{path} is not what XProf has')


if __name__ == '__main__':
    main()
