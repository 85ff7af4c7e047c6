import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _adaln_fwd(X, SHIFT, SCALE, Y, seq_len, dim, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    sample = row // seq_len
    offset = row.to(tl.int64) * dim
    d = tl.arange(0, BLOCK)
    keep = d < dim

    x = tl.load(X + offset + d, mask=keep, other=0.0).to(tl.float32)
    scale = tl.load(SCALE + sample * dim + d, mask=keep, other=0.0).to(tl.float32)
    shift = tl.load(SHIFT + sample * dim + d, mask=keep, other=0.0).to(tl.float32)

    mean = tl.sum(x, axis=0) / dim
    diff = tl.where(keep, x - mean, 0.0)
    var = tl.sum(diff * diff, axis=0) / dim
    inv = 1.0 / tl.sqrt(var + eps)

    y = diff * inv * (1.0 + scale) + shift
    tl.store(Y + offset + d, y.to(Y.dtype.element_ty), mask=keep)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x, shift, scale):
        batch, seq_len, dim = x.shape
        y = torch.empty_like(x)
        _adaln_fwd[(batch * seq_len,)](
            x, shift, scale, y, seq_len, dim, self.eps,
            BLOCK=triton.next_power_of_2(dim), num_warps=8,
        )
        return y
