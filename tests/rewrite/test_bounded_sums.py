"""int32 holds sums of 131,071 products of int8: a fix that adds up in int32 is safe where K is written, or asserted to be no larger."""

from __future__ import annotations

import pytest
from support.fixes import LOADS, changed, fixed, gemm, refusal

_CALL = "kernel[(1,)](a, b, c, s, 4096, BM=64, BN=64, BK=64)"
_PLAIN = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))")
_ASSERT = 'assert K < 131_072, "an int32 sum of int8 products may overflow"'
_OUTPUT = "    c = torch.empty(64, 64, device=a.device)\n"
_NAMED = _PLAIN.replace(_OUTPUT, "    M, K = a.shape\n" + _OUTPUT).replace(_CALL, _CALL.replace("4096", "K"))
_CALLED = """
class ModelNew(torch.nn.Module):
    def forward(self, a, b, s):
        return launch(a, b, s)

def get_inputs():
    return [torch.ones(64, 4096, dtype=torch.int8), torch.ones(64, 4096, dtype=torch.int8), torch.ones(64)]
"""


def _launcher(source: str) -> list[str]:
    return [line.strip() for line in source.partition("def launch")[2].partition("class ModelNew")[0].splitlines()]


@pytest.mark.parametrize(
    "source",
    [
        _PLAIN,
        _PLAIN.replace("4096", "131008"),
        _PLAIN.replace(_CALL, "K = 4096\n    " + _CALL.replace("4096", "K")),
        _PLAIN.replace(_CALL, _CALL.replace("4096", "DEPTH")).replace("@triton.jit", "DEPTH = 4096\n\n@triton.jit"),
        _PLAIN.replace("range(0, K, BK)", "range(0, 4096, BK)").replace(_CALL, _CALL.replace("4096", "a.shape[1]")),
    ],
)
def test_nothing_is_asserted_of_a_k_in_the_text(source: str) -> None:
    assert "131_072" not in fixed(source, "KL101", unsafe=False).after


@pytest.mark.parametrize("called", ["", _CALLED])
@pytest.mark.parametrize("loop", ["range(0, K, BK)", "tl.range(0, K, BK)"])
def test_a_k_that_calls_decide_is_asserted_to_be_small(loop: str, called: str) -> None:
    source = (_NAMED + called).replace("range(0, K, BK)", loop)
    lines = _launcher(fixed(source, "KL101", unsafe=False).after)
    assert lines.index(_ASSERT) == lines.index("M, K = a.shape") + 1


def test_a_count_of_tiles_between_the_loop_and_k() -> None:
    source = _NAMED.replace(
        "    for start in range(0, K, BK):\n",
        "    tiles = tl.cdiv(K, BK)\n    for i in range(tiles):\n        start = i * BK\n",
    )
    assert source != _NAMED and _ASSERT in _launcher(fixed(source + _CALLED, "KL101", unsafe=False).after)


def test_a_k_that_is_a_constexpr_and_a_parameter_of_the_launcher() -> None:
    source = (_NAMED + _CALLED).replace("s, K, BM:", "s, K: tl.constexpr, BM:").replace("    M, K = a.shape\n", "")
    source = source.replace("launch(a, b, s):", "launch(a, b, s, K):").replace(
        "launch(a, b, s)\n", "launch(a, b, s, a.shape[1])\n"
    )
    lines = _launcher(fixed(source, "KL101", unsafe=False).after)
    assert lines[1].startswith("assert a.dtype") and lines[2] == _ASSERT


@pytest.mark.parametrize(
    "between",
    [
        "    if K > 100_000:\n        return a.float() @ b.float()\n",
        "    for _ in range(2):\n        K = a.shape[1]\n",
        "    if s.numel() > 1:\n        K = b.shape[1]\n",
    ],
)
def test_calls_that_do_not_come_to_the_launch_are_not_refused(between: str) -> None:
    source = _NAMED.replace(_OUTPUT, _OUTPUT + between)
    lines = _launcher(fixed(source + _CALLED, "KL101", unsafe=False).after)
    assert lines.index(_ASSERT) == lines.index(_CALL.replace("4096", "K")) - 1


@pytest.mark.parametrize(
    "source",
    [
        _NAMED.replace("s, K, BM=64", "s, a.shape[1], BM=64"),
        # The loop ends where two arguments say, and adds up in more rounds where it is one of several.
        _NAMED.replace("K, BM:", "K, G, BM:").replace("range(0, K, BK)", "range(0, K // G, BK)").replace("K, BM=", "K, M // 64, BM="),
        _NAMED.replace("range(0, K, BK)", "range(0, 2 * K, BK)"),
        _NAMED.replace("range(0, K, BK)", "range(0, K * BK, BK)").replace("s, K, BM=", "s, K // 4096, BM="),
        _NAMED.replace("s, K, BM=", "s, K if M else 64, BM="),
        _NAMED.replace(_CALL.replace("4096", "K"), "run = lambda K: " + _CALL.replace("4096", "K") + "\n    run(K)"),
    ],
)  # fmt: skip
def test_a_k_without_a_name_makes_the_fix_unsafe(source: str) -> None:
    assert source != _NAMED
    assert "131,071 products may overflow" in refusal(source + _CALLED, "KL101", unsafe=False)
    assert "131_072" not in fixed(source + _CALLED, "KL101").after


def test_a_constant_that_is_set_elsewhere_is_none() -> None:
    source = _PLAIN.replace(_CALL, _CALL.replace("4096", "DEPTH")).replace("@triton.jit", "DEPTH = 4096\n\n@triton.jit")
    source += "\ndef deeper(depth):\n    global DEPTH\n    DEPTH = depth\n"
    assert 'assert DEPTH < 131_072, "' in fixed(source, "KL101", unsafe=False).after


def test_every_configuration_of_a_tuner_takes_the_same_assert() -> None:
    configs = ", ".join(f'triton.Config({{"BK": {k}}})' for k in (32, 64))
    source = _NAMED.replace("@triton.jit", f'@triton.autotune([{configs}], key=["K"])\n@triton.jit').replace(
        ", BK=64)", ")"
    )
    gone, came = changed(fixed(source + _CALLED, "KL101", unsafe=False))
    assert came.count(_ASSERT) == 1 and not any("assert" in line for line in gone)


def test_kernels_of_halves_take_no_assert() -> None:
    source = (_NAMED + _CALLED).replace("torch.int8", "torch.float16")
    assert "131_072" not in fixed(source, "KL103").after
