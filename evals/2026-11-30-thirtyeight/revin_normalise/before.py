import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def revin_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, std_ptr,
    T, C, eps,
    BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr,
):
    # the whole window of BLOCK_C series is held in registers; statistics run down the time axis
    batch = tl.program_id(1).to(tl.int64)
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    t = tl.arange(0, BLOCK_T)
    cmask = c < C
    mask = (t[:, None] < T) & cmask[None, :]
    offs = batch * T * C + t[:, None] * C + c[None, :]

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / T
    xc = tl.where(mask, x - mean[None, :], 0.0)
    std = tl.sqrt(tl.sum(xc * xc, axis=0) / T + eps)

    w = tl.load(w_ptr + c, mask=cmask, other=0.0)
    b = tl.load(b_ptr + c, mask=cmask, other=0.0)
    y = xc * (w / std)[None, :] + b[None, :]

    tl.store(y_ptr + offs, y, mask=mask)
    tl.store(mean_ptr + batch * C + c, mean, mask=cmask)
    tl.store(std_ptr + batch * C + c, std, mask=cmask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))

    def forward(self, x):
        x = x.contiguous()
        B, T, C = x.shape
        y = torch.empty_like(x)
        mean = torch.empty((B, 1, C), device=x.device, dtype=x.dtype)
        std = torch.empty((B, 1, C), device=x.device, dtype=x.dtype)
        BLOCK_C = 32
        revin_kernel[(triton.cdiv(C, BLOCK_C), B)](
            x, self.weight, self.bias, y, mean, std, T, C, self.eps,
            BLOCK_T=triton.next_power_of_2(T), BLOCK_C=BLOCK_C, num_warps=8 if T <= 256 else 16,
        )
        return y, mean, std
