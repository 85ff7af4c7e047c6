import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def revin_kernel(
    x_ptr, w_ptr, b_ptr,
    y_ptr, mean_ptr, std_ptr,
    T, C, eps,
    BLOCK_T: tl.constexpr,
):
    series = tl.program_id(0)
    window = tl.program_id(1)
    t = tl.arange(0, BLOCK_T)
    mask = t < T

    offs = window.to(tl.int64) * T * C + t * C + series
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)

    mean = tl.sum(x, axis=0) / T
    centred = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / T
    std = tl.sqrt(var + eps)

    w = tl.load(w_ptr + series)
    b = tl.load(b_ptr + series)
    y = centred / std * w + b

    tl.store(y_ptr + offs, y.to(tl.bfloat16), mask=mask)
    tl.store(mean_ptr + window * C + series, mean)
    tl.store(std_ptr + window * C + series, std)


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
        revin_kernel[(C, B)](
            x, self.weight, self.bias, y, mean, std,
            T, C, self.eps,
            BLOCK_T=triton.next_power_of_2(T), num_warps=4,
        )
        return y, mean, std
