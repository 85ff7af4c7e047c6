"""What is found when kernels are known from earlier versions of a file is what is found anyway."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from kernlint.compare import difference
from kernlint.interpret import earlier as module
from kernlint.interpret.content import content_of
from kernlint.interpret.earlier import Earlier
from kernlint.interpret.edits import Literal
from kernlint.interpret.host import kernels
from kernlint.lint.check_file import check_file
from kernlint.lint.config import Configurations, Overrides
from kernlint.lint.job import Job, Result
from kernlint.records import replace
from kernlint.workload import Span, Storage, Tensor
from kernlint.workload.dtype import FLOAT16

HELPERS = """
import triton
import triton.language as tl

FACTOR: tl.constexpr = tl.constexpr(2)


@triton.jit
def scaled(x):
    return x.to(tl.float32) * FACTOR
"""

PROGRAM = """
import torch
import triton
import triton.language as tl
from helpers import FACTOR, scaled

BLOCK = 64
LIMIT: tl.constexpr = tl.constexpr(4)


@triton.jit
def shifted(x, by):
    return scaled(x) + by * LIMIT


@triton.jit
def add(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, shifted(x, 1), mask=at <= n)


@triton.autotune([triton.Config({"B": 32}, num_warps=1), triton.Config({"B": 64})], key=["n"])
@triton.jit
def rows(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    total = tl.zeros((16, 16), dtype=tl.float32)
    for start in range(0, n, B):
        x = tl.load(x_ptr + at[None, :] + start + tl.arange(0, 16)[:, None] * n)
        w = tl.load(w_ptr + at[:, None] + start + tl.arange(0, 16)[None, :] * n)
        total += tl.dot(x.to(tl.float32), w.to(tl.float32))
    tl.store(y_ptr + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :], total)


@triton.jit
def alone(x_ptr, B: tl.constexpr):
    tl.store(x_ptr - FACTOR + tl.arange(0, B), tl.full((B,), FACTOR, tl.float32))


def launch_add(x: torch.Tensor):
    assert x.dtype == torch.float16
    y = torch.empty_like(x, dtype=torch.float32)
    add[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), B=BLOCK)
    return y


def launch_rows():
    x, w = (torch.zeros(16, 4096, dtype=torch.int8, device="cuda") for _ in range(2))
    y = torch.empty(16, 16, device="cuda")
    rows[(1,)](x, w, y, 4096)
    return y


def launch_stated(x, w):
    '''The product of two tensors.

    Args:
        x: float16 tensor of shape [16, n]
        w: float16 tensor of shape [n, 16]
    '''
    assert x.shape[1] == w.shape[0]
    y = torch.empty(16, 16, device="cuda")
    rows[(1,)](x, w, y, x.shape[1])
    return y
