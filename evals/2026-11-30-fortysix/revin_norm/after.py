import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def revin_kernel(
    x_ptr, w_ptr, b_ptr,
    y_ptr, mean_ptr, std_ptr,
    T, C, eps,
    BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr,
):
    # a program owns neighbouring series, so that every row of its tile is contiguous
    series = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    window = tl.program_id(1)
    t = tl.arange(0, BLOCK_T)
    s_mask = series < C
    mask = (t < T)[:, None] & s_mask[None, :]

    offs = window.to(tl.int64) * T * C + t[:, None] * C + series[None, :]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)

    mean = tl.sum(x, axis=0) / T
    centred = tl.where(mask, x - mean[None, :], 0.0)
    var = tl.sum(centred * centred, axis=0) / T
    std = tl.sqrt(var + eps)

    w = tl.load(w_ptr + series, mask=s_mask, other=0.0)
    b = tl.load(b_ptr + series, mask=s_mask, other=0.0)
    y = centred * (w / std)[None, :] + b[None, :]

    tl.store(y_ptr + offs, y.to(tl.bfloat16), mask=mask)
    tl.store(mean_ptr + window * C + series, mean, mask=s_mask)
    tl.store(std_ptr + window * C + series, std, mask=s_mask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)

    def forward(self, x):
        x = x.contiguous()
        B, T, C = x.shape
        y = torch.empty_like(x)
        mean = torch.empty((B, 1, C), device=x.device, dtype=torch.float32)
        std = torch.empty((B, 1, C), device=x.device, dtype=torch.float32)
        BLOCK_T = triton.next_power_of_2(T)
        BLOCK_C = 32 if BLOCK_T <= 512 else 16
        revin_kernel[(triton.cdiv(C, BLOCK_C), B)](
            x, self.weight, self.bias, y, mean, std,
            T, C, self.eps,
            BLOCK_T=BLOCK_T, BLOCK_C=BLOCK_C, num_warps=8,
        )
        return y, mean, std
