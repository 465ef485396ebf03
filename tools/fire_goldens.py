#!/usr/bin/env python3
"""Records what Python Fire makes of words: tests/golden/fire/{literals,bindings,patterns}.tsv.

Run with the oracle's Python (xprof==2.23.2 installed):  python tools/fire_goldens.py
    literals.tsv   a word, and repr() of its value or `! ` and the TypeError (both JSON)
    bindings.tsv   a command, its words (JSON), and {"args", "named", "rest"} with repr()s, or {"error"}
    patterns.tsv   a pattern (JSON), and the error of re.compile or, for each text of TEXTS, 1 where re.search finds it
    calls.tsv.gz   a whole command line (JSON), and what XProf's main prints with commands that only show their
                   arguments, or `!` and the error's class, or `help`: ten thousand of them
The cases are fixed lists and seeded random ones, so that a new run gives the same files.
"""
import contextlib
import gzip
import inspect
import io
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import warnings
from pathlib import Path

import fire
from fire import core, decorators, inspectutils, parser
from xprof.cli import xprof_cli

OUT = Path(__file__).resolve().parent.parent / 'tests/golden/fire'

WORDS = (r'''1 -1 +1 0 00 0_0 012 0_7 1_000 1__0 1_ 0x1F 0x_f 0xg 0o17 0b101 0b2 1. .5 -.5 1e5 1E-3 1e999 -1e999 1_0.0_1e1_0 012.5 012e1
012j 3j 1.5J 1+2j [1+2j] [-1-2j] [1+2] [2j+1] [1+2j+3j] (1+2j) --5 -(5) - +-5 ~5 1abc 0x 1e 1e+ 1.2.3 1..2 ... .... [...]
True False None true none [True,None] -True [-True] "a" 'a' "a'b" "a""b" "a"b"c" b"x" b'\x00\xff' b"é" rb"\n" Rb'\n' u"a" ur"a" f"a" r"\n"
"\n\t\\\'\"\a\b\f\v\r" "\x41\u00e9\U0001F600" "\x4" "\u12" "\q" "\101\0\8" "\777" "\N{DIGIT ONE}" "\N{no such}" "\N" b"\777" b"\N{A}"
"\ud800" """a""" """a"b""" '''+"'''a'''"+r''' "unclosed 'x"
[] [1,2] [1,2,] [,] [1 2] [1,,2] (1) (1,) (1,2) () (,) 1,2 a,b a, ,a [a,b] [a b] [a.b] [a-b] a-b a.b a/b a:b {} {a:1} {a:1,} {a:1,b:2} {a} {a,}
{1,1.0,True} {a:1,a:2} {1:a,True:b} {**a} {a:b,c} {[1]} {[1]:2} {(1,[2]):3} {{1}} {a:[1]} [{a}] [[[1]]] [1,(2,{b:"c"})] {"a": {"b": [1]}}
[-x] [x+1] -x +x a=b a==b x*y x**y f(x) f() [f(x)] set() [set()] lambda:0 [i for i in x] *a [*a] a[0] "a"[0] not not_x [not] if in class async print
_ __x x_1 é [é] a# a#b #a 5#c [1#c [1,#c
2024_01_02 /tmp/x ./x ~/x C:\x a\b \ a;b a;;b 1;2 !x ?x $x @x %x ^x &x |x <x >x `x` x! [@] {:} {a:} {:a} [x:=1] (x:=1) [1:2] ((1)) ((a)) (a,) (a)b
.*fusion.* ^[a-m] /device:TPU:0 jit_train_step(1234) %fusion.1 a|b (?i)x [x-z] \d+ {2,1} a{2,1} [0-9] [0] [a] (a) (a|b) fusion,copy 1,000 10% 3.0e0 infinity nan inf -inf [nan]''').split()
WORDS += ['', ' ', ' 5', '5 ', '\t5', '\n5', '5\n', '5\n ', '5\n6', '\x0c5', '[1,\n2]', '[1, # c\n2]', '"a\nb"', '"""a\nb"""', '"a" "b"', 'a b',
          '1 2', '- 5', '[ 1 , 2 ]', '( 5 )', '{ a : b }', '1 # c', '# c', '# c\n5', '1\\\n', '[1,\\\n2]', '"a\\\nb"', 'x\r\n', '[1,\r2]', '5;',
          'a # b', '[a # b\n]', '(1\n)', '1 if 1 else 2', 'a and b', 'not a', '1 < 2', '"%s" % a', '[1] + [2]', '"a" b"b"', 'b"a" b"b"', "{'a' 'b': 1}",
          '9' * 40, '9' * 4300, '9' * 4301, '0x' + 'f' * 40, '[' * 90 + ']' * 90, '(' * 201 + ')' * 201, '1' + '0' * 30 + '.5', '0' * 5000]