"""

#: What is replaced by what, from one version to the next; each stays.
EDITS = {
    "a comment": ("    return y\n", "    return y  # the sum\n"),
    "the same comment": ("# the sum", "# the sums"),
    "a line more at the top": ("import torch\n", "import os\nimport torch\n"),
    "a line less there": ("import os\n", ""),
    "a line between a helper and its kernel": ("@triton.jit\ndef add(", "# adds\n@triton.jit\ndef add("),
    "a line before both": ("BLOCK = 64\n", "\n\nBLOCK = 64\n"),
    "a constant on another line": ("\nLIMIT: tl", "\n\nLIMIT: tl"),
    "a line less before a kernel": ("# adds\n", ""),
    "blank lines between": ("def launch_rows", "\n\n\ndef launch_rows"),
    "the body of a kernel": ("mask=at <= n", "mask=at < n"),
    "back": ("tl.store(y_ptr + at, shifted(x, 1), mask=at < n)", "tl.store(y_ptr + at, shifted(x, 1), mask=at <= n)"),
    "a line in a kernel": ("    at = tl.arange(0, B)\n", "    at = tl.arange(0, B)\n    zero = at * 0\n"),
    "the loop of a kernel": ("range(0, n, B)", "range(B, n, B)"),
    "a number in a kernel": ("tl.zeros((16, 16)", "tl.zeros((32, 16)"),
    "the number again": ("tl.zeros((32, 16)", "tl.zeros((16, 16)"),
    "a type in a kernel": ("w.to(tl.float32)", "w.to(tl.float16)"),
    "an undefined name": ("by * LIMIT", "by * LIMITS"),
    "defined again": ("by * LIMITS", "by * LIMIT"),
    "a name of a module": ("tl.full((B,), FACTOR", "tl.fully((B,), FACTOR"),
    "and again": ("tl.fully", "tl.full"),
    "a helper": ("return scaled(x) + by", "return scaled(x).to(tl.float16) - by"),
    "the signature of a helper": ("def shifted(x, by)", "def shifted(x, other, by)"),
    "its call": ("shifted(x, 1)", "shifted(x, 2, 1)"),
    "a constant of kernels": ("tl.constexpr(4)", "tl.constexpr(1 << 40)"),
    "a plain constant in its place": ("LIMIT: tl.constexpr = tl.constexpr(1 << 40)", "LIMIT = 8"),
    "a constant of the host": ("BLOCK = 64", "BLOCK = 100"),
    "a constant set twice": ("BLOCK = 100\n", "BLOCK = 100\nBLOCK = 128\n"),
    "an import": ("import FACTOR, scaled", "import FACTOR, scaled as other\nscaled = other"),
    "another module of that name": ("import triton.language as tl\n", "import triton.language as tl, triton.language.math as m\n"),
    "the signature of a kernel": ("def alone(x_ptr, B", "def alone(x_ptr, n, B"),
    "an annotation": ("def alone(x_ptr, n, B: tl.constexpr", "def alone(x_ptr, n: tl.int64, B"),
    "a default": ("w_ptr, y_ptr, n, B: tl.constexpr)", "w_ptr, y_ptr, n, B: tl.constexpr, C: tl.constexpr = 1)"),
    "a decorator": ("@triton.jit\ndef alone", "@triton.jit(noinline=True)\ndef alone"),
    "a decorator less": ("@triton.jit\ndef shifted", "def shifted"),
    "a decorator again": ("def shifted", "@triton.jit\ndef shifted"),
    "a configuration": ('Config({"B": 32}', 'Config({"B": 16}'),
    "another one": ('triton.Config({"B": 64})', 'triton.Config({"B": 64}), triton.Config({"B": 128}, num_stages=9)'),
    "the type that prose states": ("x: float16 tensor", "x: bfloat16 tensor"),
    "the launcher": ("4096, dtype=torch.int8", "4100, dtype=torch.int8"),
    "the type that it passes": ("dtype=torch.int8", "dtype=torch.float32"),
    "what it passes": ("](x, w, y, 4096)", "](x, w, None, 4096)"),
    "what it knows": ("    assert x.dtype == torch.float16\n", ""),
    "its grid": ("rows[(1,)]", "rows[(1 << 20, 3)]"),
    "a second launch": ("    return y  # the sums\n", "    alone[(1,)](y, y, B=8)\n    return y\n"),
    "a kernel of another name": ("def alone", "def lonely"),
    "two of a name": ("def lonely", "def rows"),
    "no longer": ("def rows(x_ptr, n: ", "def alone(x_ptr, n: "),
    "an attribute that is set": ("BLOCK = 128\n", "BLOCK = 128\ntl.fully = None\n"),
    "a suppression": ("tl.store(x_ptr - FACTOR", "# kernlint: ignore[KL741] wanted\n    tl.store(x_ptr - FACTOR"),
    "what is no Python": ("def launch_rows():", "def launch_rows(:"),
    "Python again": ("def launch_rows(:", "def launch_rows():"),
    "the end cut off": ("    y = torch.empty(16, 16, device=\"cuda\")\n", "    return x\n"),
}  # fmt: skip


def _checked(folder: Path, text: str, earlier: Earlier | None) -> Result:
    path = folder / "program.py"
    settings = Configurations(Overrides(), None, True).of(str(folder)).of_file(str(path))
    return check_file(Job(str(path), text.encode(), settings), None, earlier)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def test_versions_of_a_file_are_found_to_be_what_they_are(folder):
    earlier, text, different = Earlier(), PROGRAM, set()
    assert _checked(folder, text, earlier).findings
    for name, (old, new) in EDITS.items():
        assert old in text, name
        text = text.replace(old, new, 1)
        found = _checked(folder, text, earlier)
        assert found == _checked(folder, text, None), name
        different.add(tuple((finding.code, finding.message) for finding in found.findings))
    assert len(different) > len(EDITS) / 3  # most of them are of some consequence


def test_other_files_count_too(folder):
    earlier, seen = Earlier(), set()
    changes = ("", ""), ("constexpr(2)", "constexpr(3)"), ("* FACTOR", "+ missing"), ("def", "\n\ndef")
    for old, new in changes:
        text = (folder / "helpers.py").read_text().replace(old, new, 1)
        (folder / "helpers.py").write_text(text)
        found = _checked(folder, PROGRAM, earlier)
        assert found == _checked(folder, PROGRAM, None)
        seen.add(tuple(finding.message for finding in found.findings))
    assert len(seen) > 1


def test_only_what_changes_is_read_again(folder, monkeypatch):
    read: list[str] = []

    def noted(jit, inside, constexprs, grid, edits):
        read.extend([] if edits else [jit.function.name])
        return real(jit, inside, constexprs, grid, edits)

    real = kernels.read_kernel
    monkeypatch.setattr(kernels, "read_kernel", noted)
    earlier = Earlier()
    _checked(folder, PROGRAM, earlier)
    assert set(read) == {"add", "rows", "alone"}
    for old, new, names in (
        ("", "", set()),
        ("    return y\n", "    return y  # done\n", set()),
        ("at <= n", "at < n", {"add"}),
        ("by * LIMIT", "by - LIMIT", {"add"}),
        ("range(0, n, B)", "range(B, n, B)", {"rows"}),
        ("BLOCK = 64", "BLOCK = 128", {"add", "rows", "alone"}),  # nobody looks at which names a statement is about
        ("import torch\n", "import torch\n\n", set()),
        ("@triton.jit\ndef add(", "# adds\n@triton.jit\ndef add(", set()),
        ("def launch_add", "\ndef launch_add", set()),
    ):
        _checked(folder, PROGRAM, earlier)
        read.clear()
        _checked(folder, PROGRAM.replace(old, new, 1), earlier)
        assert set(read) == names, new


PRODUCT = """
import torch
import triton
import triton.language as tl

