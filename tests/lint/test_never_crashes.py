"""Whatever the bytes, a file ends in findings, nothing, or one diagnostic."""

import re
import textwrap
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import mutations
from support.lint import CODE, KERNEL, check

from kernlint.analysis import analyze
from kernlint.errors import KernlintError
from kernlint.fix import fix_source
from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.pool import run_jobs
from kernlint.lint.settings import FileSettings
from kernlint.report.json_ import render
from kernlint.request import Request
from kernlint.rules.registry import all_rules

_LINES = KERNEL.splitlines(keepends=True)
_PIECES = ["(", ")", "[", '"', "'''", "\\", "\n", "\t", "\f", "\0", "=", "# kernlint: ignore[", "]", "lambda:", "é"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, len(KERNEL)), st.sampled_from(_PIECES)), min_size=1, max_size=3))
def test_pieces_put_anywhere(pieces):
    source = KERNEL
    for place, piece in pieces:
        source = source[:place] + piece + source[place:]
    _ends_well(check(source))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(0, len(_LINES) - 1), min_size=1, max_size=4))
def test_lines_left_out(numbers):
    _ends_well(check("".join(line for number, line in enumerate(_LINES) if number not in numbers)))


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["k.py", "n.ipynb", "p.md"]))
def test_any_bytes(data, name):
    _ends_well(check(b"# triton jit\n" + data, name))


#: The programs that the rules document themselves with: kernels of every kind, each with its launcher.
_PROGRAMS = [textwrap.dedent(text) for rule in all_rules() for text in (rule.bad, rule.good)]
_TOKEN = re.compile(r"\w+|[^\w\s]")
_VALUES = [
    "0",
    "-1",
    "1.5",
    "None",
    "'s'",
    "[]",
    "(1,)",
    "{}",
    "lambda a: a",
    "1 << 40",
    "tl.float32",
    "torch",
    "...",
    "*x",
]
_ALL = frozenset({*(rule.code for rule in all_rules()), "KL901", "KL902"})


@st.composite
def _changed_programs(draw):
    """A program with tokens replaced by other names of it or by odd values, or lines left out or exchanged."""
    source = draw(st.sampled_from(_PROGRAMS))
    for _ in range(draw(st.integers(1, 3))):
        tokens = list(_TOKEN.finditer(source))
        lines = source.splitlines(keepends=True)
        if draw(st.booleans()):
            token = tokens[draw(st.integers(0, len(tokens) - 1))]
            names = sorted({other.group() for other in tokens if other.group().isidentifier()})
            new = draw(st.sampled_from([*_VALUES, *names]))
            source = source[: token.start()] + new + source[token.end() :]
        else:
            one, two = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
            lines[one], lines[two] = "" if one == two else lines[two], lines[one]
            source = "".join(lines)
    return source


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_changed_programs())
def test_every_rule_on_programs_gone_wrong(source):
    found = check(source, codes=_ALL)
    assert not [finding for finding in found if "internal error" in finding.message], source


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_changed_programs(), st.booleans())
def test_verdicts_and_fixes_of_programs_gone_wrong(source, follow_ups):
    """The answer is a verdict, the same each time, or a reason why there is none; and so for the fix."""
    assert _answer(source) == _answer(source)
    with suppress(KernlintError):
        after = fix_source(Request(source, path="k.py"), unsafe=True, follow_ups=follow_ups).after
        compile(after, "k.py", "exec", dont_inherit=True)


def _answer(source):
    try:
        return render(analyze(source, path="k.py"), True)
    except KernlintError as error:
        return str(error)


def test_a_dot_in_a_kernel_that_stores_nothing():
    (program,) = [textwrap.dedent(rule.bad) for rule in all_rules() if rule.code == "KL203"]
    lines = [line for line in program.splitlines() if "tl.store" not in line]
    assert not [finding for finding in check("\n".join(lines), codes=_ALL) if finding.code == "KL902"]