TEXTS = ['', 'a', 'aa', 'ab', 'A', 'b', 'a\n', 'a\nb', 'fusion.12', 'jit_train_step(7)', '%copy-start.3', 'x y', '_1', '\u00e9', 'e\u0301', '\u00bd', '\u0130\u0131',
         'K\u212a', '\u017f', '\x1c', '\u0663', 'aXbXc', 'abcabc', '/device:TPU:0', '[x]', 'tab\there']
PATTERNS = r'''a ^a a$ \Aa a\Z ^$ . .. a.b (?s)a.b (?m)^b (?m)a$ \bb \Bb \B \b \w \W \d \D \s \S ^\w+$ ^\s$ [a-c] [^a-c] [^a] []a] [^]a] [a-] [-a] [a\-c] [\w.] [^\w] [\d-x] [a-\d]
[b-a] [ [a [] [^] [a-z [\] a** a*+ a+* a?? a{2} a{2,} a{,2} a{2,1} a{ a{} a{,} a{x} {2} * + ? {1} (*) |* (|a) (a|) a||b () ()* (?:)* ^* $* \b* (?:^)* (a)(b)?\2 (a)\1 \1 (\1) (a(\1)) \8 \08 \18 \400 [\400] [\8] \0 \x61 \x6 [\x6] \u0061 \u61 \U00000061 \U00110000 [\U00110000] \N{DIGIT ONE} \N{NOPE} \N{} \N \N{A [\N{LATIN SMALL LETTER A}] \q [\q] \e \_ \- \é \ a\ (\ *\
( ) (a (a)) (?a) (?P<n>a) (?P<n>a)(?P=n) (?P=n) (?P<n>(?P=n)) (?P<n>a)(?P<n>b) (?P<1>a) (?P<>a) (?P<n (?P<n> (?P (?Px) (? (?) (?< (?<x) (?<n>a) (?'n'a) (?=a) (?!a) (?<=a)b (?<!a)b (?<=a+)b (?<=a|b)b (?<=a|bc)b (?<=(a)\1)b (?<=(a))b (a)(?<=\1)b (?<=\1)
(?i)A (?i:A) (?-i:a) (?i-i:a) (?i-:a) (?-:a) (?i (?z) (?i!) (?-) (?-a:a) (?L)a (?L:a) (?u)a (?au)a (?a)(?u)a (?a:\w) (?a)\w (?ai)k (?i)k (?i)s (?i)i (?i)[h-j] (?i)\u0130 (?i)\u00c9 a(?i) (?x)a\ b (?x)[\ ] (?t) (?t:a) (?i)(?x)a (?s:a.b) (?m:^b) (?#c)a (?#c a(?#c)*
(a)?(?(1)b|c) (?(1)a) (?(1)a|b|c) (?(2)a) (?(0)a) (?(x)a) (?(a1)b) (?(-1)a) (?(1 (?() (?P<q>a)?(?(q)b|c) (?>a*)a (?>a|ab)c (?>a)b a*+a a++ a?+a a{1,2}+a (?:a|b)+ (?:a*)* (?:a*)+b (?:a|aa)+$ (a*)*$ ^(a|b)*c$ ^(?:(a)|b)*\1$ a{4294967295} a{0} a{1000} (?:a{2}){3} [[:alpha:]] [[a] [a&&b] [a||b] [a--b] [a~~b] fusion\.\d+ ^jit_.*\(\d+\)$ (?i)FUSION .*Wait.* /device:(TPU|GPU):\d+ ^%?copy-(start|done) \t \a \f \v \r \n \\ \. \/ \[ \] \^ [\b] [\a] [^\n] [^\S] [\S\s] [\W\w] \Z\Z (?<!^)a (?=(a))\1 ((((((((((a)))))))))) ((((((((((a))))))))))\10 (a)(b)(c)\11'''.split()
PATTERNS += ['(?x) a  # c\n b', '(?x)a b', '(?x: a b )', 'a b', 'a\nb(', '\n\n*', '(?x)\n#c\n*', 'x y', '(?x)[ ]', '\ta', '(' * 70 + 'a' + ')' * 70, '(?:a|' * 50 + 'b' + ')' * 50]


