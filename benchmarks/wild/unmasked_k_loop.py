"""A matmul that masks rows and columns but not K: wrong for every K that is no multiple of the tile.

    TRITON_INTERPRET=1 python unmasked_k_loop.py

Stands for `_fp8_scaled_mm_kernel` (fp8_gfx1250.py) of sglang, whose launcher takes any K.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_times_matrix(a, b, c, K, N: tl.constexpr, BK: tl.constexpr):
    k, n = tl.arange(0, BK), tl.arange(0, N)
    a_at, b_at = a + k, b + k[:, None] * N + n[None, :]
    total = tl.zeros((N,), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        total += tl.sum(tl.load(a_at)[:, None] * tl.load(b_at), 0)
        a_at += BK
        b_at += BK * N
    tl.store(c + n, total)


def run(K):
    # The operands lie in larger buffers, as views of them do, so that what follows the end can be seen.
    a, b, c = torch.ones(256), torch.ones(256, 16), torch.empty(16)
    row_times_matrix[(1,)](a[:K], b[:K], c, K, 16, 64)
    return c[0].item()


for K in (128, 100):
    print(f"K = {K}: expected {K}, computed {run(K):.0f}")
assert run(128) == 128 and run(100) != 100
