import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cg_solve_kernel(A_ptr, damp_ptr, b_ptr, x_ptr, n, iters, BLOCK: tl.constexpr):
    """All CG iterations of one system; the matrix and the state stay in registers."""
    s = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    mask = i < n
    A = tl.load(A_ptr + s * n * n + i[:, None] * n + i[None, :],
                mask=mask[:, None] & mask[None, :], other=0.0)
    r = tl.load(b_ptr + s * n + i, mask=mask, other=0.0)
    damp = tl.load(damp_ptr)
    p = r
    x = tl.zeros([BLOCK], dtype=tl.float32)
    rs = tl.sum(r * r, axis=0)
    for _ in range(iters):
        Ap = tl.sum(A * p[None, :], axis=1) + damp * p
        alpha = rs / (tl.sum(p * Ap, axis=0) + 1e-20)
        x += alpha * p
        r -= alpha * Ap
        rs_new = tl.sum(r * r, axis=0)
        p = r + rs_new / (rs + 1e-20) * p
        rs = rs_new
    tl.store(x_ptr + s * n + i, x, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, iters):
        super().__init__()
        self.iters = iters
        self.damping = nn.Parameter(torch.tensor([0.25]))

    def forward(self, A, b):
        A, b = A.contiguous(), b.contiguous()
        batch, n = b.shape
        x = torch.empty_like(b)
        BLOCK = max(16, triton.next_power_of_2(n))
        cg_solve_kernel[(batch,)](A, self.damping, b, x, n, self.iters, BLOCK=BLOCK, num_warps=1)
        return x
