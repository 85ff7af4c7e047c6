import torch
import triton
import triton.language as tl


@triton.jit
def softmax_down(x, y, slots, lanes, P: tl.constexpr):
    lane = tl.program_id(0)
    s = tl.arange(0, P)
    at = s * lanes + lane
    v = tl.load(x + at, mask=s < slots, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(y + at, v / tl.sum(v, 0), mask=s < slots)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_down[(x.shape[1],)](x, y, *x.shape, P=triton.next_power_of_2(x.shape[0]))
        return y
