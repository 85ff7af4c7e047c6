import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cg_iteration_kernel(A_ptr, damp_ptr, x_ptr, r_ptr, p_ptr, rs_ptr, n, BLOCK: tl.constexpr):
    """One CG iteration of one system; the state lives in global memory between launches."""
    s = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    mask = i < n
    A = tl.load(A_ptr + s * n * n + i[:, None] * n + i[None, :],
                mask=mask[:, None] & mask[None, :], other=0.0)
    x = tl.load(x_ptr + s * n + i, mask=mask, other=0.0)
    r = tl.load(r_ptr + s * n + i, mask=mask, other=0.0)
    p = tl.load(p_ptr + s * n + i, mask=mask, other=0.0)
    rs = tl.load(rs_ptr + s)
    damp = tl.load(damp_ptr)

    Ap = tl.sum(A * p[None, :], axis=1) + damp * p
    alpha = rs / (tl.sum(p * Ap, axis=0) + 1e-20)
    x += alpha * p
    r -= alpha * Ap
    rs_new = tl.sum(r * r, axis=0)
    p = r + rs_new / (rs + 1e-20) * p

    tl.store(x_ptr + s * n + i, x, mask=mask)
    tl.store(r_ptr + s * n + i, r, mask=mask)
    tl.store(p_ptr + s * n + i, p, mask=mask)
    tl.store(rs_ptr + s, rs_new)


class ModelNew(nn.Module):
    def __init__(self, iters):
        super().__init__()
        self.iters = iters
        self.damping = nn.Parameter(torch.tensor([0.25]))

    def forward(self, A, b):
        A, b = A.contiguous(), b.contiguous()
        batch, n = b.shape
        x = torch.zeros_like(b)
        r = b.clone()
        p = b.clone()
        rs = (r * r).sum(1)
        BLOCK = max(16, triton.next_power_of_2(n))
        for _ in range(self.iters):
            cg_iteration_kernel[(batch,)](A, self.damping, x, r, p, rs, n, BLOCK=BLOCK, num_warps=1)
        return x
