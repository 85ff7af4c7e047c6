import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dropout_add(x_ptr, keep_ptr, r_ptr, o_ptr, n, p, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    keep = tl.load(keep_ptr + i, mask=i < n)
    r = tl.load(r_ptr + i, mask=i < n)
    tl.store(o_ptr + i, tl.where(keep, x / (1 - p), 0.0) + r, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, keep, residual):
        out = torch.empty_like(residual)
        dropout_add[(triton.cdiv(x.numel(), 2048),)](x, keep, residual, out, x.numel(), 0.1, B=2048)
        return out
