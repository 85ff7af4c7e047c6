"""A kernel that stores through the pointers of its input: the output stays unwritten, the input changes.

    TRITON_INTERPRET=1 python in_place_by_mistake.py

Stands for the KL752 rows of docs/llm-failures.md. Each further run, as the autotuner makes them, scales the input once more.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu(x, out, slope, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = x + i
    value = tl.load(at, mask=i < n, other=0.0)
    tl.store(at, tl.where(value >= 0, value, value * slope), mask=i < n)


x = torch.full((64,), -1.0)
out = torch.full_like(x, float("nan"))
for run in (1, 2):
    leaky_relu[(1,)](x, out, 0.5, 64, BLOCK=64)
    print(
        f"after run {run}: the input is {x[0].item()}, {int(out.isnan().sum())} of 64 elements of the output not written"
    )
assert bool(out.isnan().all()) and bool((x == -0.25).all())