def literal(word):
    try:
        return repr(parser.DefaultParseValue(word))
    except TypeError as e:
        return f'! {e}'


def random_words(rng, count):
    pieces = ['1', '2.5', '1e3', 'a', 'b_c', 'True', 'None', '"s"', "'t'", '[', ']', '(', ')', '{', '}', ',', ',', ':', '-', '+', ' ', '.', 'x', '0x1f', '3j', '...', '#', '\\', 'b"y"', '_', 'in']
    for _ in range(count):
        yield ''.join(rng.choice(pieces) for _ in range(rng.randint(1, 7)))


def binding(name, words):
    function = getattr(xprof_cli.XProfCli(), name)
    parse = core._MakeParseFn(function, decorators.GetMetadata(function))
    try:
        (args, named), _, rest, _ = parse(list(words))
    except (core.FireError, TypeError) as e:
        return {'error': ' '.join(str(a) for a in e.args)}
    return {'args': [repr(a) for a in args], 'named': {k: repr(v) for k, v in named.items()}, 'rest': rest}


def random_bindings(rng, count):
    commands = list(xprof_cli.cli_main())
    for _ in range(count):
        name = rng.choice(commands)
        spec = inspectutils.GetFullArgSpec(getattr(xprof_cli.XProfCli(), name))
        known = spec.args + spec.kwonlyargs
        words = []
        for _ in range(rng.randint(0, 6)):
            flag = rng.choice(known + ['nosuch', 'x', known[0][0], rng.choice(known)[0]])
            flag = rng.choice([flag, flag, flag.replace('_', '-'), 'no' + flag])
            value = rng.choice(['R', '3', '-2', '1.5', 'None', 'False', '[1,a]', '', '-', 'x=y', '{[1]}', '"q"'])
            words += rng.choice([[value], [f'--{flag}={value}'], [f'--{flag}', value], [f'--{flag}'], [f'-{flag}'], [f'-{flag}={value}'], [f'-{flag[0]}', value]])
        yield name, words


def pattern(text):
    try:
        compiled = re.compile(text)
    except (re.error, OverflowError, ValueError, RecursionError) as e:
        return f'! {e}'
    return ''.join('1' if compiled.search(t) else '0' for t in TEXTS)


def random_patterns(rng, count):
    pieces = ['a', 'b', 'x', '.', '*', '+', '?', '{2}', '{1,2}', '(', ')', '(?:', '|', '[', ']', '^', '$', '\\b', '\\w', '\\d', '-', '(?=', '(?!', '(?<=', '\\1', '[a-c]', '[^b]', '(?i)', '(?i:', '(?P<n>', '(?P=n)', '(?(1)', '(?>', '\\B', '\\Z', '\\', '\n']
    for _ in range(count):
        yield ''.join(rng.choice(pieces) for _ in range(rng.randint(1, 8)))


class Calls:
    """XProf's command line with commands that only show their arguments."""

    def __init__(self):
        self.touched = False
        exists = pathlib.Path.exists

        def watched(path, **kw):
            found = exists(path, **kw)
            self.touched |= found
            return found

        pathlib.Path.exists = watched
        xprof_cli.xprof_client.get_client = lambda: type('Client', (), {'set_logdir': lambda self, logdir: None})()
        def no_server(cli, *args, **named):
            raise core.FireError('unknown command')

        xprof_cli.XProfCli.__call__ = no_server
        for name, tool in xprof_cli.cli_main().items():
            setattr(xprof_cli.XProfCli, name, staticmethod(xprof_cli._wrap_with_logdir(self.stub(tool))))

    @staticmethod
    def stub(tool):
        def shown(*args, **named):
            named.pop('bypass_cache', None)
            return f'{tool.__name__} {list(args)!r} {named!r}'
        shown.__signature__ = inspect.signature(tool)
        shown.__name__ = tool.__name__
        return shown

    def result(self, words):
        """None where the answer depends on this machine."""
        self.touched = False
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                fire.Fire(xprof_cli.XProfCli(), command=xprof_cli._preprocess_argv(words), name='xprof')
            text = out.getvalue()
        except core.FireExit as e:
            text = '!fire' if e.code else 'help'
        except (core.FireError, TypeError):
            text = '!usage'
        except OSError:
            text = '!path'
        except ValueError:
            text = '!value'
        except Exception:
            text = '!internal'
        return None if self.touched else text


