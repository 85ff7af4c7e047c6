import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def adaln_kernel(
    X, SHIFT, SCALE, Y,
    tokens, width, eps,
    stride_xb, stride_xt, stride_m,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    b = tl.program_id(1)
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    c_mask = c < width
    mask = (t < tokens)[:, None] & c_mask[None, :]
    offs = b.to(tl.int64) * stride_xb + t[:, None] * stride_xt + c[None, :]

    x = tl.load(X + offs, mask=mask, other=0.0).to(tl.float32)
    shift = tl.load(SHIFT + b * stride_m + c, mask=c_mask, other=0.0).to(tl.float32)
    scale = tl.load(SCALE + b * stride_m + c, mask=c_mask, other=0.0).to(tl.float32)

    mean = tl.sum(x, axis=1) / width
    diff = tl.where(mask, x - mean[:, None], 0.0)
    var = tl.sum(diff * diff, axis=1) / width
    rstd = 1.0 / tl.sqrt(var + eps)
    y = diff * rstd[:, None] * (1.0 + scale)[None, :] + shift[None, :]
    tl.store(Y + offs, y.to(Y.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x, shift, scale):
        x = x.contiguous()
        B, T, C = x.shape
        y = torch.empty_like(x)
        ROWS = 2
        adaln_kernel[(triton.cdiv(T, ROWS), B)](
            x, shift, scale, y, T, C, self.eps,
            x.stride(0), x.stride(1), shift.stride(0),
            ROWS=ROWS, BLOCK=triton.next_power_of_2(C), num_warps=4,
        )
        return y
