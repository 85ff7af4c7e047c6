"""KL215: a factor in the K loop, where it can be taken out of the sum and where it cannot."""

import pytest
from support.findings import run_rule

SOURCE = """
M, N, K = 4096, 4096, 4096

{helper}
@triton.jit
def matmul(a, b, scale, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    s = tl.load(scale + n, mask=n < N, other=0.0)
    one = tl.load(scale)
    acc = {start}
    for step in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (step + k)[None, :], mask=m[:, None] < M, other=0.0)
        y = tl.load(b + n[None, :] * K + (step + k)[:, None], mask=n[None, :] < N, other=0.0)
        {update}
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))

class ModelNew(torch.nn.Module):
    def forward(self, a, b, scale):
        c = torch.empty(M, N, device=a.device, dtype=torch.float16)
        grid = (triton.cdiv(M, 128), triton.cdiv(N, 128))
        matmul[grid](a, b, scale, c, M, N, K, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)
        return c

def get_inputs():
    half = dict(dtype=torch.float16)
    return [torch.randn(M, K, **half) / K**0.5, torch.randn(N, K, **half), torch.randn(N)]
"""
ZEROS = "tl.zeros((BM, BN), tl.float32)"


def source(update: str, start: str = ZEROS, helper: str = "") -> str:
    return SOURCE.format(update=update, start=start, helper=helper)


HELPERS = """
@triton.jit
def scaled(v, factor=0.5):
    "Doc strings say nothing."
    return v * factor

@triton.jit
def twice(v):
    return scaled(scaled(v))

@triton.jit
def nothing(BM: tl.constexpr, BN: tl.constexpr):
    return tl.zeros((BM, BN), tl.float32)

@triton.jit
def again(v):
    return again(v) + 1.0
"""


def helped(update: str, start: str = ZEROS) -> str:
    return source(update, start, HELPERS)


HITS = {
    "a factor for each column": source("acc += tl.dot(x, y) * s[None, :]"),
    "factor first": source("acc += s[None, :] * tl.dot(x, y)"),
    "two factors": source("acc += tl.dot(x, y) * s[None, :] * one"),
    "one factor for all": source("acc += tl.dot(x, y) * one"),
    "a literal": source("acc += tl.dot(x, y) * 0.125"),
    "written out": source("acc = acc + tl.dot(x, y) * s[None, :]"),
    "written out the other way": source("acc = tl.dot(x, y) * s[None, :] + acc"),
    "product with a name": source("p = tl.dot(x, y)\n        acc += p * s[None, :]"),
    "function of a factor": source("acc += tl.dot(x, y) * tl.exp(one)"),
    "scaled by a helper": helped("acc += scaled(tl.dot(x, y), one)"),
    "by its default": helped("acc += scaled(tl.dot(x, y))"),
    "by keywords": helped("acc += scaled(factor=one, v=tl.dot(x, y))"),
    "by a helper of a helper": helped("acc += twice(tl.dot(x, y))"),
    "a factor of a helper": helped("acc += tl.dot(x, y) * scaled(one)"),
    "zeros of a helper": helped("acc += tl.dot(x, y) * one", "nothing(BM, BN)"),
    "loaded again in each step": source("acc += tl.dot(x, y) * tl.load(scale)"),
}
NO_OPS = {
    "scaled behind the loop": source("acc = tl.dot(x, y, acc)"),
    "plain sum": source("acc += tl.dot(x, y)"),
    "a factor for each step": source("acc += tl.dot(x, y) * tl.load(scale + step)"),
    "factor of the step": source("acc += tl.dot(x, y) * (step + 1)"),
    "factor loaded in the loop": source("g = tl.load(scale + step)\n        acc += tl.dot(x, y) * g"),
    "accumulator rescaled": source("acc = acc * 0.5\n        acc += tl.dot(x, y) * one"),
    "accumulator read": source("acc += tl.dot(x, y) * one\n        one = tl.max(acc)"),
    "start that is not zero": source("acc += tl.dot(x, y) * one", "tl.full((BM, BN), 1.0, tl.float32)"),
    "a sum, no product": source("acc += tl.dot(x, y) + s[None, :]"),
    "a difference": source("acc -= tl.dot(x, y) * s[None, :]"),
    "product used twice": source("p = tl.dot(x, y)\n        acc += p * tl.sqrt(p)"),
    "a helper that may do anything": source(
        "acc += tl.dot(x, y) * noise(one)", helper="@triton.jit\ndef noise(v):\n    return tl.rand(0, v)\n"
    ),
    "a helper that calls itself": helped("acc += tl.dot(x, y) * again(one)"),
    "used behind the loop": source("p = tl.dot(x, y)\n        acc += p * one").replace("acc.to(", "(acc + p).to("),
    "overwritten": source("acc = tl.dot(x, y) * s[None, :]"),
    "maximum": source("acc = tl.maximum(acc, tl.dot(x, y) * s[None, :])"),
}


@pytest.mark.parametrize("case", HITS)
def test_a_factor_of_no_step_is_found(case: str) -> None:
    finding = run_rule("KL215", HITS[case]).only()
    assert finding.kernel == "matmul"
    assert finding.change is not None


@pytest.mark.parametrize("case", NO_OPS)
def test_anything_else_is_left_alone(case: str) -> None:
    assert not run_rule("KL215", NO_OPS[case])


@pytest.mark.parametrize(("old", "new"), [("acc", "total"), ("tl.", "language."), ("s[None, :]", "other[None, :]")])
def test_names_do_not_matter(old: str, new: str) -> None:
    text = HITS["a factor for each column"].replace(old, new)
    text = text.replace("    s = ", "    other = ") if "other[" in new else text
    text = "import triton.language as language\n" + text if new == "language." else text
    assert run_rule("KL215", text)