#: What the program would compute for hours, run out of memory on, or get raised.
_TOO_MUCH = {
    "a literal of 20,000 digits": "c = 0x" + "f" * 20_000,
    "squares": "c = 3\nfor _ in range(40):\n    c = c * c",
    "squares of an argument": "c = M\nfor _ in range(40):\n    c = c * c + N",
    "terms": "c = M\nfor _ in range(20):\n    c = (c + N) * (c + K)",
    "index arithmetic": "c = M\nfor _ in range(60):\n    c = c % 7 + c // 7",
    "remainders": "c = M\nfor _ in range(60):\n    c = N + c - c // 7 * 7",
    "minima": "c = M\nfor _ in range(60):\n    c = min(c + N, c - K)",
    "a coefficient": "c = M\nfor _ in range(40):\n    c = c * 2 ** 200",
    "a power": "c = 7 ** 10 ** 9",
    "pow": "c = pow(7, 10 ** 9)",
    "a shift": "c = 1 << 10 ** 9",
    "an integer read from text": "c = int('9' * 4000)",
    "text that doubles": "c = 'ab'\nfor _ in range(60):\n    c = c + c",
    "text that is replaced": "c = 'a' * 9000\nfor _ in range(9):\n    c = c.replace('a', c)",
    "a formatted width": "c = '%9999999999d' % 1",
    "a list that doubles": "c = [1]\nfor _ in range(60):\n    c.extend(c)",
    "a list that is added": "c = [M]\nfor _ in range(60):\n    c += c",
    "a tuple that doubles": "c = (M,)\nfor _ in range(60):\n    c = c + c",
    "methods without arguments": "c = {}\nc.setdefault()\nc.pop()",
    "an unhashable key": "c = {}\nc.setdefault([], 1)",
    "an index that is not there": "c = [1]\nc.pop(5)",
    "a set of lists": "c = set([[1], [2]])",
    "sorted tuples of no order": "c = sorted([(1, 's'), (1, None)])",
    "functions without arguments": "c = abs()\nc = int()\nc = min(1, None)",
    "a power of a list": "c = [1] ** 2",
    "a list of lists": "c = [1]\nfor _ in range(200):\n    c = [c, c]\nc = len(str(c))",
    "a tuple of tuples": "c = (1,)\nfor _ in range(200):\n    c = (c, c)\nc = str(c)",
    "dictionaries in dictionaries": "c = {}\nfor _ in range(200):\n    c = {'x': c, 'y': c}\nc = str(c)",
    "a set of tuples": "c = (1,)\nfor _ in range(200):\n    c = tuple({c, (c, c)})\nc = len(c)",
    "a key of tuples": "c = (1,)\nd = {}\nfor _ in range(200):\n    c = (c, c)\n    d[c] = c\n    d.get(c)\n    d.setdefault(c, c)",
    "lists that are compared": "c = [1]\nd = [1]\nfor _ in range(200):\n    c, d = [c, c], [d, d]\nc = 16 if c == d else 32",
    "lists that either branch may leave": "c = [1]\nd = [1]\nfor _ in range(200):\n    c, d = [c, c], [d, d]\nif M > N:\n    c = d",
    "a list that is searched": "c = [1]\nd = [1]\nfor _ in range(200):\n    c, d = [c, c], [d, d]\nc = c.index(d) if d in c else 16",
    "zipped lists": "c = [1, 2]\nfor _ in range(200):\n    c = list(zip(c, c))\nc = str(c)",
    "mapped lists": "c = [1, 2]\nfor _ in range(200):\n    c = list(map(lambda x: (c, c), c))\nc = sorted(c)",
    "comprehensions": "c = [1]\nfor _ in range(200):\n    c = [c for _ in range(2)]\nc = str(c)",
    "arguments in arguments": "f = lambda *a: a\nc = 1\nfor _ in range(200):\n    c = f(c, c)\nc = str(c)",
    "lists that are filled from above": "d = [[] for _ in range(200)]\n"
    "for i in range(199):\n    d[i].append(d[i + 1])\n    d[i].append(d[i + 1])\n"
    "c = str(d[0])\nd[0] == d[1]\nc = d[0]",
    "dictionaries that are filled from above": "d = [{} for _ in range(200)]\n"
    "for i in range(199):\n    d[i]['x'] = d[i + 1]\n    d[i]['y'] = d[i + 1]\n"
    "c = str(d[0])\nc = d[0]",
    "objects that are filled from above": "class A: pass\nd = [A() for _ in range(200)]\n"
    "for i in range(199):\n    d[i].x = d[i + 1]\n    d[i].y = d[i + 1]\n"
    "c = str(d[0])\nc = d[0]",
    "classes of classes": "class A: pass\nclass B: pass\nfor _ in range(60):\n    class C(A, B): pass\n    class D(A, B): pass\n"
    "    A, B = C, D\nc = A()\nd = c.x\nd = str(A)\nc = isinstance(c, B)",
    "a list in itself": "c = [1]\nc.append(c)\nc[0] = c\nd = str(c)\nd = c == [c]\nd = torch.tensor(c)",
    "a dictionary in itself": "c = {}\nc['x'] = c\nd = str(c)\nd = c == {'x': c}",
    "a list that goes deep": "c = [1]\nfor _ in range(3000):\n    c = [c]\nc = str(c)",
    "a number of texts": "c = 10 ** 9 * 'a'",
    "a number of lists": "c = 10 ** 9 * [0]",
    "a number of lists of an argument": "c = 10 ** 9 * [M]",
    "the text of many long texts": "c = ['a' * 9000] * 9000\nfor _ in range(50):\n    d = str(c)",
    "text that is replaced everywhere": "for _ in range(2000):\n    c = ('a' * 9000).replace('a', 'b' * 9000)",
    "joined text": "c = 'ab'\nfor _ in range(60):\n    c = c.join([c, c, c])",
    "text with a wide field": "c = '{:9999999999}'.format(1)",
    "a formatted string of a width": "c = f'{1:9999999999}'\nc = f'{1:{10 ** 9}}'",
    "text that is centred": "c = 'a'.center(10 ** 10)\nc = 'a'.ljust(10 ** 10)\nc = 'a'.zfill(10 ** 10)",
    "text with tabs": "c = '\\t'.expandtabs(10 ** 10)",
    "bytes": "c = b'a' * 10 ** 10\nc = bytes(10 ** 10)\nc = bytearray(10 ** 10)",
    "a rounded number": "c = round(5, -10 ** 9)",
    "a power of a power": "c = 2 ** 2 ** 2 ** 2 ** 2 ** 2",
    "a power by three": "c = pow(3, 10 ** 9, 7)",
    "a negative shift of a shift": "c = 1 << 200 << 200 << 200 << 200\nc = 1 >> -1",
    "a factorial": "import math\nc = math.factorial(10 ** 7)\nc = math.comb(10 ** 7, 10 ** 6)\nc = math.perm(10 ** 6)",
    "a product": "import math\nc = math.prod([2 ** 500] * 9000)",
    "a sum of lists": "for _ in range(100):\n    c = sum([[1]] * 9000, [])",
    "all pairs": "import itertools\nc = list(itertools.product(*[[1, 2]] * 60))\nc = list(itertools.permutations(range(60)))",
    "a list of all numbers": "c = list(range(10 ** 12))",
    "a loop over all numbers": "c = 0\nfor i in range(10 ** 12):\n    c += i",
    "a list that is asked for its length": "d = [0] * 9000\nfor _ in range(4000):\n    c = len(d)",
}


