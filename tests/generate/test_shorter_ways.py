"""Kernels written anew where nothing that is known holds a program back."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.generated import attempt
from support.rewriting import assert_same_results, needs_interpreter
from support.torch_programs import program

from kernlint.fix import Fixed, fix_source
from kernlint.operators.generate import CANCELS
from kernlint.request import Request
from kernlint.rewrite.text import apply_edits

_COUNTS = "return torch.bincount(x.reshape(-1).long(), minlength=256)"
_ADDED = """
@triton.jit
def slow_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.int32)
    tl.atomic_add(out_ptr + value, 1, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.zeros(256, device=x.device, dtype=torch.int64)
        slow_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
"""


def _fixed(source: str, reference: str, unsafe: bool = True) -> Fixed:
    return fix_source(Request(source, reference=reference, device="h200"), follow_ups=True, unsafe=unsafe)


def _histogram() -> tuple[str, str]:
    source, reference = program(_COUNTS, "torch.randint(0, 256, (4096, 4096)).to(torch.uint8)", "", "x")
    return source[: source.index("@triton.jit")] + _ADDED.lstrip("\n"), reference


def test_a_sure_gain_is_taken():
    made = _fixed(*_histogram())
    assert [one.anew for one in made.applied] == [True]
    assert "tl.histogram" in made.after and made.applied[0].gain is not None and made.applied[0].gain.low > 1.25


def test_not_without_consent():
    source, reference = _histogram()
    assert _fixed(source, reference, unsafe=False).after == source


def test_a_good_program_stays_as_it_is():
    source, reference = program("return torch.relu(x)", "torch.randn(4096, 4096)", "", "x")
    good = source.replace("tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)",
                          "tl.store(x_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0.0), mask=at < n)")  # fmt: skip
    good = good.replace("(x.numel(),)", "(triton.cdiv(x.numel(), 1024),)").replace("BLOCK=1)", "BLOCK=1024)")
    made = _fixed(good, reference)
    assert made.after == good and not made.applied


@pytest.mark.parametrize(
    ("chosen", "halved"),
    [
        ("torch.triu(x @ x.transpose(1, 2), 1)", True),
        ("torch.tril(x @ x.transpose(1, 2), -1)", True),
        ("torch.tril(x @ x.transpose(1, 2))", True),
        ("torch.triu(x @ x.transpose(1, 2), 2)", False),
        ("torch.triu(x @ x.flip(1).transpose(1, 2), 1)", False),
        ("torch.triu(x @ (x + 1.0).transpose(1, 2), 1)", False),
        ("torch.triu((x @ x.transpose(1, 2)).relu(), 1)", False),
    ],
)
def test_a_half_by_the_whole(chosen, halved):
    """What lies on one side of the diagonal is half of the rest where the other half is the same."""
    source, reference = program(f"return ({chosen}).sum((1, 2))", "torch.rand(64, 40, 16)", "", "x")
    made = attempt(source, reference).rewriting
    assert made is not None
    assert any("* 0.5" in edit.text for edit in made.edits) == halved
    assert (CANCELS in made.effects.notes) == (made.effects.numerics == "changed") == halved


@needs_interpreter
def test_the_whole_of_halves_is_more_than_a_half_holds(tmp_path: Path) -> None:
    """The sum over all pairs would be beyond float16, that over half of them is not."""
    forward, inputs = "return torch.triu(x @ x.transpose(1, 2), 1).sum((1, 2))", "torch.rand(61, 37, 13).half() * 4"
    source, reference = program(forward, inputs, "", "x")
    made = attempt(source, reference).rewriting
    assert made is not None and CANCELS in made.effects.notes
    inputs = reference[reference.index("def get_inputs") :]
    after = apply_edits(source, made.edits) + inputs
    assert_same_results(tmp_path, reference.replace("Model(", "ModelNew("), after, 1e-2, header=False)
