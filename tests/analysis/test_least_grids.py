"""Grids that data decide: one program is the least that a launch has, and the call takes no less time than that."""

from __future__ import annotations

from support.torch_programs import program

from kernlint.analysis import analyze
from kernlint.fix import fix_source
from kernlint.request import Request

_LOOP = """
        y = torch.zeros_like(x)
        for e in range(x.shape[0]):
            n = int(counts[e].item())
            slow_kernel[(triton.cdiv(n, 64),)](x[e], n, BLOCK=64)
        return y
"""


def _pair(forward: str, rounds: int) -> tuple[str, str]:
    source, reference = program(
        forward="return torch.where(torch.arange(x.shape[1])[None] < counts[:, None], x, 0.0)",
        inputs=f"torch.randn({rounds}, 640), torch.randint(0, 640, ({rounds},))",
        arguments="x, counts",
        constants="",
    )
    head, mark, _ = source.partition("        # One element for each program.\n")
    assert mark
    return head + forward.lstrip("\n"), reference


def test_what_pays_with_one_program_a_launch_pays():
    source, reference = _pair(_LOOP, 32)
    verdict = analyze(source, reference=reference, device="h200")
    assert verdict.worth_optimizing and "grid[0]" in verdict.reason
    made = fix_source(Request(source, reference=reference, device="h200"), unsafe=True)
    assert [one.anew for one in made.applied] == [True]
    assert ".item()" not in made.after


def test_without_a_reference_nothing_is_said_of_it():
    source, _ = _pair(_LOOP, 32)
    assert not analyze(source, device="h200").worth_optimizing
