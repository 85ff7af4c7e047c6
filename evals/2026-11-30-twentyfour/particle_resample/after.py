import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def resample_kernel(cdf_ptr, u_ptr, part_ptr, out_ptr, anc_ptr, n,
                    D: tl.constexpr, BLOCK_D: tl.constexpr,
                    BLOCK_I: tl.constexpr, STEPS: tl.constexpr):
    # one program: BLOCK_I offspring of one filter
    i = tl.program_id(0) * BLOCK_I + tl.arange(0, BLOCK_I)
    f = tl.program_id(1)
    i_ok = i < n
    base = f * n
    u = tl.load(u_ptr + f)
    point = (i.to(tl.float64) + u) / n

    # the cumulative weights are sorted: bisect for the first one not below the point
    lo = tl.zeros((BLOCK_I,), dtype=tl.int32)
    hi = tl.zeros((BLOCK_I,), dtype=tl.int32) + n
    for _ in range(STEPS):
        mid = (lo + hi) // 2
        live = lo < hi
        c = tl.load(cdf_ptr + base + mid, mask=live, other=0.0)
        below = c < point
        lo = tl.where(live & below, mid + 1, lo)
        hi = tl.where(live & (c >= point), mid, hi)
    anc = tl.minimum(lo, n - 1)

    dims = tl.arange(0, BLOCK_D)
    ok = i_ok[:, None] & (dims[None, :] < D)
    state = tl.load(part_ptr + (base + anc)[:, None] * D + dims[None, :], mask=ok, other=0.0)
    tl.store(out_ptr + (base + i)[:, None] * D + dims[None, :], state, mask=ok)
    tl.store(anc_ptr + base + i, anc.to(tl.int64), mask=i_ok)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, log_weight, particles, u):
        b, n = log_weight.shape
        particles = particles.contiguous()
        # float64 sums: the last cumulative weight must reach 1 whatever the number of particles
        cdf = torch.cumsum(torch.softmax(log_weight, dim=1), dim=1)
        moved = torch.empty_like(particles)
        ancestor = torch.empty(b, n, dtype=torch.int64, device=cdf.device)
        BLOCK_I = 128
        grid = (triton.cdiv(n, BLOCK_I), b)
        resample_kernel[grid](cdf, u, particles, moved, ancestor, n,
                              D=self.dim, BLOCK_D=triton.next_power_of_2(self.dim),
                              BLOCK_I=BLOCK_I, STEPS=n.bit_length(), num_warps=4)
        return moved, ancestor
