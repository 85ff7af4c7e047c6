"""A grid of `x.shape[0]` programs, one a row: of a batch of sequences, most rows are never computed.

    TRITON_INTERPRET=1 python rows_of_the_first_axis.py

Stands for `rmsnorm_triton` and `softmax_triton` of cuda-triton-multiarch, whose references take any number of dimensions. What is
returned for the other rows is what the allocator had there; it is filled with NaN here.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm(x, y, stride, N, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    at = tl.program_id(0) * stride + column
    v = tl.load(x + at, mask=column < N, other=0.0)
    tl.store(y + at, v / tl.sqrt(tl.sum(v * v) / N + 1e-6), mask=column < N)


def run(x):
    y = torch.full_like(x, float("nan"))
    rms_norm[(x.shape[0],)](x, y, x.stride(0), x.shape[-1], BLOCK=triton.next_power_of_2(x.shape[-1]))
    return y


torch.manual_seed(0)
for shape in ((6, 64), (2, 3, 64)):
    x = torch.randn(shape)
    y = run(x)
    missing = int(y.isnan().any(-1).sum())
    print(f"{shape}: {missing} of 6 rows are not written")
    assert missing == (0 if len(shape) == 2 else 4)
