import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ema_kernel(x, y, points, alpha):
    series = tl.program_id(0)
    x += series * points
    y += series * points
    state = 0.0
    for t in range(points):
        state = (1.0 - alpha) * state + alpha * tl.load(x + t)
        tl.store(y + t, state)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        ema_kernel[(x.shape[0],)](x, y, x.shape[1], 0.1)
        return y
