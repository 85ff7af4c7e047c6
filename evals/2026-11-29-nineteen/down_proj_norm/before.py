import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def _add_rmsnorm(
    Y, R, W, N_OUT, H_OUT,
    n_cols, eps,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    y = tl.load(Y + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(R + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    h = y + r
    tl.store(H_OUT + row * n_cols + cols, h.to(H_OUT.dtype.element_ty), mask=mask)

    ms = tl.sum(h * h, axis=0) / n_cols
    inv = tl.rsqrt(ms + eps)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(N_OUT + row * n_cols + cols, (h * inv * w).to(N_OUT.dtype.element_ty), mask=mask)


def add_rmsnorm(y, residual, weight, eps):
    rows, cols = y.shape
    h = torch.empty_like(y)
    normed = torch.empty_like(y)
    BLOCK = triton.next_power_of_2(cols)
    num_warps = min(max(BLOCK // 512, 1), 16)
    _add_rmsnorm[(rows,)](y, residual, weight, normed, h, cols, eps, BLOCK=BLOCK, num_warps=num_warps)
    return normed, h


class ModelNew(nn.Module):
    def __init__(self, ffn, hidden, eps):
        super().__init__()
        self.down = nn.Linear(ffn, hidden, bias=False).half()
        self.scale = nn.Parameter((1.0 + 0.1 * torch.randn(hidden)).half())
        self.eps = eps

    def forward(self, act, residual):
        y = F.linear(act, self.down.weight)
        return add_rmsnorm(y, residual.contiguous(), self.scale, self.eps)
