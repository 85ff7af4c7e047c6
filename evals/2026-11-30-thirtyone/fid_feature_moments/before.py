import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def moments_partial_kernel(
    x_ptr, sum_ptr, sq_ptr,
    N, D, rows_per_split,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    cols = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    split = tl.program_id(1)
    cmask = cols < D
    r = tl.arange(0, BLOCK_R)
    first = split * rows_per_split
    last = tl.minimum(first + rows_per_split, N)

    # sum(x^2) - n*mean^2 cancels badly in float32 over 1e5 samples
    s1 = tl.zeros((BLOCK_R, BLOCK_D), dtype=tl.float64)
    s2 = tl.zeros((BLOCK_R, BLOCK_D), dtype=tl.float64)
    for start in range(first, last, BLOCK_R):
        rows = start + r
        mask = (rows < last)[:, None] & cmask[None, :]
        x = tl.load(x_ptr + rows[:, None].to(tl.int64) * D + cols[None, :], mask=mask, other=0.0)
        xd = x.to(tl.float64)
        s1 += xd
        s2 += xd * xd

    tl.store(sum_ptr + split * D + cols, tl.sum(s1, axis=0), mask=cmask)
    tl.store(sq_ptr + split * D + cols, tl.sum(s2, axis=0), mask=cmask)


@triton.jit
def moments_finish_kernel(
    sum_ptr, sq_ptr, mean_ptr, var_ptr,
    N, D, S,
    BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    cols = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    s = tl.arange(0, BLOCK_S)
    cmask = cols < D
    mask = (s < S)[:, None] & cmask[None, :]
    offs = s[:, None] * D + cols[None, :]
    s1 = tl.sum(tl.load(sum_ptr + offs, mask=mask, other=0.0), axis=0)
    s2 = tl.sum(tl.load(sq_ptr + offs, mask=mask, other=0.0), axis=0)
    n = N.to(tl.float64)
    mean = s1 / n
    var = (s2 - s1 * mean) / (n - 1.0)
    tl.store(mean_ptr + cols, mean, mask=cmask)
    tl.store(var_ptr + cols, var, mask=cmask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        N, D = x.shape
        block_r, block_d = 16, 128
        col_blocks = triton.cdiv(D, block_d)
        # some 1300 programs, no less than two steps each, at most 128 partials
        splits = max(1, min(128, triton.cdiv(N, 2 * block_r), triton.cdiv(1280, col_blocks)))
        rows = triton.cdiv(triton.cdiv(N, splits), block_r) * block_r
        splits = triton.cdiv(N, rows)
        part = torch.empty(2, splits, D, device=x.device, dtype=torch.float64)
        out = torch.empty(2, D, device=x.device, dtype=torch.float64)
        moments_partial_kernel[(col_blocks, splits)](
            x, part[0], part[1], N, D, rows,
            BLOCK_R=block_r, BLOCK_D=block_d, num_warps=4,
        )
        moments_finish_kernel[(triton.cdiv(D, 16),)](
            part[0], part[1], out[0], out[1], N, D, splits,
            BLOCK_S=triton.next_power_of_2(splits), BLOCK_D=16, num_warps=4,
        )
        return out[0], out[1]
