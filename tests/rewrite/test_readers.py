"""Who reads a number beside the launches that were followed."""

from __future__ import annotations

import textwrap
from pathlib import Path, PurePath

import libcst as cst
import pytest
from support.fixes import fixed, refusal

from kernlint.rewrite.readers import read_elsewhere, watched
from kernlint.rewrite.source import Source
from kernlint.syntax.tree import parse_module

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def kk(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)
"""
MADE = "kk[(triton.cdiv(n, BLOCK),)](x, n, BLOCK=BLOCK)"


def asked(code: str) -> str:
    """What is said of the first 64 of ``code``, whose launches of `kk` are followed."""
    module = parse_module(KERNEL + textwrap.dedent(code), "kernel.py")
    number = next(one for one in module.of(cst.Integer) if one.value == "64")
    made = [one for one in module.of(cst.Call) if isinstance(one.func, cst.Subscript)]
    launches = {
        module.span(one) for one in made if isinstance(one.func.value, cst.Name) and one.func.value.value == "kk"
    }
    return read_elsewhere(Source(module), number, launches)


def beside(folder: Path, text: str, other: str) -> str:
    """What is said of the first 64 of ``text``, whose launches are all followed, with the file ``other`` in the same folder."""
    folder.mkdir(exist_ok=True)
    (folder / "kernel.py").write_text(text)
    (folder / "other.py").write_text(other)
    module = parse_module(text, str(folder / "kernel.py"))
    number = next(one for one in module.of(cst.Integer) if one.value == "64")
    made = {module.span(one) for one in module.of(cst.Call) if isinstance(one.func, cst.Subscript)}
    return read_elsewhere(Source(module), number, made)


@pytest.mark.parametrize(
    "code",
    [
        f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n    return x",
        f"BLOCK: int = 64\ndef forward(x, n):\n    {MADE}",
        f"BLOCK, WARPS = 64, 4\ndef forward(x, n):\n    {MADE}\n    return WARPS",
        "def forward(x, n):\n    kk[(triton.cdiv(n, 64),)](x, n, 64)",
        f"def forward(x, n, BLOCK=64):\n    {MADE}\n    return x",
        f"def launch(x, n, BLOCK):\n    {MADE}\ndef forward(x, n):\n    launch(x, n, 64)",
        f"def launch(x, n, *, BLOCK):\n    {MADE}\ndef forward(x, n):\n    launch(x, n, BLOCK=64)",
        f"def forward(x, n):\n    BLOCK = min(64, triton.next_power_of_2(n))\n    {MADE}",
        "def forward(x, n):\n    b = 64\n    g = lambda meta: (triton.cdiv(n, meta['BLOCK']),)\n    kk[g](x, n, BLOCK=b)",
        "def forward(x, n):\n    b = 64\n    def g(meta):\n        return (triton.cdiv(n, b),)\n    kk[g](x, n, BLOCK=b)",
        "CFG = {'BLOCK': 64, 'num_warps': 4}\ndef forward(x, n):\n    kk[(triton.cdiv(n, CFG['BLOCK']),)](x, n, **CFG)",
        "CFG = dict(BLOCK=64, size=3)\ndef forward(x, n):\n    kk[(CFG['size'],)](x, n, BLOCK=CFG['BLOCK'])",
        "class M(torch.nn.Module):\n    B = 64\n    def forward(self, x, n):\n"
        "        kk[(triton.cdiv(n, self.B),)](x, n, BLOCK=self.B)",
        "class M:\n    def __init__(self):\n        self.b = 64\n    def forward(self, x, n):\n        kk[(self.b,)](x, n, self.b)",
        "def blocks(a, b):\n    return (a + b - 1) // b\ndef forward(x, n):\n    BLOCK = 64\n"
        "    m = blocks(n, 3)\n    kk[(blocks(n, BLOCK),)](x, n, BLOCK=BLOCK)\n    return m",
        f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\ndef other(BLOCK):\n    return BLOCK + 1",
        f"BLOCK = 64\ndef forward(x, n):\n    even = n % BLOCK == 0\n    {MADE}",
        f"BLOCK = 64\ndef forward(x, n):\n    assert n > 0 and n % BLOCK == 0, 'whole blocks'\n    {MADE}",
        f"BLOCK = 64\ndef forward(x, n):\n    assert not n % (2 * BLOCK)\n    {MADE}",
    ],
)
def test_a_number_for_launches_alone(code):
    assert asked(code) == ""


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n    return BLOCK", "return BLOCK"),
        (f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\ndef other(x):\n    return x.view(-1, BLOCK)", "x.view"),
        (f"BLOCK = 64\ndef forward(x, n):\n    if n < BLOCK:\n        return x\n    {MADE}", "if n < BLOCK"),
        (f"BLOCK = 64\nNAME = f'b{{BLOCK}}'\ndef forward(x, n):\n    {MADE}", "NAME"),
        (f"BLOCK = 64\nGROUP = BLOCK\ndef forward(x, n):\n    {MADE}\n    return x.view(-1, GROUP)", "x.view"),
        (f"BLOCK = GROUP = 64\ndef forward(x, n):\n    {MADE}\n    return x.view(-1, GROUP)", "x.view"),
        (f"BLOCK, GROUP = 64, 3\ndef forward(x, n):\n    {MADE}\n    return (1, BLOCK)", "return (1, BLOCK)"),
        (f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n    mm[(n,)](x, n, BLOCK=BLOCK)", "mm[(n,)]"),
        (f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n    print('%d' % BLOCK)", "print("),
        ("def f(x, n):\n    b = 3\n    kk[(b,)](x, n, BLOCK=3)\n    return lambda y, b=64: y.view(-1, b)", "lambda y"),
        (f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n    return BLOCK\nprint(super.forward)", "return BLOCK"),
        (f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n    return globals()['BLOCK']", "BLOCK = 64"),
        (f"def f(x, n, BLOCK=64):\n    {MADE}\nprint(f.__defaults__)", "def f"),
        (
            f"BLOCK = 64\ndef change():\n    global BLOCK\n    print(BLOCK)\ndef forward(x, n):\n    {MADE}",
            "print(BLOCK)",
        ),
        ("def f(b, x, n):\n    kk[(n,)](x, n, BLOCK=b)\nrun = functools.partial(f, 64)", "partial"),
        (
            "def f(b):\n    def g(x, n):\n        kk[(n,)](x, n, BLOCK=b)\n    g.b = b\n    return g\nr = f(64)\nprint(r.b)",
            "r.b",
        ),
        ("@dataclass\nclass C:\n    b: int = 64\ndef f(x, n):\n    kk[(n,)](x, n, C.b)", "b: int"),
        ("CFG = {'BLOCK': 64}\ndef f(x, n):\n    kk[(n,)](x, n, **CFG)\n    return sorted(CFG.values())", "CFG.values"),
        ("CFG = {'BLOCK': 64}\ndef f(x, n):\n    kk[(n,)](x, n, **CFG)\n    return CFG['BLOCK']", "return CFG"),
        ("def f(x, n):\n    for b in (64, 64):\n        kk[(n,)](x, n, BLOCK=b)", "for b"),
        ("def f(x, n):\n    kk[(n, (b := 64))](x, n, BLOCK=b)\n    return b", "return b"),
        ("class M:\n    B = 64\n    def f(self, x, n):\n        kk[(self.B,)](x, n, BLOCK=self.B)\nprint(M.B)", "M.B"),
    ],
)
def test_a_number_that_others_read(code, line):
    found = asked(code)
    assert found
    number = int(found.split()[1])
    assert line in (KERNEL + code).splitlines()[number - 1]


@pytest.mark.parametrize(
    "use",
    [
        "self.last = (n + 100) % BLOCK",
        "print((n + 100) % BLOCK)",
        "print(n % BLOCK == 0)",
        "return x, n % BLOCK",
        "return n % BLOCK == 0",
        "assert n, n % BLOCK",
        "assert check(n % BLOCK == 0)",
        "assert n % BLOCK == 4",
        "assert BLOCK % n == 0",
        "global LAST; LAST = n % BLOCK",
    ],
)
def test_what_becomes_of_a_remainder(use):
    source = f"BLOCK = 64\ndef forward(self, x, n):\n    {MADE}\n    {use}\ndef last():\n    return LAST\n"
    line = (KERNEL + source).splitlines().index(f"    {use}") + 1
    assert asked(source) == f"line {line} reads it"


@pytest.mark.parametrize("other", ["from kernel import block\n", "import kernel as k\nprint(k.block())\n"])
def test_another_file_that_calls_the_function_which_returns_it(tmp_path, other):
    text = KERNEL + f"SIZE = 64\ndef block():\n    return SIZE\ndef forward(x, n):\n    BLOCK = block()\n    {MADE}\n"
    assert beside(tmp_path / "unread", text, "print('kernel')\n") == ""
    assert beside(tmp_path, text, other) == "other.py reads it"


def test_another_file_that_launches_a_kernel_with_its_default(tmp_path):
    text = (
        KERNEL.replace("constexpr)", "constexpr = 64)")
        + "def forward(x, n):\n    kk[lambda m: (n // m['BLOCK'],)](x, n)\n"
    )
    assert beside(tmp_path / "unread", text, "print('kernel')\n") == ""
    assert beside(tmp_path, text, "from kernel import kk\nkk[(n // 64,)](x, n)\n") == "other.py reads it"


@pytest.mark.parametrize(
    ("other", "reads"),
    [
        ("from kernel import kk, BLOCK\n", True),
        ("from kernel import (\n    kk,\n    BLOCK,\n)\n", True),
        ("import kernel\nprint(kernel.BLOCK)\n", True),
        ("import kernel\nprint(kernel.Model().BLOCK)\n", True),
        ("from kernel import *\nprint(BLOCK)\n", True),
        ("from kernel import kk\nBLOCK = 3\n", False),
        ("BLOCK = 3\n", False),
    ],
)
@pytest.mark.parametrize("project", [True, False])
def test_another_file_that_imports_it(tmp_path, other, reads, project):
    text = KERNEL + f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n"
    if project:
        (tmp_path / "pyproject.toml").touch()
    assert beside(tmp_path, text, other) == ("other.py reads it" if reads else "")


STREAM = """
import torch
import triton
import triton.language as tl

