import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def compose(d0, v0, d1, v1):
    # y -> d1 * (d0 * y + v0) + v1
    return d0 * d1, d1 * v0 + v1


@triton.jit
def one_pole_kernel(x_ptr, y_ptr, coef_ptr, channels, samples, stride_row, BLOCK_T: tl.constexpr):
    # one program per (batch, channel) row
    row = tl.program_id(0)
    a = tl.load(coef_ptr + row % channels)
    x_row = x_ptr + row * stride_row
    y_row = y_ptr + row * stride_row
    lane = tl.arange(0, BLOCK_T)
    state = 0.0
    for start in range(0, samples, BLOCK_T):
        t = start + lane
        mask = t < samples
        x = tl.load(x_row + t, mask=mask, other=0.0)
        decay = tl.zeros([BLOCK_T], dtype=tl.float32) + (1.0 - a)
        d, v = tl.associative_scan((decay, a * x), 0, compose)
        y = v + d * state
        tl.store(y_row + t, y, mask=mask)
        state = tl.sum(tl.where(lane == BLOCK_T - 1, y, 0.0), axis=0)


def one_pole(x, coef):
    x = x.contiguous()
    B, C, T = x.shape
    y = torch.empty_like(x)
    BLOCK_T = min(2048, triton.next_power_of_2(T))
    one_pole_kernel[(B * C,)](x, y, coef, C, T, T, BLOCK_T=BLOCK_T, num_warps=4)
    return y


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.coef = nn.Parameter(torch.linspace(0.02, 0.4, channels))

    def forward(self, x):
        return one_pole(x, self.coef)