SCALE: tl.constexpr = tl.constexpr(2)
TILE = 32


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :])
        total += tl.dot(a.to(tl.float32), b.to(tl.float32))
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total * SCALE)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        M, K, N = a.shape[0], a.shape[1], b.shape[1]
        c = torch.empty(M, N, device=a.device)
        product[(M // TILE, N // 16)](a, b, c, M, N, K, BM=TILE, BN=16, BK=32, num_warps=4)
        return c


class Model(torch.nn.Module):
    def forward(self, a, b):
        return (a.float() @ b.float()) * 2


SIZE = 256


def get_inputs():
    return [torch.randint(-8, 8, (SIZE, SIZE), dtype=torch.int8, device="cuda") for _ in range(2)]
"""

#: What is replaced by what in the program with a reference; each stays.
COMPARED = {
    "a line above": ("import torch\n", "import os\nimport torch\n"),
    "a kernel that is wrong": ("total * SCALE)", "total + SCALE)"),
    "a line above what is wrong": ("import os\n", "import os\nimport sys\n"),
    "a line in it": ("    total = tl.zeros", "    unused = 1\n    total = tl.zeros"),
    "a reference that does so too": ("b.float()) * 2", "b.float()) + 2"),
    "another constant": ("tl.constexpr(2)", "tl.constexpr(3)"),
    "the same as a what-if may have": ("TILE = 32", "TILE = 64"),
    "the other way": ("TILE = 64", "TILE = 16"),
    "other inputs": ("randint(-8, 8", "randint(0, 2"),
    "other sizes": ("SIZE = 256", "SIZE = 128"),
}


@pytest.mark.parametrize("first", [0, 3])
def test_comparisons_and_what_ifs_are_what_they_are_anyway(tmp_path, first):
    earlier, text, seen = Earlier(), PRODUCT, set()
    for name, (old, new) in list(COMPARED.items())[first : first + 7]:
        assert old in text or first, name
        text = text.replace(old, new, 1)
        found = _checked(tmp_path, text, earlier)
        assert found == _checked(tmp_path, text, None), name
        seen.add(tuple((one.code, one.place.line, one.message) for one in found.findings))
    assert len(seen) > 4


def test_a_call_that_says_the_same_is_not_compared_again(tmp_path, monkeypatch):
    asked: list[str] = []

    def noted(call, effort):
        asked.append(call.entry)
        return real(call, effort)

    real = difference.compared
    monkeypatch.setattr(difference, "compared", noted)
    earlier = Earlier()
    _checked(tmp_path, PRODUCT, earlier)
    for old, new, again in (
        ("import torch\n", "import torch\n\n", False),
        ("    total = tl.zeros", "    unused = 1\n    total = tl.zeros", False),
        ("total * SCALE)", "SCALE * total)", True),
        ("total * SCALE)", "total * 2)", False),
        ("b.float()) * 2", "b.float()) * 4", True),
        ("randint(-8, 8", "randint(0, 2", True),
    ):
        asked.clear()
        _checked(tmp_path, PRODUCT.replace(old, new, 1), earlier)
        assert bool(asked) == again, new


def test_a_what_if_is_read_once_for_all_versions(tmp_path, monkeypatch):
    read: list[object] = []

    def noted(jit, inside, constexprs, grid, edits):
        read.append(edits)
        return real(jit, inside, constexprs, grid, edits)

    real = kernels.read_kernel
    monkeypatch.setattr(kernels, "read_kernel", noted)
    earlier = Earlier()
    _checked(tmp_path, PRODUCT, earlier)
    assert any(edits.literals for edits in read if edits)
    read.clear()
    _checked(tmp_path, PRODUCT.replace("import torch\n", "import torch\n\n", 1), earlier)
    assert not read


def test_content_is_told_but_for_places():
    here, there = (Span("a.py", line, 1, line, 9) for line in (3, 5))
    tensor = Tensor("x", FLOAT16, (4,), (1,), Storage(1, "input", here))
    one, moved = (
        content_of((tensor, [here])),
        content_of((replace(tensor, storage=Storage(1, "input", there)), [there])),
    )
    assert one is not None and moved is not None and one.digest == moved.digest
    assert one.moved_to(moved) == {here: there}
    other = content_of((tensor, [there]))
    assert other is not None and one.moved_to(other) is None  # what stood together does no longer
    for changed in (
        replace(tensor, shape=(8,)),
        replace(tensor, offset=1),
        replace(tensor, storage=Storage(2, "input")),
    ):
        found = content_of((changed, [here]))
        assert found is not None and found.digest != one.digest
    assert content_of(Literal(3, here)) == content_of(Literal(3, here)) != content_of(Literal(4, here))
    assert content_of(cst.Name("x")) is None and content_of(lambda: 1) is None


def test_little_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MOST_ANSWERS", 4)
    monkeypatch.setattr(module, "_MOST_CALLS", 1)
    earlier = Earlier()
    for text in (PRODUCT, PRODUCT.replace("total * SCALE)", "total + SCALE)")):
        assert _checked(tmp_path, text, earlier) == _checked(tmp_path, text, None)
        assert sum(len(version.answers) for version in earlier._versions.values()) <= 4
        assert len(earlier._told) == 1
