"""What readers of earlier drawings found debatable: each kind of it is a remark, and what is like it and is sure stays what it was."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from kernlint.lint.check_file import Job, check_file
from kernlint.lint.settings import FileSettings
from tests.rules.test_eighth_drawing import told
from tests.support.values import HEADER

PAGE = """
A kernel:

```python
import torch, triton
import triton.language as tl

@triton.jit
def my_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
{between}
def test(x, y):
    my_kernel(x)  # of triton
```
"""


@pytest.mark.parametrize(
    ("between", "level"), [pytest.param("```\n\nIts test:\n\n```python", "info", id="two"), ("", "error")]
)
def test_fences_of_a_page_need_not_be_one_program(between: str, level: str) -> None:
    assert [one.severity for one in told("KL712", PAGE.format(between=between), "page.md")] == [level]


def levels(folder: Path, file: str, code: str, others: dict[str, str]) -> list[str]:
    """The levels of what ``code`` finds in the ``file`` of a project in ``folder``, beside ``others``, each with its text."""
    (folder / "pyproject.toml").write_text("[project]\nname = 'p'\n")
    for name, text in others.items():
        (folder / name).write_text(text)
    path = folder / file
    job = Job(str(path), path.read_bytes(), FileSettings(frozenset({code})))
    return [one.severity for one in check_file(job).findings]


OLD = HEADER + textwrap.dedent("""
    @triton.jit
    def kernel(x, y, B: tl.constexpr):
        i = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
        v = tl.load(x + i)
        tl.store(y + i, tl.dot(v, v, trans_b=True))

    def square(x):
        y = torch.empty_like(x)
        kernel[(1,)](x, y, B=64)
        return y
""")


@pytest.mark.parametrize(
    ("more", "others", "level"),
    [
        pytest.param("", {}, "info", id="shelved"),
        pytest.param("", {"user.py": "from old import square\n"}, "error", id="imported"),
        pytest.param("", {"__init__.py": ""}, "info", id="shelved in a package"),
        pytest.param("", {"__init__.py": "# from .old import square\n"}, "info", id="imported once"),
        pytest.param("", {"__init__.py": "LAZY = {'square': '.old'}\n"}, "error", id="imported when asked for"),
        pytest.param("", {"README.md": "Run `old.py`.\n"}, "error", id="named on a page"),
        pytest.param("", {"README.md": "Old things are older.py and the old ones.\n"}, "info", id="another word"),
        pytest.param("square(torch.ones(64, 64))\n", {}, "error", id="a script"),
        pytest.param("if __name__ == '__main__':\n    print(square)\n", {}, "error", id="run by its name"),
    ],
)
def test_a_removed_parameter_in_a_file_that_nothing_uses(
    tmp_path: Path, more: str, others: dict[str, str], level: str
) -> None:
    assert levels(tmp_path, "old.py", "KL801", {"old.py": OLD + more, **others}) == [level]


HALF_MASKED = HEADER + textwrap.dedent("""
    @triton.jit
    def halve(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i) * 0.5, mask=i < n)

    def halved(x):
        y = torch.empty_like(x)
        halve[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
""")
CALLS = "from ops import halved\n\ndef forward(x):\n    return halved(x)\n"


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize(
    ("others", "level"),
    [
        pytest.param({"bench.ipynb": notebook(CALLS)}, "info", id="a notebook"),
        pytest.param({"bench.ipynb": notebook(CALLS), "model.py": CALLS}, "warning", id="and a module"),
        pytest.param({"bench.ipynb": notebook("halved_too(x)")}, "warning", id="another function"),
        pytest.param({}, "warning", id="nobody"),
    ],
)
def test_a_missing_mask_where_only_a_notebook_calls(tmp_path: Path, others: dict[str, str], level: str) -> None:
    assert levels(tmp_path, "ops.py", "KL735", {"ops.py": HALF_MASKED, **others}) == [level]


FUNCTION = HEADER + textwrap.dedent("""
    @triton.jit
    def kernel(x):
        tl.store(x, 0.0)

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kernel[(1,)](x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * scale
""")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param((FUNCTION, "Scaled.apply(torch.ones(4))"), ["info"], id="never asked"),
        pytest.param((FUNCTION, "Scaled.apply(torch.ones(4)).sum().backward()"), ["error"], id="asked"),
        pytest.param((OLD, "stop"), ["info"], id="a stop"),
        pytest.param((OLD, "print(stop)"), ["error"], id="a use"),
    ],
)
def test_names_that_a_notebook_does_not_need(tmp_path: Path, cells: tuple[str, ...], expected: list[str]) -> None:
    assert levels(tmp_path, "n.ipynb", "KL702", {"n.ipynb": notebook(*cells)}) == expected


def test_a_module_that_is_no_notebook_may_be_asked_for_gradients(tmp_path: Path) -> None:
    assert levels(tmp_path, "n.py", "KL702", {"n.py": FUNCTION}) == ["error"]


@pytest.mark.parametrize(("own", "level"), [("def jit(function): return function\n", "info"), ("", "error")])
def test_the_tests_of_a_fork_of_triton(tmp_path: Path, own: str, level: str) -> None:
    (tmp_path / "python" / "triton").mkdir(parents=True)
    (tmp_path / "python" / "triton" / "__init__.py").write_text(own)
    (tmp_path / "python" / "test" / "unit").mkdir(parents=True)
    test = "import pytest\n" + OLD + "def test_square(): square(torch.ones(64, 64))\n"
    (tmp_path / "python" / "test" / "unit" / "test_square.py").write_text(test)
    assert levels(tmp_path, "python/test/unit/test_square.py", "KL801", {}) == [level]


ANNOTATED = HEADER + textwrap.dedent("""
    @triton.jit
    def kernel(x, scale, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n) * tl.load(scale), mask=i < n)

    def scaled(x: torch.Tensor, scale: float):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 64),)](x, scale, y, x.numel(), B=64)
        return y
""")


@pytest.mark.parametrize(
    ("call", "level"),
    [
        pytest.param("x = torch.randn(1000)\nscaled(x, x.abs().max())\n", "info", id="a tensor"),
        pytest.param("scaled(torch.randn(1000), 2.0)\n", "error", id="a number"),
        pytest.param("", "error", id="none"),
    ],
)
def test_an_annotation_that_the_calls_do_not_keep(tmp_path: Path, call: str, level: str) -> None:
    use = f"import torch\nfrom ops import scaled\n{call}"
    assert levels(tmp_path, "ops.py", "KL729", {"ops.py": ANNOTATED, "use.py": use}) == [level]


@pytest.mark.parametrize(
    ("host", "own"),
    [("bool", "int1"), ("float32", "float32"), ("float8_e4m3fn", "float8e4nv"), ("float8_e5m2", "float8e5")],
)
def test_a_type_of_the_host_is_named_as_triton_names_it(host: str, own: str) -> None:
    source = f"""
    @triton.jit
    def copy(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n).to(torch.{host}), mask=i < n)

    def run(x, y):
        copy[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), B=1024)
    """
    (found,) = told("KL719", source)
    assert f"`torch.{host}` is PyTorch's type; a kernel needs tl.{own}" in found.message
