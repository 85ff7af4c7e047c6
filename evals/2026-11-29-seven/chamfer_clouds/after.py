import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nearest_kernel(a_ptr, b_ptr, out_ptr, N, M, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr):
    batch = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_n = n < N
    a_ptr += batch * N * 3
    b_ptr += batch * M * 3
    ax = tl.load(a_ptr + n * 3, mask=in_n, other=0.0)[:, None]
    ay = tl.load(a_ptr + n * 3 + 1, mask=in_n, other=0.0)[:, None]
    az = tl.load(a_ptr + n * 3 + 2, mask=in_n, other=0.0)[:, None]
    best = tl.full([BLOCK_N, BLOCK_M], float("inf"), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        in_m = m < M
        # far-away padding never wins the minimum
        dx = ax - tl.load(b_ptr + m * 3, mask=in_m, other=1e18)[None, :]
        dy = ay - tl.load(b_ptr + m * 3 + 1, mask=in_m, other=1e18)[None, :]
        dz = az - tl.load(b_ptr + m * 3 + 2, mask=in_m, other=1e18)[None, :]
        best = tl.minimum(best, dx * dx + dy * dy + dz * dz)
    tl.store(out_ptr + batch * N + n, tl.min(best, axis=1), mask=in_n)


def nearest(a, b):
    B, N, _ = a.shape
    M = b.shape[1]
    out = torch.empty((B, N), device=a.device, dtype=torch.float32)
    nearest_kernel[(triton.cdiv(N, 32), B)](a, b, out, N, M, 32, 128)
    return out


def chamfer(a, b):
    return nearest(a, b).mean(dim=1) + nearest(b, a).mean(dim=1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return chamfer(a.contiguous(), b.contiguous())
