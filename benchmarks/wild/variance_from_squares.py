"""A variance as the mean of squares less the square of the mean, in the type of the input: lost by cancellation, or an overflow.

    TRITON_INTERPRET=1 python variance_from_squares.py

Stands for `_group_norm_forward_kernel` (group_norm.py) of liger-kernel: fp32 values around 200 with a deviation of 0.05, and fp16 values
with a deviation of 2.5, of which 16,384 squares add up to more than 65,504.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def normalise(y, x, size, eps, BLOCK: tl.constexpr):
    s = 0.0
    squares = 0.0
    for i in tl.range(0, size, BLOCK):
        at = i + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < size, other=0.0)
        s += tl.sum(v)
        squares += tl.sum(v * v)
    mean = s / size
    scale = tl.rsqrt(squares / size - mean * mean + eps)
    for i in tl.range(0, size, BLOCK):
        at = i + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < size, other=mean)
        tl.store(y + at, (v - mean) * scale, mask=at < size)


def error(x):
    """The largest error of the kernel, and the largest right value."""
    y = torch.empty_like(x)
    normalise[(1,)](y, x, x.numel(), 1e-5, BLOCK=triton.next_power_of_2(x.numel()))
    right = torch.nn.functional.layer_norm(x.double(), x.shape, eps=1e-5)
    return (y.double() - right).abs().max().item(), right.abs().max().item()


torch.manual_seed(0)
usual = error(torch.randn(512))
far = error(torch.randn(512) * 0.05 + 200.0)
half = error((torch.randn(16384) * 2.5).half())
for name, (wrong, largest) in {"mean 0": usual, "mean 200, deviation 0.05": far, "fp16, deviation 2.5": half}.items():
    print(f"{name}: error {wrong:.3g} where the largest value is {largest:.3g}")
assert usual[0] < 1e-4 and not far[0] < 0.1 and not half[0] < 1.0
