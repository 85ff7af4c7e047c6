import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def head_rms_kernel(Q, W, Out, n_rows, stride_row, eps, D: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.arange(0, BLOCK_D)
    cmask = cols < D
    mask = (rows < n_rows)[:, None] & cmask[None, :]
    offs = rows[:, None] * stride_row + cols[None, :]
    x = tl.load(Q + offs, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=cmask, other=0.0).to(tl.float32)
    ms = tl.sum(x * x, axis=1) / D
    y = x * tl.rsqrt(ms + eps)[:, None] * w[None, :]
    tl.store(Out + offs, y.to(Out.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, head_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, head_dim).half())
        self.eps = 1e-6

    def forward(self, q):
        q = q.contiguous()
        d = q.shape[-1]
        flat = q.view(-1, d)
        n_rows = flat.shape[0]
        out = torch.empty_like(flat)
        block_d = triton.next_power_of_2(d)
        block_r = max(1, 4096 // block_d)
        head_rms_kernel[(triton.cdiv(n_rows, block_r),)](flat, self.weight, out, n_rows, flat.stride(0), self.eps,
                                                         D=d, BLOCK_R=block_r, BLOCK_D=block_d)
        return out.view(q.shape)