MEMBERS = 'upper lower title strip split __len__ nosuch isdigit swapcase startswith count 0'.split()


def random_calls(rng, count):
    commands = list(xprof_cli.cli_main())
    values = ['R', 'R', 'R', '3', '-2', '1.5', 'None', 'False', '[1,a]', '', '-', 'x=y', '"q"', '2024_01_02', '20240102030405', 'a b', 'é', './no', '/no/x', '1e3']
    literals = [word for word in WORDS if len(word) < 16]
    for _ in range(count):
        name = rng.choice(commands)
        spec = inspectutils.GetFullArgSpec(getattr(xprof_cli.XProfCli(), name))
        known = spec.args + spec.kwonlyargs
        words = [rng.choice([name] * 20 + [name.replace('_', '-'), name.replace('_', '-', 1), name + 's', name.upper()])]
        if rng.random() < 0.8:
            words.append('R')
        for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 4])):
            value = rng.choice(values) if rng.random() < 0.75 else rng.choice(literals)
            flag = rng.choice([each for each in known if each != 'logdir'] * 3 + ['nosuch', 'logdir', 'bypass_cache', known[0][0], rng.choice(known)[0]])
            flag = rng.choice([flag] * 6 + [flag.replace('_', '-'), 'no' + flag])
            alias = rng.choice(['--session_dir', '--session_path', '--source'])
            words += rng.choice([[value], [f'--{flag}={value}'], [f'--{flag}={value}'], [f'--{flag}', value], [f'--{flag}', value], [f'--{flag}'],
                                 [f'-{flag[0]}', value], [f'-{flag}={value}'], [f'{alias}={value}'], [alias, value], [rng.choice(MEMBERS)]])
        if rng.random() < 0.15:
            words += ['-', rng.choice(MEMBERS)]
        if rng.random() < 0.06:
            words.insert(0, rng.choice(['--source=R', '--session_dir=R']))
        if rng.random() < 0.08:
            words += rng.choice([['--'], ['--', '--separator=X'], ['X', 'upper', '--', '--separator', 'X'], ['--', '-v'], ['--', '--help'], ['--help'], ['-h'], ['--', '-t'], ['--', '--nosuch']])
        yield words


def write_calls(rng, count):
    calls, rows, commands = Calls(), {}, set(xprof_cli.cli_main())
    os.chdir(tempfile.mkdtemp())
    for words in random_calls(rng, count * 2):
        key = json.dumps(words)
        if len(rows) < count and key not in rows:
            result = calls.result(words)
            # An unknown command is one whatever follows; XProf would take the rest for its server's.
            is_known = any(word.replace('-', '_') in commands for word in words[:3])
            if result is not None and is_ordered(result) and (is_known or result == '!fire'):
                rows[key] = json.dumps(result)
    os.rmdir(os.getcwd())
    text = ''.join(f'{words}\t{result}\n' for words, result in rows.items())
    (OUT / 'calls.tsv.gz').write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f'calls.tsv.gz: {len(rows)}', file=sys.stderr)


def write(name, rows):
    lines = dict.fromkeys('\t'.join(r) for r in rows)
    (OUT / name).write_text(''.join(line + '\n' for line in lines))
    print(f'{name}: {len(lines)}', file=sys.stderr)


def is_ordered(text):
    """A set of several members is shown in an order of its own."""
    return not re.search(r"\{[^:{}]*,[^:{}]*\}", text)


def main():
    warnings.simplefilter('ignore')
    rng = random.Random(20240917)
    scale = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    global OUT
    OUT = Path(sys.argv[2]) if len(sys.argv) > 2 else OUT
    words = WORDS + list(random_words(rng, 300 * scale))
    rows = [(json.dumps(w), literal(w)) for w in words]
    write('literals.tsv', [(w, json.dumps(r)) for w, r in rows if is_ordered(r) or r.startswith('!')])
    rows = [(n, json.dumps(w), json.dumps(binding(n, w))) for n, w in random_bindings(rng, 400 * scale)]
    write('bindings.tsv', rows)
    rows = [(json.dumps(p), json.dumps(pattern(p))) for p in PATTERNS + list(random_patterns(rng, 300 * scale))]
    write('patterns.tsv', [('texts', json.dumps(TEXTS))] + rows)
    write_calls(rng, 10_000 * scale)


if __name__ == '__main__':
    main()
