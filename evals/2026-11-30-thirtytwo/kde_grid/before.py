import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kde_kernel(sample_ptr, weight_ptr, point_ptr, logh_ptr, out_ptr, n, m,
               BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    mask_m = offs_m < m
    point = tl.load(point_ptr + offs_m, mask=mask_m, other=0.0)
    h = tl.exp(tl.load(logh_ptr))
    # exp(-z^2 / 2) = exp2(-(c * d)^2) with c^2 = log2(e) / (2 h^2)
    c = 0.8493218002880191 / h
    point *= c

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    wacc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(0, n, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < n
        x = tl.load(sample_ptr + offs_n, mask=mask_n, other=0.0) * c
        w = tl.load(weight_ptr + offs_n, mask=mask_n, other=0.0)
        d = point[:, None] - x[None, :]
        acc += tl.exp2(-(d * d)) * w[None, :]
        wacc += w

    norm = tl.sum(wacc, axis=0) * h * 2.5066282746310002
    tl.store(out_ptr + offs_m, tl.sum(acc, axis=1) / norm, mask=mask_m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_bandwidth = nn.Parameter(torch.tensor([-1.2]))

    def forward(self, samples, weights, points):
        n = samples.numel()
        m = points.numel()
        out = torch.empty_like(points)
        BLOCK_M, BLOCK_N = 64, 64
        grid = (triton.cdiv(m, BLOCK_M),)
        kde_kernel[grid](samples, weights, points, self.log_bandwidth, out, n, m,
                         BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=4)
        return out
