import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _ema_kernel(x_ptr, alpha_ptr, out_ptr, T, A, BLOCK: tl.constexpr):
    a = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = a < A
    alpha = tl.load(alpha_ptr + a, mask=mask, other=0.0)
    y = tl.load(x_ptr + a, mask=mask, other=0.0)
    x_row = x_ptr + a
    o_row = out_ptr + a
    for t in range(0, T):
        x = tl.load(x_row, mask=mask, other=0.0)
        y = y + alpha * (x - y)
        tl.store(o_row, y, mask=mask)
        x_row += A
        o_row += A


class ModelNew(nn.Module):
    def __init__(self, assets):
        super().__init__()
        self.register_buffer("alpha", torch.rand(assets) * 0.3 + 0.02)

    def forward(self, x):
        T, A = x.shape
        out = torch.empty_like(x)
        BLOCK = 128
        _ema_kernel[(triton.cdiv(A, BLOCK),)](x, self.alpha, out, T, A, BLOCK=BLOCK, num_warps=4)
        return out