#: What stands before and after such lines in each place.
_PLACES = {
    "kernel": ("    acc = tl.zeros", "\nacc_of = (M, c)"),
    "launcher": ("    product[(16, 16)]", "\nproduct[(16, c)](a, b, a, c, 16, 16, BM=c, BN=16, BK=16)"),
}


@pytest.mark.product
@pytest.mark.parametrize(
    "places",
    [
        pytest.param(tuple(_PLACES), id="both"),
        *(pytest.param((place,), id=place, marks=pytest.mark.slow) for place in _PLACES),
    ],
)
@pytest.mark.parametrize("lines", _TOO_MUCH.values(), ids=_TOO_MUCH)
def test_values_that_no_program_has(lines, places):
    source = KERNEL
    for before, last in map(_PLACES.get, places):
        assert before in source
        source = source.replace(before, textwrap.indent(lines + last, "    ") + "\n" + before)
    start = time.process_time()
    assert not [finding for finding in check(source, codes=_ALL) if finding.code == "KL902"]
    assert time.process_time() - start < 10


#: What a slip of the pen makes of a rule's example: the code, what is replaced, and by what.
_SLIPS = {
    "a tile of more bytes than numbers reach": ("KL106", "tl.arange(0, D)", "tl.arange(0, D ** BN)"),
    "a tensor of no type": ("KL312", "torch.float16", "torch.jit"),
}


