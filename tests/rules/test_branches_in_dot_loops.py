"""KL219: loads of a dot behind a branch of the loop, whose condition no iteration changes."""

import pytest
from support.findings import run_rule

SOURCE = """
@triton.jit
def even(v):
    return v % 2 == 0

@triton.jit
def matmul(a, b, c, flag, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    once = tl.load(flag)
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(0, K, BK):
        at = a + m[:, None] * K + (step + k)[None, :]
        {test}
            x = tl.load(at)
        else:
            x = tl.load(at + K)
        acc = tl.dot(x, tl.load(b + (step + k)[:, None] * N + n[None, :]), acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)

def run(a: torch.Tensor, b: torch.Tensor, flag: torch.Tensor):
    M, K = a.shape
    c = torch.empty(M, 256, device=a.device, dtype=torch.float32)
    matmul[(M // 64, 4)](a, b, c, flag, M, 256, K, BM=64, BN=64, BK=32)
    return c
"""


STAY = ["once > 0", "(once > 0) & (M > N)", "even(once)", "tl.program_id(0) == 0", "not once > 0", "tl.load(flag) > 0"]
CHANGE = ["step > 0", "tl.load(flag + step) > 0", "tl.max(acc) > once", "even(step)"]


@pytest.mark.parametrize("test", STAY)
def test_a_condition_that_stays_as_it_is(test: str) -> None:
    assert run_rule("KL219", SOURCE.format(test=f"if {test}:")).only().kernel == "matmul"


@pytest.mark.parametrize("test", CHANGE)
def test_a_condition_that_may_change(test: str) -> None:
    assert not run_rule("KL219", SOURCE.format(test=f"if {test}:"))
