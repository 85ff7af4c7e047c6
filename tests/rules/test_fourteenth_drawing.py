"""What readers of the thirteenth and fourteenth drawing found debatable or wrong: each kind of it, and what is like it and stays."""

from __future__ import annotations

import operator
from pathlib import Path

import pytest

from kernlint.interpret.frontend.check import from_host
from kernlint.interpret.python.operators import python_compare
from kernlint.interpret.values import Comparison
from kernlint.lint.check_file import Job, check_file
from kernlint.lint.settings import FileSettings
from kernlint.workload import expr as ex
from tests.rules.test_eighth_drawing import told
from tests.rules.test_twelfth_drawing import levels
from tests.support.values import HEADER

SYMBOLS = n, m = [ex.Expr.atom(ex.Symbol(name)) for name in ("n", "m")]
POWER = ex.opaque("pow2", n)


@pytest.mark.parametrize(
    ("left", "name", "right", "answer"),
    [
        pytest.param(n, "<=", POWER, True, id="within its power of two"),
        pytest.param(n, ">", POWER, False, id="beyond it"),
        pytest.param(ex.minimum(n, m), ">", n, False, id="the lesser of two"),
        pytest.param(ex.maximum(n, 16), "<", 16, False, id="at least"),
        pytest.param(n, "<=", ex.lift(ex.ceildiv(n, 64)) * 64, True, id="whole tiles"),
        pytest.param(ex.lift(ex.floordiv(n, m)) * m, "<=", n, True, id="tiles of an open size"),
        pytest.param(n, "<", POWER, None, id="a power of two is its own"),
        pytest.param(POWER, ">", 65536, None, id="capped"),
        pytest.param(n, "<=", ex.minimum(POWER, 1024), None, id="a capped tile"),
        pytest.param(n, "<", 0, None, id="an argument may be negative"),
        pytest.param(n, "<=", ex.lift(ex.ceildiv(n, 64)) * 32, None, id="half of the tiles"),
    ],
)
def test_what_holds_at_all_sizes(left: ex.Size, name: str, right: ex.Size, answer: bool | None) -> None:
    functions = {"<": operator.lt, "<=": operator.le, ">": operator.gt}
    found = python_compare(name, functions[name], left, right)
    assert found is answer if answer is not None else isinstance(found, Comparison)


COPY = """
@triton.jit
def copy(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
"""
FAILING = COPY.replace("copy", "{name}").replace(
    "    tl.store", "    v = x.astype\n    m = tl.float32(0.0)\n    tl.store"
)
CHOICE = """
def run(x, causal=False):
    y = torch.empty_like(x)
    n = x.shape[-1]
    B = triton.next_power_of_2(n)
    if {test}:
        copy[(1,)](x, y, n, B=B)
    else:
        failing[(1,)](x, y, n, B=B)
    return y
"""


@pytest.mark.parametrize(
    ("test", "level"),
    [
        pytest.param("n <= B", "info", id="no size"),
        pytest.param("not causal", "warning", id="a flag that nobody sets here"),
        pytest.param("n <= min(B, 1024)", "error", id="large sizes"),
    ],
)
def test_a_launch_that_no_size_gets_to(test: str, level: str) -> None:
    source = COPY + FAILING.format(name="failing") + CHOICE.format(test=test)
    assert {one.severity for one in told("KL729", source)} == {level}


CALL = """
def run(x):
    y = torch.empty_like(x)
    copy[(1,)](x, y, 64, B=64)
    return y
"""


@pytest.mark.parametrize(
    ("rest", "level"),
    [
        pytest.param(CALL, "info", id="others are launched"),
        pytest.param("", "warning", id="a file of kernels"),
        pytest.param(CALL + "\nKERNELS = {'old': old}\n", "warning", id="named"),
    ],
)
def test_a_kernel_that_the_file_never_launches(rest: str, level: str) -> None:
    assert {one.severity for one in told("KL729", COPY + FAILING.format(name="old") + rest)} == {level}


ADD = """
@triton.jit
def add(x, r, y, n, HAS: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    if HAS:
        v += tl.load(r + i * 2.0, mask=i < n)
    tl.store(y + i, v, mask=i < n)

def _added(x, r=None):
    y = torch.empty_like(x)
    if r is not None:
        {check}
    add[(1,)](x, r, y, 64, r is not None, B=64)
    return y

def run(x):
    return _added(x, {given})
"""


@pytest.mark.parametrize(
    ("check", "given", "level"),
    [
        pytest.param("assert r.shape == x.shape", "True", {}, id="a flag has no shape"),
        pytest.param("assert r.shape == x.shape", "torch.ones(64)", {"error"}, id="a tensor has one"),
        pytest.param("print(r)", "True", {"error"}, id="nobody asks"),
    ],
)
def test_a_launch_behind_what_the_host_refuses(check: str, given: str, level: set[str]) -> None:
    assert {one.severity for one in told("KL729", ADD.format(check=check, given=given))} == set(level)


