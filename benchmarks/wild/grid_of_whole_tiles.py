"""A grid of `N // 64` programs: the columns behind the last whole tile are never computed, although the mask allows for them.

    TRITON_INTERPRET=1 python grid_of_whole_tiles.py

Stands for `matmul_fp16_triton` and `matmul_int8_triton` of cuda-triton-multiarch. `triton.cdiv(N, 64)` mends it.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(x, w, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(w + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(y + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def missing(columns, programs):
    """How many elements of the product are not written."""
    x, w, y = torch.randn(64, 64), torch.randn(64, columns), torch.full((64, columns), float("nan"))
    matmul[(1, programs)](x, w, y, 64, columns, 64, BM=64, BN=64, BK=64)
    return int(y.isnan().sum())


for columns in (128, 96):
    print(f"{columns} columns: {missing(columns, columns // 64)} of {64 * columns} elements are not written")
    assert missing(columns, columns // 64) == 64 * (columns % 64) and missing(columns, triton.cdiv(columns, 64)) == 0
