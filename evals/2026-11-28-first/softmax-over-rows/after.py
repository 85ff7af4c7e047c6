import torch
import triton
import triton.language as tl


@triton.jit
def softmax_down(x, y, slots, lanes, P: tl.constexpr, W: tl.constexpr):
    lane = tl.program_id(0) * W + tl.arange(0, W)
    s = tl.arange(0, P)
    at = s[:, None] * lanes + lane[None, :]
    ok = (s[:, None] < slots) & (lane[None, :] < lanes)
    v = tl.load(x + at, mask=ok, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0)[None, :])
    tl.store(y + at, v / tl.sum(v, 0)[None, :], mask=ok)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        slots, lanes = x.shape
        softmax_down[(triton.cdiv(lanes, 16),)](x, y, slots, lanes, P=triton.next_power_of_2(slots), W=16, num_warps=8)
        return y
