"""A tile is changed without asking only where nothing depends on it at other sizes either, nor in what the host makes of it."""

from __future__ import annotations

import re

import pytest

from kernlint.fix import fix_source
from kernlint.request import Request

_STREAM = """
import torch
import torch.nn.functional as F
import triton
import triton.language as tl

BLOCK = 128


@triton.jit
def stream(x, y, count, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    # first
    tl.store(y + at, value * 2.0, mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n = x.numel()
        count = torch.zeros(1, dtype=torch.int32, device=x.device)
        # before
        y = torch.zeros_like(x)
        stream[(triton.cdiv(n, BLOCK),)](x, y, count, n, BLOCK=BLOCK)
        return y


def get_inputs():
    return [torch.randn(4096, 4096)]
"""

_FREE = {
    "as it is": (),
    "one that asserts what every tile keeps": (("# first", "tl.static_assert(BLOCK >= 128)"),),
}

_BOUND = {
    "no masks": ((", mask=at < n, other=0.0)", ")"), (", mask=at < n)", ")")),
    "a grid that rounds down": (("(triton.cdiv(n, BLOCK),)", "(n // BLOCK,)"),),
    "a mask that leaves out what no tile fills": (("mask=at < n)", "mask=at < n - n % BLOCK)"),),
    "an assert": (("# before", "assert n % BLOCK == 0"),),
    "an error": (("# before", "if n % BLOCK:\n            raise ValueError(n)"),),
    "another way": (("# before", "if n % BLOCK:\n            return x * 2.0"),),
    "a result that is padded": (
        ("# before", "m = triton.cdiv(n, BLOCK) * BLOCK; x = F.pad(x.view(-1), (0, m - n))"),
        (", mask=at < n, other=0.0)", ")"),
        (", mask=at < n)", ")"),
    ),
    "padding for this tile": (
        ("# before", "m = (n + 127) // 128 * 128; x = F.pad(x.view(-1), (0, m - n))"),
        (", mask=at < n, other=0.0)", ")"),
        (", mask=at < n)", ")"),
        ("return y\n", "return y[:n]\n"),
    ),
    "a number that is returned": (("return y\n", "return y, triton.cdiv(n, BLOCK)\n"),),
    "a number that torch is given": (("return y\n", "return y * BLOCK\n"),),
    "programs that are counted": (("# first", "tl.atomic_add(count, 1)"), ("return y\n", "return y, count\n")),
    "lanes that change places": (("value * 2.0", "tl.flip(value)"),),
    "lanes that are sorted": (("value * 2.0", "tl.sort(value)"),),
    "lanes in another order": (
        ("value * 2.0", "tl.reshape(tl.trans(tl.reshape(value, (BLOCK // 4, 4))), (BLOCK,))"),
    ),
    "a static assertion": (("# first", "tl.static_assert(BLOCK == 128)"),),
    "a condition on the program": (("# first", "if tl.program_id(0) > 3:\n        return"),),
}  # fmt: skip


def written(changes: tuple[tuple[str, str], ...], source: str = _STREAM) -> str:
    for old, new in changes:
        assert old in source
        source = source.replace(old, new, 1)
    return source


@pytest.mark.parametrize("changes", _FREE.values(), ids=_FREE)
def test_a_tile_that_nothing_depends_on_is_free(changes: tuple[tuple[str, str], ...]) -> None:
    result = fix_source(Request(written(changes), device="h100"), rules=["KL202"])
    assert [one.effects.applicability for one in result.applied] == ["safe"], result.refused
    assert re.search(r"^BLOCK = (?!128)\d+", result.after, re.MULTILINE) or "BLOCK=BLOCK" not in result.after


@pytest.mark.parametrize("changes", _BOUND.values(), ids=_BOUND)
def test_a_tile_that_something_depends_on_takes_consent(changes: tuple[tuple[str, str], ...]) -> None:
    source = written(changes)
    result = fix_source(Request(source, device="h100"), rules=["KL202"])
    assert not result.applied and result.after == source


def test_the_note_names_the_sizes() -> None:
    result = fix_source(Request(written(_BOUND["no masks"]), device="h100"), rules=["KL202"])
    assert [one.unsafe for one in result.refused] == [True] and "SIZE_4096 = 4,112" in result.refused[0].reason


def test_sizes_of_constants_and_of_a_reference_are_varied_too() -> None:
    source = (
        written(_BOUND["no masks"])
        .replace("randn(4096, 4096)", "randn(ROWS, 4)")
        .replace("BLOCK = 128\n", "BLOCK = 128\nROWS = 1 << 20\n")
    )
    source = source.replace("1 << 20", str(1 << 20))
    made, inputs = source.split("def get_inputs")
    model = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"
    reference = f"{model}\n\nROWS = {1 << 20}\n\n\ndef get_inputs{inputs}"
    for request in (Request(source, device="h100"), Request(made, reference=reference, device="h100")):
        result = fix_source(request, rules=["KL202"])
        assert not result.applied and any("ROWS = 1,048,704" in one.reason for one in result.refused), result.refused


def test_where_no_other_sizes_are_taken_the_given_ones_count() -> None:
    source = written((*_BOUND["no masks"], ("# before", "assert n == 4096 * 4096")))
    result = fix_source(Request(source, device="h100"), rules=["KL202"])
    assert [one.effects.applicability for one in result.applied] == ["safe"], result.refused
