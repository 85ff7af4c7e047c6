import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layernorm2d_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    C, HW, eps,
    BLOCK_C: tl.constexpr,
):
    # one program normalises one position
    pid = tl.program_id(0)
    img = (pid // HW).to(tl.int64)
    pos = pid % HW

    offs_c = tl.arange(0, BLOCK_C)
    mask = offs_c < C
    offs = img * C * HW + offs_c * HW + pos

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / C
    xc = tl.where(mask, x - mean, 0.0)
    var = tl.sum(xc * xc, axis=0) / C
    rstd = 1.0 / tl.sqrt(var + eps)

    w = tl.load(w_ptr + offs_c, mask=mask, other=0.0)
    b = tl.load(b_ptr + offs_c, mask=mask, other=0.0)
    tl.store(y_ptr + offs, xc * rstd * w + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        BLOCK_C = triton.next_power_of_2(c)
        grid = (n * h * w,)
        layernorm2d_kernel[grid](
            x, self.weight, self.bias, y,
            c, h * w, self.eps,
            BLOCK_C=BLOCK_C, num_warps=2 if BLOCK_C <= 256 else 4,
        )
        return y
