"""Kernels that are copies of others are read once: what is told of a copy is what reading it would have told."""

from __future__ import annotations

import dataclasses

import libcst as cst
import pytest

from kernlint.interpret.edits import Edits
from kernlint.interpret.host import kernels
from kernlint.interpret.program import Program
from kernlint.interpret.reading import entries
from kernlint.syntax.tree import parse_module
from kernlint.workload import Kernel

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\nSCALE = 2\n"
KERNEL = """
@triton.jit
def {name}(x, out, n, BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        v = tl.load(x + i + start, mask=i + start < n).to(tl.float32)
        tl.store(out + i + start, v * SCALE{more}, mask=i + start < n)
"""
LAUNCH = """
def run_{name}(x):
    out = torch.empty_like(x)
    {name}[(4,)](x, out, 256)
    return out
"""


def read(names: list[str], more: str = "", head: str = HEAD) -> list[Kernel]:
    text = head + "".join((KERNEL + LAUNCH).format(name=name, more=more.format(name=name)) for name in names)
    program = Program(parse_module(text, "kernel.py"))
    return [launch.kernel for workload in program.workloads() for launch in workload.launches()]


@pytest.fixture
def without_copies(monkeypatch):
    monkeypatch.setattr(kernels, "wording", lambda function, edited=(): function.node)


def plain(kernel: Kernel) -> dict[str, object]:
    return {field.name: getattr(kernel, field.name) for field in dataclasses.fields(kernel) if field.name != "read"}


def test_a_copy_is_told_as_if_it_had_been_read(request) -> None:
    names = ["scaled", "scaled_twice", "scaled_9", "scaled_10"]
    copied = read(names)
    assert [kernel.original.name for kernel in copied] == ["scaled"] * 4
    request.getfixturevalue("without_copies")
    alone = read(names)
    assert [kernel.original.name for kernel in alone] == names
    assert list(map(plain, copied)) == list(map(plain, alone))
    for one, other in zip(copied, alone):
        assert one.values is not None
        assert repr(one.values) == repr(other.values)


def test_a_copy_that_is_changed_is_none_any_more() -> None:
    copy = read(["scaled", "other"])[1]
    assert dataclasses.replace(copy, body=()).original.body == ()


@pytest.mark.parametrize("more", [" + {name}.x", " + len('{name}')"])
def test_what_names_itself_is_no_copy(more: str) -> None:
    assert [kernel.original.name for kernel in read(["scaled", "other"], more)] == ["scaled", "other"]


def test_of_copies_the_one_that_is_edited_is_read_anew() -> None:
    names = ["scaled", "other", "third"]
    text = HEAD + "".join((KERNEL + LAUNCH).format(name=name, more=" * 3") for name in names)
    module = parse_module(text, "kernel.py")
    place = [module.span(node) for node in module.of(cst.Integer) if node.value == "3"][1]
    changed = Program(module).workloads(Edits(literals=frozenset({(place, 5)})))
    kernels = [launch.kernel for workload in changed for launch in workload.launches()]
    assert [kernel.original.name for kernel in kernels] == ["scaled", "other", "scaled"]


def test_words_about_places_are_not_copied() -> None:
    for kernel in read(["scaled", "other"], " + unknown_function(v)"):
        assert kernel.original is kernel


def test_the_same_text_in_another_function_is_no_copy() -> None:
    nested = "".join(
        f"\ndef make_{name}(x):\n    SCALE = {scale}\n"
        + "".join(f"    {line}\n" for line in KERNEL.format(name=name, more="").strip().splitlines())
        + f"    out = torch.empty_like(x)\n    {name}[(4,)](x, out, 256)\n    return out\n"
        for name, scale in (("one", 2), ("two", 3))
    )
    program = Program(parse_module(HEAD + nested, "kernel.py"))
    found = [launch.kernel for workload in program.workloads() for launch in workload.launches()]
    assert [kernel.original.name for kernel in found] == ["one", "two"]


#: Its sizes, and that `n` is a number, are learned from what it does.
HOST = """
def run_{name}(x, n{more}):
    rows, columns = x.shape
    assert x.is_contiguous() and columns == n
    out = torch.empty((rows, n), dtype=x.dtype)
    {name}[(triton.cdiv(rows, 4),)](x, out, n * rows)
    return out
"""


@pytest.fixture
def followed(monkeypatch) -> list[str]:
    """The functions that are followed."""
    names: list[str] = []
    launching = entries.Reading._launching
    monkeypatch.setattr(entries.Reading, "_launching", lambda self, one: names.append(one.name) or launching(self, one))
    return names


def test_what_one_function_has_shown_its_copies_are_told(followed, monkeypatch) -> None:
    names = ["scaled", "other", "third"]
    text = HEAD + "".join((KERNEL + HOST).format(name=name, more="") for name in names)
    told = Program(parse_module(text, "kernel.py")).workloads()
    once = followed.copy()
    monkeypatch.setattr(entries.Reading, "_hand_on", lambda self, value: None)
    followed.clear()
    alone = Program(parse_module(text, "kernel.py")).workloads()
    assert once.count("run_scaled") == followed.count("run_scaled") > 1
    assert once.count("run_third") < followed.count("run_third") == followed.count("run_scaled")
    assert [(one.entry, str(one.symbols), str(one.bounds), *map(str, one.inputs)) for one in told] == [
        (one.entry, str(one.symbols), str(one.bounds), *map(str, one.inputs)) for one in alone
    ]
    grids = [[(str(launch.grid), str(launch.arguments)) for launch in one.launches()] for one in told]
    assert grids == [[(str(launch.grid), str(launch.arguments)) for launch in one.launches()] for one in alone]


@pytest.mark.parametrize("more", ["", ", scale=1"])
def test_what_is_no_copy_is_told_nothing(followed, more) -> None:
    """Another text, or another kernel."""
    kernels = KERNEL.format(name="scaled", more="") + KERNEL.format(name="other", more="" if more else " + 1")
    hosts = HOST.format(name="scaled", more="") + HOST.format(name="other", more=more)
    Program(parse_module(HEAD + kernels + hosts, "kernel.py")).workloads()
    assert followed.count("run_scaled") == followed.count("run_other") > 1
