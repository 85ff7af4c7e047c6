"""Windows of a tensor that are written out for a kernel: KL310 says nothing of them."""

from __future__ import annotations

import pytest
from support.findings import run_rule

#: A convolution as columns of windows and a product.
COLUMNS = """
@triton.jit
def product(w, c, y, O, L, K, BO: tl.constexpr, BL: tl.constexpr, BK: tl.constexpr):
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    p = tl.program_id(0) * BL + tl.arange(0, BL)
    k = tl.arange(0, BK)
    c += tl.program_id(2) * K * L
    acc = tl.zeros((BO, BL), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(w + o[:, None] * K + (start + k)[None, :], mask=(start + k)[None, :] < K, other=0.0)
        b = tl.load(c + (start + k)[:, None] * L + p[None, :], mask=((start + k)[:, None] < K) & (p[None, :] < L), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(y + tl.program_id(2) * O * L + o[:, None] * L + p[None, :], acc.to(tl.float16), mask=p[None, :] < L)

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(64, 32, 3, 3, dtype=torch.float16))
        self.columns = torch.nn.Unfold(3, padding=1)

    def forward(self, x):
        n, c, h, w = x.shape
        columns = torch.nn.functional.unfold(x, 3, padding=1)
        y = torch.empty(n, 64, h * w, device=x.device, dtype=x.dtype)
        product[(triton.cdiv(h * w, 64), 1, n)](self.weight.view(64, -1), columns, y, 64, h * w, c * 9, BO=64, BL=64, BK=32)
        return y.view(n, 64, h, w)

def get_inputs():
    return [torch.randn(16, 32, 32, 32, dtype=torch.float16)]
"""
CALL = "torch.nn.functional.unfold(x, 3, padding=1)"
BY_VIEWS = "torch.nn.functional.pad(x, (1, 1, 1, 1)).unfold(2, 3, 1).unfold(3, 3, 1).permute(0, 1, 4, 5, 2, 3)"
#: A moving average of frames that overlap by half, without a product.
FRAMES = """
@triton.jit
def energy(f, y, n, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    r, i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, SIZE)
    v = tl.load(f + r[:, None] * SIZE + i[None, :], mask=r[:, None] < n, other=0.0)
    tl.store(y + r, tl.sum(v * v, axis=1), mask=r < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        frames = x.unfold(0, 512, 128).contiguous()
        y = torch.empty(frames.shape[0], device=x.device)
        energy[(triton.cdiv(y.numel(), 8),)](frames, y, y.numel(), SIZE=512, BLOCK=8)
        return y

def get_inputs():
    return [torch.randn(4194304)]
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(COLUMNS, id="columns"),
        pytest.param(COLUMNS.replace(CALL, "self.columns(x)"), id="a module"),
        pytest.param(COLUMNS.replace(CALL, "torch.nn.functional.unfold(x, (3, 3), padding=(1, 1), stride=1)"), id="pairs"),
        pytest.param(COLUMNS.replace(CALL, BY_VIEWS + ".reshape(n, c * 9, h * w)"), id="views that overlap"),
        pytest.param(FRAMES, id="frames"),
    ],
)  # fmt: skip
def test_what_windows_cost_is_left_to_the_headroom(source: str) -> None:
    """Their readers would load each element several times from where it lies, which dropping the copy does not price."""
    assert not run_rule("KL310", source)
