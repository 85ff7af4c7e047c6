"""A log-cumsum-exp whose last, partial tile is filled with zeros: where all values are below -88 it underflows.

    TRITON_INTERPRET=1 python zero_in_a_maximum.py

Stands for `logcumsumexp_fwd_kernel` of fla-core: the maximum of the tile takes in its masked rows, which hold 0.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def log_cumsum_exp(s, z, rows, OTHER: tl.constexpr, BT: tl.constexpr):
    row = tl.arange(0, BT)
    lower = tl.where(row[:, None] >= row[None, :], 1.0, 0.0)
    inside = row < rows
    values = tl.load(s + row, mask=inside, other=OTHER)
    largest = tl.max(values, 0)
    sums = tl.sum(lower * tl.exp(values - largest)[None, :], 1)
    tl.store(z + row, tl.log(tl.where(sums != 0, sums, 1e-20)) + largest, mask=inside)


def run(values, other):
    z = torch.empty_like(values)
    log_cumsum_exp[(1,)](values, z, values.numel(), other, 16)
    return z


values = torch.full((10,), -200.0)
expected = torch.logcumsumexp(values, 0)
print("expected      ", expected[-1].item())
print("other=0       ", run(values, 0.0)[-1].item())
print("other=-inf    ", run(values, float("-inf"))[-1].item())
assert not torch.allclose(run(values, 0.0), expected, atol=1.0)
assert torch.allclose(run(values, float("-inf")), expected, atol=1e-3)
