"""De-emphasis (one-pole recursive low-pass) of many audio channels, float16 in and out, float32 state."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _compose(a1, b1, a2, b2):
    # y -> a1 y + b1, then y -> a2 y + b2
    return a1 * a2, a2 * b1 + b2


@triton.jit
def deemphasis_kernel(x_ptr, pole_ptr, state_ptr, out_ptr, final_ptr, samples,
                      BLOCK_T: tl.constexpr):
    c = tl.program_id(0)
    a = tl.load(pole_ptr + c)
    y_last = tl.load(state_ptr + c)
    row = c * samples
    idx = tl.arange(0, BLOCK_T)
    for start in range(0, samples, BLOCK_T):
        t = start + idx
        ok = t < samples
        x = tl.load(x_ptr + row + t, mask=ok, other=0.0).to(tl.float32)
        # past the end: the identity map, so that the last lane keeps the last value
        mul = tl.where(ok, a, 1.0)
        add = tl.where(ok, (1.0 - a) * x, 0.0)
        mul, add = tl.associative_scan((mul, add), 0, _compose)
        y = mul * y_last + add
        tl.store(out_ptr + row + t, y.to(tl.float16), mask=ok)
        y_last = tl.sum(tl.where(idx == BLOCK_T - 1, y, 0.0))
    tl.store(final_ptr + c, y_last)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.pole = nn.Parameter(torch.linspace(0.90, 0.99, channels), requires_grad=False)

    def forward(self, x, state):
        channels, samples = x.shape
        out = torch.empty_like(x)
        final = torch.empty_like(state)
        BLOCK_T = min(1024, triton.next_power_of_2(samples))
        deemphasis_kernel[(channels,)](
            x, self.pole, state, out, final, samples, BLOCK_T=BLOCK_T, num_warps=4)
        return out, final