BLOCK = 64

@triton.jit
def kk(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0) * 2.0, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x, sums=False):
        n = x.numel()
        y = torch.empty_like(x)
        kk[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)
        return y

def get_inputs():
    return [torch.randn(1 << 24)]
"""


def test_the_fix_asks_where_a_branch_that_is_not_taken_reads_the_tile():
    assert fixed(STREAM, "KL202", unsafe=False).applied
    branch = "if sums:\n            return x.view(-1, BLOCK).sum(1)\n        return y"
    source = STREAM.replace("return y", branch)
    assert "`64` at line 6 is not for the launch alone: line 19 reads it" in refusal(source, "KL202", unsafe=False)
    assert fixed(source, "KL202").applied


@pytest.mark.parametrize(
    "other",
    [
        "import kernel\ngetattr(kernel, 'BLOCK')\n",
        "import kernel as k\ngetattr(k, 'BL' + 'OCK')\n",
        "import kernel\nm = [kernel]\nfor one in m:\n    vars(one)\n",
        "import kernel\nkernel.__dict__[n]\n",
        "import importlib\nimportlib.import_module('ker' + 'nel').BLOCK\n",
        "import runpy\nrunpy.run_path('kernel.py')['BLOCK']\n",
        "from unittest import mock\nmock.patch('kernel.BLOCK', 3)\n",
        "from unittest import mock\nimport kernel\nmock.patch.multiple(kernel, BLOCK=3)\n",
        "from kernel import kk, \\\n    BLOCK\n",
        "import kernel\nmod = kernel\nprint(mod. BLOCK)\n",
        'def tiles():\n    """What kernel has.\n\n    >>> BLOCK\n    64\n    """\n',
        "import re\nre.search(r'^BLOCK = (.*)', open('kernel.py').read())\n",
        "import inspect\nfrom kernel import forward\ninspect.getsource(forward)\n",
        "import kernel\ndef kept():\n    match kernel:\n        case Module(BLOCK=b):\n            return b\n",
        "from kernel import *\n__all__ = ['BLOCK']\n",
        # The kernel is taken for another, which sees the grid.
        "import kernel\nkernel.kk = Spy()\n",
        "def test(monkeypatch):\n    monkeypatch.setattr('kernel.kk', Spy())\n",
    ],
)
def test_another_file_that_comes_by_it_in_another_way(tmp_path, other):
    found = beside(tmp_path, KERNEL + f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n", other)
    if "Spy" in other:
        assert found == ""
        module = parse_module(KERNEL, str(tmp_path / "kernel.py"))
        assert watched(Source(module), "kk") == "other.py puts another function in the place of `kk`"
    else:
        assert found == "other.py reads it"


@pytest.mark.parametrize(
    "other",
    [
        '"""What kernel.py has: BLOCK, and so on."""\nimport kernel\nkernel.kk[(3,)](x, n, BLOCK=8)\n',
        "import kernel\nBLOCK = 8\nprint(BLOCK, kernel.forward(x, n))\n",
        "import kernel\nimport torch\ndtype = getattr(torch, name)\n",
        "import kernel\nfrom . import config\ngetattr(config, name)\n",
        "import kernel\nargs = parser.parse_args()\nprint(vars(args), kernel.forward(x, n))\n",
        "import kernel\nclass Case:\n    def size(self, name):\n        return getattr(self, name)\n",
        "import kernel\ngetattr(kernel, 'forward')(x, n)\n",
        "from kernel import forward\nfrom constants import *\n",
    ],
)
def test_another_file_that_has_no_use_for_it(tmp_path, other):
    assert beside(tmp_path, KERNEL + f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n", other) == ""
    module = parse_module(KERNEL, str(tmp_path / "kernel.py"))
    assert watched(Source(module), "kk") == ""


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("pkg/__init__.py", {"pkg/tools.py": "from . import BLOCK\n"}),
        ("pkg/__init__.py", {"pkg/sub/__init__.py": "", "pkg/sub/a.py": "from .. import BLOCK\n"}),
        ("pkg/__init__.py", {"use.py": "import pkg\nprint(pkg.BLOCK)\n"}),
        ("pkg/kernel.py", {"pkg/__init__.py": "from .kernel import *\n", "use.py": "import pkg\nprint(pkg.BLOCK)\n"}),
        (
            "pkg/kernel.py",
            {"pkg/__init__.py": "from . import kernel as k\n", "use.py": "import pkg\nprint(pkg.k.BLOCK)\n"},
        ),
        (
            "pkg/ops/kernel.py",
            {
                "pkg/ops/__init__.py": "",
                "pkg/__init__.py": "from .ops import kernel as k\n",
                "use.py": "from pkg import k\nprint(k.BLOCK)\n",
            },
        ),
        ("kernel.py", {"README.md": ">>> import kernel\n>>> kernel.BLOCK\n64\n"}),
        ("kernel.py", {"use.ipynb": '{"cells": [{"source": ["from kernel import BLOCK\\n"]}]}'}),
    ],
)
@pytest.mark.parametrize("project", [True, False])
def test_another_file_of_a_package(tmp_path, own, files, project):
    text = KERNEL + f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n"
    for name, content in {"pkg/__init__.py": "", own: text, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    if project:
        (tmp_path / "pyproject.toml").touch()
    module = parse_module(text, str(tmp_path / own))
    number = next(one for one in module.of(cst.Integer) if one.value == "64")
    made = {module.span(one) for one in module.of(cst.Call) if isinstance(one.func, cst.Subscript)}
    assert read_elsewhere(Source(module), number, made) in {f"{PurePath(one).name} reads it" for one in files}


@pytest.mark.parametrize(
    "use",
    [
        "import sys\nprint(sys.modules[__name__])",
        "from sys import modules\nprint(modules[__name__])",
        "import kernel\nprint(kernel)",
        "from . import kernel\nprint(kernel)",
        "import sys\nprint(sys._getframe())",
        "print(forward.__code__)",
        "class P:\n    def __setattr__(self, k, v):\n        print(k, v)",
    ],
)
def test_a_module_that_looks_at_itself(use):
    assert asked(f"BLOCK = 64\ndef forward(x, n):\n    {MADE}\n{use}\n")


def test_an_example_that_doctest_runs():
    code = f"BLOCK = 64\ndef forward(x, n):\n    '{{}}'\n    {MADE}\n"
    assert asked(code.format("Steps of BLOCK.")) == ""
    assert asked(code.format(">>> BLOCK")) == "line 11 reads it"


def test_a_literal_of_code_that_is_read():
    code = "def forward(x, n):\n    kk[(triton.cdiv(n, 64),)](x, n, 64)\n"
    assert asked(code) == ""
    assert asked(code + "print(forward.__code__.co_consts)\n")


def test_a_pattern_that_reads_an_attribute():
    code = "class C:\n    b = 64\ndef f(x, n):\n    kk[(n,)](x, n, C.b)\n    match C():\n        case C({}=y):\n            return y\n"
    assert asked(code.format("d")) == ""
    assert asked(code.format("b")) == "line 14 reads it"


@pytest.mark.parametrize(
    ("decorator", "reads"),
    [
        ("logged", True),
        ("torch.library.custom_op('a::b')", True),
        ("torch.no_grad()", False),
        ("functools.cache", False),
    ],
)
def test_what_a_decorator_sees(decorator, reads):
    code = f"import functools\n@{decorator}\ndef launch(x, n, BLOCK):\n    {MADE}\ndef forward(x, n):\n    launch(x, n, 64)\n"
    assert bool(asked(code)) == reads


REBOUND = """
import sys
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

@triton.jit
def other(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * 64 + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        {first}
        scale[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return y

def get_inputs():
    return [torch.randn(4096, 4096)]
"""


@pytest.mark.parametrize(
    "first",
    [
        "exec('global scale; scale = other')",
        "globals()['scale'] = other",
        "setattr(sys.modules[__name__], 'scale', other)",
    ],
)
def test_a_kernel_that_another_may_have_taken_the_place_of(first: str) -> None:
    assert "names by their texts" in refusal(REBOUND.format(first=first), "KL202", unsafe=False)


def test_a_kernel_that_keeps_its_name() -> None:
    fixed(REBOUND.format(first="assert x.is_contiguous()"), "KL202", unsafe=False)
