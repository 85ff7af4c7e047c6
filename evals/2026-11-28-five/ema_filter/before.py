import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def one_pole_kernel(x_ptr, y_ptr, coef_ptr, channels, samples, stride_row):
    # one program per (batch, channel) row
    row = tl.program_id(0)
    a = tl.load(coef_ptr + row % channels)
    x_row = x_ptr + row * stride_row
    y_row = y_ptr + row * stride_row
    state = 0.0
    for t in range(samples):
        x = tl.load(x_row + t)
        state = (1.0 - a) * state + a * x
        tl.store(y_row + t, state)


def one_pole(x, coef):
    x = x.contiguous()
    B, C, T = x.shape
    y = torch.empty_like(x)
    one_pole_kernel[(B * C,)](x, y, coef, C, T, T, num_warps=1)
    return y


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.coef = nn.Parameter(torch.linspace(0.02, 0.4, channels))

    def forward(self, x):
        return one_pole(x, self.coef)
