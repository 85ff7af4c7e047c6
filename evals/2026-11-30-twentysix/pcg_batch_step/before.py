"""One Jacobi-preconditioned conjugate-gradient update for a batch of independent float64 systems (A p is given)."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pcg_update_kernel(x_ptr, r_ptr, p_ptr, ap_ptr, inv_diag_ptr,
                      x_out_ptr, r_out_ptr, p_out_ptr, rr_ptr, n, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    idx = tl.arange(0, BLOCK)
    ok = idx < n
    offs = b * n + idx

    r = tl.load(r_ptr + offs, mask=ok, other=0.0)
    p = tl.load(p_ptr + offs, mask=ok, other=0.0)
    ap = tl.load(ap_ptr + offs, mask=ok, other=0.0)
    x = tl.load(x_ptr + offs, mask=ok, other=0.0)
    inv_diag = tl.load(inv_diag_ptr + idx, mask=ok, other=0.0)

    # step length
    rz = tl.sum(r * r * inv_diag)
    pap = tl.sum(p * ap)
    alpha = rz / pap
    tl.store(x_out_ptr + offs, x + alpha * p, mask=ok)

    # new residual, and its norm for the caller's stopping test
    r = r - alpha * ap
    tl.store(r_out_ptr + offs, r, mask=ok)
    z = r * inv_diag
    rz_new = tl.sum(r * z)
    rr = tl.sum(r * r)
    tl.store(rr_ptr + b, rr)

    # new direction
    beta = rz_new / rz
    tl.store(p_out_ptr + offs, z + beta * p, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, unknowns):
        super().__init__()
        self.register_buffer("inv_diag", 1.0 / torch.linspace(2.1, 3.1, unknowns, dtype=torch.float64))

    def forward(self, x, r, p, ap):
        batch, n = x.shape
        x_out = torch.empty_like(x)
        r_out = torch.empty_like(r)
        p_out = torch.empty_like(p)
        rr = torch.empty(batch, dtype=x.dtype, device=x.device)
        pcg_update_kernel[(batch,)](
            x, r, p, ap, self.inv_diag, x_out, r_out, p_out, rr, n,
            BLOCK=triton.next_power_of_2(n), num_warps=4)
        return x_out, r_out, p_out, rr
