import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _ln2d_fwd(
    x_ptr, y_ptr, w_ptr, b_ptr,
    stride_n, stride_c, hw,
    C: tl.constexpr, eps,
    BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr,
):
    pix = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    n = tl.program_id(1).to(tl.int64)

    c = tl.arange(0, BLOCK_C)
    mask_c = c < C
    mask = mask_c[:, None] & (pix < hw)[None, :]
    offs = n * stride_n + c[:, None] * stride_c + pix[None, :]

    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / C
    d = tl.where(mask_c[:, None], x - mean[None, :], 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / C + eps)

    w = tl.load(w_ptr + c, mask=mask_c, other=0.0)
    b = tl.load(b_ptr + c, mask=mask_c, other=0.0)
    y = d * rstd[None, :] * w[:, None] + b[:, None]
    tl.store(y_ptr + offs, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_channels, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(num_channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(num_channels) * 0.1)
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        block_c = triton.next_power_of_2(c)
        # 64 half-precision pixels are one 128-byte line; narrower for very wide channels
        block_p = max(16, min(64, 8192 // block_c))
        _ln2d_fwd[(triton.cdiv(h * w, block_p), n)](
            x, y, self.weight, self.bias,
            x.stride(0), x.stride(1), h * w,
            C=c, eps=self.eps,
            BLOCK_C=block_c, BLOCK_P=block_p,
            num_warps=8,
        )
        return y
