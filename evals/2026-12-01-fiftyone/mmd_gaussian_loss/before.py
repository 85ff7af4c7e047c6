import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sq_kernel(z_ptr, sq_ptr, D, BLOCK_D: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK_D)
    z = tl.load(z_ptr + row * D + d, mask=d < D, other=0.0).to(tl.float32)
    tl.store(sq_ptr + row, tl.sum(z * z, 0))


@triton.jit
def mmd_kernel(z_ptr, sq_ptr, part_ptr, T, N, D, gamma,
               BLOCK: tl.constexpr, BLOCK_D: tl.constexpr):
    pi = tl.program_id(0)
    pj = tl.program_id(1)
    tiles = tl.num_programs(0)
    i = pi * BLOCK + tl.arange(0, BLOCK)
    j = pj * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BLOCK_D)

    acc = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
    for d0 in range(0, D, BLOCK_D):
        dd = d0 + d
        a = tl.load(z_ptr + i[:, None] * D + dd[None, :], mask=(i[:, None] < T) & (dd[None, :] < D), other=0.0)
        b = tl.load(z_ptr + j[None, :] * D + dd[:, None], mask=(j[None, :] < T) & (dd[:, None] < D), other=0.0)
        acc = tl.dot(a, b, acc)

    sq_i = tl.load(sq_ptr + i, mask=i < T, other=0.0)
    sq_j = tl.load(sq_ptr + j, mask=j < T, other=0.0)
    d2 = tl.maximum(sq_i[:, None] + sq_j[None, :] - 2.0 * acc, 0.0)
    k = tl.exp(-gamma * d2)
    sign_i = tl.where(i < T, tl.where(i < N, 1.0, -1.0), 0.0)
    sign_j = tl.where(j < T, tl.where(j < N, 1.0, -1.0), 0.0)
    total = tl.sum(tl.sum(k * sign_j[None, :], 1) * sign_i, 0)
    tl.store(part_ptr + pi * tiles + pj, total)


class ModelNew(nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma

    def forward(self, x, y):
        N, D = x.shape
        z = torch.cat([x, y])
        T = 2 * N
        BLOCK = 128
        tiles = triton.cdiv(T, BLOCK)
        sq = torch.empty(T, device=x.device, dtype=torch.float32)
        part = torch.empty(tiles, tiles, device=x.device, dtype=torch.float32)
        row_sq_kernel[(T,)](z, sq, D, BLOCK_D=triton.next_power_of_2(D), num_warps=1)
        mmd_kernel[(tiles, tiles)](z, sq, part, T, N, D, self.gamma,
                                   BLOCK=BLOCK, BLOCK_D=64, num_warps=8, num_stages=3)
        return part.sum() / (N * N)
