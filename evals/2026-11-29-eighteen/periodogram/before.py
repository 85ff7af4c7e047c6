import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nudft_power_kernel(
    t_ptr,          # [B, N]
    y_ptr,          # [B, N]
    freq_ptr,       # [F]
    out_ptr,        # [B, F]
    n_obs,
    n_freq,
    TWO_PI: tl.constexpr,
    BLOCK_F: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    pid_f = tl.program_id(0)
    pid_b = tl.program_id(1)

    f_idx = pid_f * BLOCK_F + tl.arange(0, BLOCK_F)
    f_mask = f_idx < n_freq
    freq = tl.load(freq_ptr + f_idx, mask=f_mask, other=0.0).to(tl.float64)
    omega = freq * TWO_PI

    acc_c = tl.zeros((BLOCK_F,), dtype=tl.float64)
    acc_s = tl.zeros((BLOCK_F,), dtype=tl.float64)

    for start in range(0, n_obs, BLOCK_N):
        n_idx = start + tl.arange(0, BLOCK_N)
        n_mask = n_idx < n_obs
        t = tl.load(t_ptr + pid_b * n_obs + n_idx, mask=n_mask, other=0.0).to(tl.float64)
        y = tl.load(y_ptr + pid_b * n_obs + n_idx, mask=n_mask, other=0.0).to(tl.float64)

        phase = omega[:, None] * t[None, :]
        acc_c += tl.sum(tl.cos(phase) * y[None, :], axis=1)
        acc_s += tl.sum(tl.sin(phase) * y[None, :], axis=1)

    power = (acc_c * acc_c + acc_s * acc_s) / n_obs
    tl.store(out_ptr + pid_b * n_freq + f_idx, power.to(tl.float32), mask=f_mask)


def nudft_power(t, y, freqs):
    t = t.contiguous()
    y = y.contiguous()
    B, N = t.shape
    F = freqs.shape[0]
    out = torch.empty((B, F), device=t.device, dtype=torch.float32)
    BLOCK_F = 16
    BLOCK_N = 64
    grid = (triton.cdiv(F, BLOCK_F), B)
    nudft_power_kernel[grid](
        t, y, freqs, out, N, F,
        TWO_PI=2.0 * math.pi,
        BLOCK_F=BLOCK_F,
        BLOCK_N=BLOCK_N,
        num_warps=4,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, n_freq: int, f_max: float):
        super().__init__()
        self.register_buffer("freqs", torch.linspace(0.5, f_max, n_freq))

    def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nudft_power(t, y, self.freqs)
