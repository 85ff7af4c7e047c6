"""Kernels that are read again with other code are what following the whole changed program gives."""

from __future__ import annotations

import pytest

from kernlint.interpret.api import find_target
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.syntax.patched import patched
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch, Workload

HEADER = """\
import torch
import triton
import triton.language as tl

WIDE = tl.int64


@triton.jit
def address(base, row, stride):
    return base + row * stride


@triton.jit
def twice(x):
    return x * 2


@triton.autotune([triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])
@triton.jit
def scale(x, y, n, B: tl.constexpr, EVEN: tl.constexpr = False):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@triton.jit
def rows(x, y, stride, B: tl.constexpr, F: tl.constexpr = None):
    i = tl.arange(0, B)
    value = tl.load(address(x, tl.program_id(0), stride) + i)
    tl.store(address(y, tl.program_id(0), stride) + i, value)


def run(x: torch.Tensor):
    y = torch.empty_like(x)
    for _ in range(3):
        scale[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel())
    rows[(x.shape[0],)](x, y, x.stride(0), B=64)
    return y
"""

#: A kernel that nothing launches, one inside a function, and one that is given a helper.
MORE = """

@triton.jit
def idle(x, n, B: tl.constexpr):
    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), n)


@triton.jit
def applied(x, F: tl.constexpr):
    tl.store(x, F(tl.load(x)))


def apply(x: torch.Tensor):
    applied[(1,)](x, F=twice)


@triton.jit
def renamed(x):
    f = twice
    tl.store(x, f(tl.load(x)))


def rename(x: torch.Tensor):
    renamed[(1,)](x)


def make(x: torch.Tensor):
    @triton.jit
    def local(p):
        tl.store(p, 0.0)

    local[(1,)](x)
"""

SOURCE = HEADER + MORE


def program(source: str) -> Program:
    return Program(parse_module(source, "k.py"), None, Question(target=find_target(None, "nvidia", "90")))


def first_configurations(workload: Workload) -> list[tuple[object, ...]]:
    return [(one.kernel, one.grid, one.constexprs, one.num_warps, one.span, one.faults) for one in workload.launches()]


def again(entry: str, old: str, new: str, bare: bool = False) -> tuple[Workload, Workload | None, Workload]:
    """What ``entry`` does, what it does with ``new`` for ``old`` by its kernels, and by following all."""
    assert SOURCE.count(old) == 1
    text = SOURCE.replace(old, new)
    before = program(SOURCE)
    workload = before.workload(entry, NO_EDITS, bare)
    module = patched(before.kernel, text)
    expected = program(text).workload(entry, NO_EDITS, bare)
    assert workload is not None and module is not None and expected is not None
    return workload, before.with_kernels(workload, module), expected


@pytest.mark.parametrize(
    ("entry", "old", "new", "changed"),
    [
        pytest.param("run", "i = tl.program_id(0) * B", "i = tl.program_id(0).to(tl.int64) * B", {"scale"}, id="kernel"),
        pytest.param("run", "+ i, value)", "+ i, value.to(tl.float16), mask=i < 7)", {"rows"}, id="another kernel"),
        pytest.param("run", "return base + row * stride", "return base + row.to(WIDE) * stride", {"rows"}, id="helper"),
        pytest.param("run", "+ 1, mask=i < n)", "+ name, mask=i < n)", {"scale"}, id="what the front end refuses"),
        pytest.param("idle", "tl.arange(0, B), n)", "tl.arange(0, B), n, mask=n > 0)", {"idle"}, id="never launched"),
    ],
)  # fmt: skip
def test_only_what_the_change_reaches_is_read_again(entry: str, old: str, new: str, changed: set[str]) -> None:
    workload, found, expected = again(entry, old, new, bare=entry == "idle")
    assert found is not None
    assert first_configurations(found) == first_configurations(expected)
    assert first_configurations(found) != first_configurations(workload)
    same = {id(launch.kernel) for launch in workload.launches()}
    assert {one.kernel.name for one in found.launches() if id(one.kernel) not in same} == changed
    assert not any(launch.alternatives for launch in found.launches() if isinstance(launch, Launch))


def test_a_change_of_a_kernel_that_is_not_launched_changes_nothing() -> None:
    workload, found, expected = again("run", "tl.arange(0, B), n)", "tl.arange(0, B), 1)")
    assert found is not None
    assert first_configurations(found) == first_configurations(workload) == first_configurations(expected)


@pytest.mark.parametrize(
    ("entry", "old", "new"),
    [
        pytest.param("apply", "return x * 2", "return x * 3", id="a helper among the arguments"),
        pytest.param("rename", "return x * 2", "return x * 3", id="a helper under another name"),
        pytest.param("make", "tl.store(p, 0.0)", "tl.store(p, 1.0)", id="a kernel inside a function"),
        pytest.param("run", "range(3)", "range(4)", id="host code"),
        pytest.param("run", "x.stride(0), B=64", "x.stride(0), B=128", id="a launch"),
    ],
)
def test_otherwise_the_host_is_followed_again(entry: str, old: str, new: str) -> None:
    _, found, _ = again(entry, old, new)
    assert found is None
