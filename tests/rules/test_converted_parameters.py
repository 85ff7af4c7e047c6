"""KL301 where parameters are converted on every call: read in place if the kernel is as fast so, else converted once."""

from __future__ import annotations

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def linear(x, w, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
        acc = tl.dot(a, tl.load(w + k[:, None] * N + n[None, :]), acc)
    tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=m[:, None] < M)

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4096, 4096)
        self.register_buffer("table", torch.randn(4096, 4096))

    def forward(self, x):
        w = self.fc.weight.t().to(torch.float16).contiguous()
        y = torch.empty(x.shape[0], 4096, dtype=torch.float16, device=x.device)
        linear[(triton.cdiv(x.shape[0], 64), 32)](x, w, y, x.shape[0], 4096, 4096, BM=64, BN=128, BK=64, num_stages=3)
        return y

def get_inputs():
    return [torch.randn(128, 4096, dtype=torch.float16)]
"""
WEIGHT = "self.fc.weight.t().to(torch.float16).contiguous()"


def methods(source: str) -> list[str]:
    return [f.change.method for f in run_rule("KL301", source).findings if f.change is not None]


@pytest.mark.parametrize(
    "weight",
    [
        pytest.param(WEIGHT, id="cast and transposed"),
        pytest.param("self.fc.weight.half().T.contiguous()", id="other spellings"),
        pytest.param("self.table.to(torch.float16)", id="a buffer"),
    ],
)
def test_converted_once(weight: str) -> None:
    (method,) = methods(PROGRAM.replace(WEIGHT, weight))
    assert "once, when they are set" in method


@pytest.mark.parametrize(
    "weight",
    [
        pytest.param("(self.fc.weight.t() * x.amax()).to(torch.float16).contiguous()", id="it depends on the input"),
        pytest.param("x.repeat(32, 1).t().contiguous()", id="it is the input"),
    ],
)
def test_what_depends_on_the_input_is_not_converted_once(weight: str) -> None:
    assert not any("once, when they are set" in method for method in methods(PROGRAM.replace(WEIGHT, weight)))


def test_the_product_alone_is_left() -> None:
    found = run_rule("KL301", PROGRAM)
    (finding,), (context,) = found.findings, found.contexts
    assert finding.change is not None and finding.change.variant is not None
    before, after = context.gpu_us(context.variant), context.gpu_us(finding.change.variant)
    assert before is not None and after is not None and after < before / 3
