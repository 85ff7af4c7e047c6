import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def structure_factor_kernel(pos_ptr, f_ptr, out_ptr, n_atoms, n_h, n_k, n_l,
                            BLOCK_M: tl.constexpr, BLOCK_L: tl.constexpr, BLOCK_N: tl.constexpr):
    TWO_PI: tl.constexpr = 6.283185307179586
    n_hk = n_h * n_k
    r = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.program_id(1) * BLOCK_L + tl.arange(0, BLOCK_L)
    h = (r // n_k - n_h // 2).to(tl.float32)
    k = (r % n_k - n_k // 2).to(tl.float32)
    l = (c - n_l // 2).to(tl.float32)
    re_p = tl.zeros((BLOCK_M, BLOCK_L), dtype=tl.float32)
    re_m = tl.zeros((BLOCK_M, BLOCK_L), dtype=tl.float32)
    im = tl.zeros((BLOCK_M, BLOCK_L), dtype=tl.float32)
    for j0 in range(0, n_atoms, BLOCK_N):
        j = j0 + tl.arange(0, BLOCK_N)
        m = j < n_atoms
        x = tl.load(pos_ptr + j, mask=m, other=0.0)
        y = tl.load(pos_ptr + n_atoms + j, mask=m, other=0.0)
        z = tl.load(pos_ptr + 2 * n_atoms + j, mask=m, other=0.0)
        f = tl.load(f_ptr + j, mask=m, other=0.0)
        p = h[:, None] * x[None, :] + k[:, None] * y[None, :]
        p = TWO_PI * (p - tl.floor(p))
        q = z[:, None] * l[None, :]
        q = TWO_PI * (q - tl.floor(q))
        ca = f[None, :] * tl.cos(p)
        sa = f[None, :] * tl.sin(p)
        cb = tl.cos(q)
        sb = tl.sin(q)
        re_p = tl.dot(ca, cb, re_p, input_precision="tf32x3")
        re_m = tl.dot(sa, sb, re_m, input_precision="tf32x3")
        im = tl.dot(ca, sb, im, input_precision="tf32x3")
        im = tl.dot(sa, cb, im, input_precision="tf32x3")
    ok = (r < n_hk)[:, None] & (c < n_l)[None, :]
    o = r[:, None] * n_l + c[None, :]
    tl.store(out_ptr + o, re_p - re_m, mask=ok)
    tl.store(out_ptr + n_hk * n_l + o, im, mask=ok)


class ModelNew(nn.Module):
    """Structure factors F(hkl) on a box of Miller indices; real and imaginary parts stacked."""

    def __init__(self, n_h, n_k, n_l):
        super().__init__()
        self.n_h, self.n_k, self.n_l = n_h, n_k, n_l

    def forward(self, pos, f):
        out = torch.empty(2, self.n_h, self.n_k, self.n_l, device=pos.device, dtype=torch.float32)
        BLOCK_M, BLOCK_L = 16, 16
        grid = (triton.cdiv(self.n_h * self.n_k, BLOCK_M), triton.cdiv(self.n_l, BLOCK_L))
        structure_factor_kernel[grid](
            pos, f, out, pos.shape[1], self.n_h, self.n_k, self.n_l,
            BLOCK_M=BLOCK_M, BLOCK_L=BLOCK_L, BLOCK_N=64, num_warps=4)
        return out