@pytest.mark.parametrize(("code", "old", "new"), _SLIPS.values(), ids=_SLIPS)
def test_slips_of_the_pen(code, old, new):
    (program,) = [textwrap.dedent(rule.bad) for rule in all_rules() if rule.code == code]
    assert old in program
    assert not [finding for finding in check(program.replace(old, new), codes=_ALL) if finding.code == "KL902"]


def test_a_parameter_that_hides_triton():
    source = """
import torch
import triton
import triton.language as x

@triton.jit
def k(x, o, B: x.constexpr):
    a = x.arange(0, B)
    x.atomic_max(o + a, x.load(x + a))

def run(x):
    o = torch.zeros(16, dtype=torch.bfloat16)
    k[(1,)](x, o, B=16)
"""
    assert not [finding for finding in check(source, codes=_ALL) if finding.code == "KL902"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("    ", "\t"),
        lambda text: text.replace("\n\n\n", "\n\f\n\n"),
        lambda text: text + "# é 核\n",
    ],
    ids=["CRLF", "byte-order mark", "tabs", "form feed", "not ASCII"],
)
def test_layout_changes_no_finding(change):
    def told(source):
        return [(f.code, f.message, f.fingerprint, f.kernel) for f in check(source) if f.code != "KL911"]

    assert told(KERNEL) and told(change(KERNEL)) == told(KERNEL)


def test_a_model_without_forward_is_one_class_among_others():
    source = f"class ModelNew:\n    pass\n\n\n{KERNEL}"
    assert [finding.code for finding in check(source)] == [CODE]


def test_a_size_of_tensors_is_none():
    source = KERNEL.replace("product[(16, 16)](a, b, c, 2048", "product[(16, 16)](a, b, c, (a, b).numel()")
    _ends_well(check(source))


@pytest.mark.parametrize(
    "tile", ["tl.arange(4000, 0)", "tl.zeros((-16,), dtype=tl.int32)", "tl.arange(0, 16)[None, :-4]"]
)
def test_tiles_of_less_than_nothing(tile):
    source = KERNEL.replace(
        "    tl.store(", f"    none = {tile}\n    tl.store(b_ptr + none, tl.load(a_ptr + none))\n    tl.store("
    )
    _ends_well(check(source))


def test_a_rewrite_that_crashes_costs_its_fix(monkeypatch):
    def crash(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("kernlint.lint.check_file.Check._made", crash)
    job = Job("k.py", KERNEL.encode(), FileSettings(_ALL), fixes=True)
    found = {finding.code: finding for finding in check_file(job).findings}
    assert found[CODE].fix is None
    assert "the fix of KL101: internal error" in found["KL902"].message


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_every_rule_and_fix_on_real_kernels_gone_wrong(first):
    seeds = range(first, first + 100)
    results = run_jobs([mutations.job(seed) for seed in seeds], workers=1)
    assert list(mutations.bad_ends(seeds, results)) == []


def _ends_well(findings):
    codes = [finding.code for finding in findings]
    assert not [f for f in findings if "internal error" in f.message], findings
    assert sum(code.startswith("KL90") for code in codes) <= 1
    assert set(codes) <= {CODE, "KL901", "KL902", "KL903", "KL911", "KL912"}