MADE = """
def look():
    x = torch.randn(256, device="cuda")
    y = torch.empty_like(x)
    {launch}
    {after}
"""
SHORT = "copy[(1,)](x, y, 256, B=128)"


@pytest.mark.parametrize(
    ("launch", "after", "level"),
    [
        pytest.param(SHORT, "torch.cuda.synchronize()", "info", id="nobody"),
        pytest.param(SHORT, "print(y.shape, y.stride(0))", "info", id="its form alone"),
        pytest.param(SHORT, "print(y)", "error", id="printed"),
        pytest.param(SHORT, "print(f'{y.cpu()}')", "error", id="printed in a text"),
        pytest.param(SHORT, "assert torch.allclose(x, y)", "error", id="compared"),
        pytest.param(SHORT, "return y", "error", id="returned"),
        pytest.param(SHORT, "z = y", "error", id="another name"),
        pytest.param(SHORT, "copy[(1,)](y, x, 256, B=256)\n    return x", "error", id="read by another launch"),
        pytest.param(f"{SHORT}\n    {SHORT}", "return 0", "info", id="warmed up"),
    ],
)
def test_a_launch_whose_results_nobody_reads(launch: str, after: str, level: str) -> None:
    source = COPY + MADE.format(launch=launch, after=after)
    assert {one.severity for one in told("KL751", source)} == {level}


CLOCKED = """
@triton.jit
def clocked(x, took, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
    tl.store(took + tl.program_id(0), 1)

def main():
    x = torch.randn(256, device="cuda")
    took = torch.empty(1, device="cuda")
    clocked[(1,)](x, took, 256, B=128)
    print(took{after})
"""


@pytest.mark.parametrize(("after", "level"), [("", "info"), (", x.shape", "info"), (", x.sum()", "error")])
def test_a_measurement_whose_times_alone_are_read(after: str, level: str) -> None:
    assert {one.severity for one in told("KL751", CLOCKED.format(after=after))} == {level}


def test_a_buffer_of_the_caller_may_be_read() -> None:
    source = COPY + "\ndef fill(y):\n    x = torch.randn(256, device='cuda')\n    copy[(1,)](x, y, 256, B=128)\n"
    assert [one.severity for one in told("KL751", source)] == ["error"]


HALVE = """
@triton.jit
def halve(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * 0.5)

def halved(x):
    y = torch.empty_like(x)
    halve[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
    return y
"""


@pytest.mark.parametrize(
    ("calls", "levels_told"),
    [
        pytest.param("", {"warning"}, id="nobody"),
        pytest.param("print(halved(torch.ones(256)))", {"info"}, id="whole tiles"),
        pytest.param("print(halved(torch.ones(256)), halved(torch.ones(100)))", {"warning"}, id="a partial tile"),
        pytest.param("def check(k=100):\n    print(halved(torch.ones(k)))\n", {"info", "warning"}, id="never called"),
        pytest.param("def check(k=100):\n    print(halved(torch.ones(k)))\ncheck()", {"error", "warning"}, id="called"),
    ],
)
def test_tails_of_the_sizes_that_the_file_calls_with(calls: str, levels_told: set[str]) -> None:
    assert {one.severity for one in told("KL736", HALVE + calls)} <= levels_told


IMPORTING = HEADER + "from triton.ops.matmul import matmul\n" + COPY


@pytest.mark.parametrize(
    ("more", "others", "level"),
    [
        pytest.param("", {"__init__.py": ""}, "info", id="of a package"),
        pytest.param("", {"__init__.py": "from .old import copy\n"}, "error", id="imported"),
        pytest.param("print(copy)\n", {"__init__.py": ""}, "error", id="a script"),
        pytest.param("", {}, "error", id="of no package"),
    ],
)
def test_a_removed_module_in_a_file_that_no_other_imports(
    tmp_path: Path, more: str, others: dict[str, str], level: str
) -> None:
    assert levels(tmp_path, "old.py", "KL803", {"old.py": IMPORTING + more, **others}) == [level]


BISECTION = """
@triton.jit
def search(x, y, n, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B)) {times}
    for i in range(n):
        one = tl.load({what})
        lo = 0
        for _ in range(8):
            lo = tl.where(one > lo, lo + 1, lo)
        tl.store(y + i, lo)

def run(x, y):
    search[(1,)](x, y, x.numel(), B=64)
"""


@pytest.mark.parametrize(
    ("times", "what", "refused"),
    [
        pytest.param("* 2.0", "v + i", 1, id="products"),
        pytest.param("", "v + i", 1, id="loaded values"),
        pytest.param("", "x + i", 0, id="a pointer"),
        pytest.param(".to(y.dtype)", "v + i", 0, id="perhaps addresses"),
        pytest.param(".to(tl.pointer_type(y.dtype.element_ty))", "v + i", 0, id="addresses"),
    ],
)
def test_a_load_through_values(times: str, what: str, refused: int) -> None:
    source = BISECTION.format(times=times, what=what)
    assert len(told("KL729", source)) == refused
    if refused:
        assert not told("KL710", source), "what cannot be loaded has no type"


