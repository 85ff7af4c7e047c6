"""KL510: products of tiles whose rows a remainder masks out."""

import pytest
from support.findings import run_rule

from kernlint.rules.registry import find_rule
from kernlint.workload import Loop

BAD = find_rule("KL510").bad
HELPER = """
        @triton.jit
        def reaches(t, s):
            return (t >= 0) & (t % s == 0)

        @triton.jit
        def transposed"""


def program(*replaced):
    text = BAD
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return text


HITS = {
    "as it is": (),
    "another remainder": (("t % S == 0", "t % S == 1"),),
    "the number first": (("t % S == 0", "0 == t % S"),),
    "in steps": (
        ("live = (t >= 0) & (t % S == 0) & (i < L)", "fits = t % S == 0\n                live = fits & (i < L)"),
    ),
    "in a helper": (
        ("(t >= 0) & (t % S == 0)", "reaches(t, S)"),
        ("        @triton.jit\n        def transposed", HELPER[1:]),
    ),
    "a constexpr": (("C, S, TAPS,", "C, S: tl.constexpr, TAPS,"),),
    "the remainder written out": (("t % S == 0", "i * S == t"),),
    "the remainder as a difference": (("t % S == 0", "t - i * S == 0"),),
    "expanded first": (("mask=live[:, None]", "mask=(i < L)[:, None] & (t[:, None] % S == 0)"),),
    "renamed": (("live", "m0"), ("tap", "k0")),
}


@pytest.mark.parametrize("replaced", HITS.values(), ids=HITS)
def test_rows_masked_by_a_remainder(replaced):
    finding = run_rule("KL510", program(*replaced)).only()
    assert "one row in 2 " in finding.message


def test_sorted_by_phase_the_loop_has_fewer_taps():
    found = run_rule("KL510", program())
    finding, (context,) = found.only(), found.contexts
    before, after = context.gpu_us(context.variant), context.gpu_us(finding.change.variant)
    assert before is not None and after is not None and after < 0.85 * before
    (loop,) = [node for launch in found.after().launches() for node, _ in launch.kernel.walk(Loop)]
    assert loop.trip == 3  # of five taps
    (x, _) = [load for launch in found.after().launches() for load in launch.kernel.loads()]
    assert x.stride(0) == 64 and not x.classes


def test_taps_as_far_apart_as_the_stride_leave_whole_phases_without_work():
    dilated = (("t = o - tap", "t = o - 2 * tap"),)
    found = run_rule("KL510", program(*dilated))
    assert "one row in 2 " in found.only().message
    (loop,) = [node for launch in found.after().launches() for node, _ in launch.kernel.walk(Loop)]
    assert loop.trip == 3


def test_without_a_launch_the_stride_is_named():
    kernel = BAD[: BAD.index("class ModelNew")]
    finding = run_rule("KL510", kernel).only()
    assert "`S`" in finding.message and "above 1" in finding.message


NO_HITS = {
    "stride 1": (("64, 2, w.shape[0]", "64, 1, w.shape[0]"), ("2 * (x", "1 * (x")),
    "bounds only": (("& (t % S == 0) ", ""),),
    "another product": (("t % S == 0", "i * S == o"),),
    "another comparison": (("t % S == 0", "t % S > 0"),),
    "either or": (("(t >= 0) & (t % S == 0) & (i < L)", "(i < L) | (t % S == 0)"),),
    "same for all rows": (("t % S == 0", "tap % S == 0"),),
    "no product": (("acc = tl.dot(a, b, acc)", "acc += a"),),
    "no loop": (("for tap in range(0, TAPS):", "if TAPS > 0:\n                tap = 0"),),
    "operand that is not masked": (("mask=live[:, None]", "mask=(i < L)[:, None]"),),
}


@pytest.mark.parametrize("replaced", NO_HITS.values(), ids=NO_HITS)
def test_other_masks(replaced):
    assert not run_rule("KL510", program(*replaced))
