import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def join(decay_l, value_l, decay_r, value_r):
    return decay_l * decay_r, value_l * decay_r + value_r


@triton.jit
def ema_kernel(x, y, points, alpha, B: tl.constexpr):
    series = tl.program_id(0)
    x += series * points
    y += series * points
    i = tl.arange(0, B)
    state = 0.0
    for t in range(0, points, B):
        v = alpha * tl.load(x + t + i, mask=t + i < points, other=0.0)
        decay = tl.full((B,), 1.0, tl.float32) - alpha
        decay, v = tl.associative_scan((decay, v), 0, join)
        v += decay * state
        tl.store(y + t + i, v, mask=t + i < points)
        state = tl.sum(tl.where(i == B - 1, v, 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        ema_kernel[(x.shape[0],)](x, y, x.shape[1], 0.1, B=min(1024, triton.next_power_of_2(x.shape[1])))
        return y