def test_what_has_only_a_name_may_be_a_pointer() -> None:
    name = ex.Expr.atom(ex.Symbol("bias"))
    assert from_host("b", name, True).pointer is None
    assert from_host("b", name * 2, True).pointer is False


SCRIPT = """
@triton.jit
def scale(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * HEAD, mask=i < n)

def run(x):
    y = torch.empty_like(x)
    scale[(1,)](x, y, x.numel(), B=64)
    return y

{before}
if __name__ == "__main__":
    HEAD = {value}
    run(torch.ones(4))
"""


@pytest.mark.parametrize(
    ("before", "value", "found"),
    [
        ("", "64", 1),
        ("", "2.5", 1),
        ("", "tl.constexpr(64)", 0),
        ("", "make()", 0),
        ("HEAD = tl.constexpr(4)", "64", 0),
    ],
)
def test_a_number_of_the_part_for_scripts(before: str, value: str, found: int) -> None:
    assert len(told("KL720", SCRIPT.format(before=before, value=value))) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("WIDE, HEAD = 3, 64", 1),
        ("(WIDE, HEAD), REST = (3, 64), 5", 1),
        ("WIDE, HEAD = 3, tl.constexpr(64)", 0),
        ("WIDE, HEAD = make()", 0),
        ("WIDE, HEAD = 64, make()", 0),
        ("WIDE, *HEAD = 3, 64, 5", 0),
    ],
)
def test_a_number_among_several_of_the_part_for_scripts(line: str, found: int) -> None:
    told_of = told("KL720", SCRIPT.format(before="", value="1").replace("HEAD = 1", line))
    assert [one.fix for one in told_of] == [None] * found  # a part of a tuple is not made tl.constexpr alone


PAGE = "一个内核：\n\n```python\nimport triton\n@triton.jit\ndef k(x): pass\n```\n\n它的调用。\n\n```python\nk[(1,)](x)\n```\n"


@pytest.mark.parametrize(
    ("text", "level"),
    [
        pytest.param(PAGE, "info", id="a page"),
        pytest.param(PAGE + "import torch\n", "error", id="code beside it"),
        pytest.param(PAGE.split("它")[0], "error", id="an answer with one fence"),
        pytest.param("import triton\n@triton.jit\ndef k(x): pass\n请解释。\n", "error", id="a stray line"),
        pytest.param("# copy into Colab\n%cd /content\n!git clone x\nimport triton\n", "info", id="a cell"),
        pytest.param("!git clone x\nimport triton\ndef k(x: pass\n", "error", id="a cell with a fault"),
        pytest.param("import triton\nx = 5 % !y\n", "error", id="a mark within a statement"),
        pytest.param("    import triton\n    return triton\n", "info", id="a part"),
        pytest.param("import triton\n    x = 1\n", "error", id="one line that stands in"),
        pytest.param(
            "import triton\ndef f({{ args }}):\n{% if a %}\n    x = {{ b }}\n{% endif %}\n    return ${y}\n",
            "info",
            id="a template",
        ),
        pytest.param("import triton\ndef f({{ args }}:\n    pass\n", "error", id="a template with a mistake"),
        pytest.param("import triton\nx = {{1}, {2}\n", "error", id="an open bracket"),
    ],
)
def test_a_page_under_the_name_of_a_program(text: str, level: str) -> None:
    found = check_file(Job("page.py", text.encode(), FileSettings(frozenset({"KL901"})))).findings
    assert [one.severity for one in found] == [level]


TUNED = """
@triton.autotune([triton.Config({{"B": 64}})], {names})
@triton.jit
def copy(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
"""


@pytest.mark.parametrize(
    ("pin", "names", "level"),
    [
        pytest.param("triton==3.9.0", 'key=["K"]', ["error"], id="refused"),
        pytest.param("torch==2.9.0", 'key=["K"]', ["warning"], id="left out"),
        pytest.param("torch==2.9.0", 'key=["n"]', [], id="a parameter"),
        pytest.param("torch==2.9.0", 'key=["n"], restore_value=["z"]', ["error"], id="refused by all"),
        pytest.param("torch==2.9.0", "key=KEYS", [], id="not in view"),
    ],
)
def test_a_name_that_a_tuner_of_the_time_leaves_out(tmp_path: Path, pin: str, names: str, level: list[str]) -> None:
    (tmp_path / "requirements.txt").write_text(pin)
    path = tmp_path / "kernels.py"
    path.write_text(HEADER + TUNED.format(names=names))
    found = check_file(Job(str(path), path.read_bytes(), FileSettings(frozenset({"KL714"})))).findings
    assert [one.severity for one in found] == level
