import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def head_rms_kernel(Q, W, Out, stride_row, eps, D: tl.constexpr, BLOCK_D: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_D)
    mask = cols < D
    x = tl.load(Q + row * stride_row + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    ms = tl.sum(x * x, axis=0) / D
    y = x * tl.rsqrt(ms + eps) * w
    tl.store(Out + row * stride_row + cols, y.to(Out.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, head_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, head_dim).half())
        self.eps = 1e-6

    def forward(self, q):
        q = q.contiguous()
        d = q.shape[-1]
        flat = q.view(-1, d)
        out = torch.empty_like(flat)
        head_rms_kernel[(flat.shape[0],)](flat, self.weight, out, flat.stride(0), self.eps,
                                          D=d, BLOCK_D=triton.next_power_of_2(d))
        return out.view(q.shape)
