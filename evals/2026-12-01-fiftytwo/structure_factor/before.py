import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def structure_factor_kernel(pos_ptr, f_ptr, out_ptr, n_atoms, n_h, n_k, n_l,
                            BLOCK_R: tl.constexpr, BLOCK_N: tl.constexpr):
    TWO_PI: tl.constexpr = 6.283185307179586
    n_ref = n_h * n_k * n_l
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    h = (r // (n_k * n_l) - n_h // 2).to(tl.float32)
    k = ((r // n_l) % n_k - n_k // 2).to(tl.float32)
    l = (r % n_l - n_l // 2).to(tl.float32)
    re = tl.zeros((BLOCK_R, BLOCK_N), dtype=tl.float32)
    im = tl.zeros((BLOCK_R, BLOCK_N), dtype=tl.float32)
    for j0 in range(0, n_atoms, BLOCK_N):
        j = j0 + tl.arange(0, BLOCK_N)
        m = j < n_atoms
        x = tl.load(pos_ptr + j, mask=m, other=0.0)
        y = tl.load(pos_ptr + n_atoms + j, mask=m, other=0.0)
        z = tl.load(pos_ptr + 2 * n_atoms + j, mask=m, other=0.0)
        f = tl.load(f_ptr + j, mask=m, other=0.0)
        p = h[:, None] * x[None, :] + k[:, None] * y[None, :] + l[:, None] * z[None, :]
        p = TWO_PI * (p - tl.floor(p))
        re += f[None, :] * tl.cos(p)
        im += f[None, :] * tl.sin(p)
    ok = r < n_ref
    tl.store(out_ptr + r, tl.sum(re, axis=1), mask=ok)
    tl.store(out_ptr + n_ref + r, tl.sum(im, axis=1), mask=ok)


class ModelNew(nn.Module):
    """Structure factors F(hkl) on a box of Miller indices; real and imaginary parts stacked."""

    def __init__(self, n_h, n_k, n_l):
        super().__init__()
        self.n_h, self.n_k, self.n_l = n_h, n_k, n_l

    def forward(self, pos, f):
        out = torch.empty(2, self.n_h, self.n_k, self.n_l, device=pos.device, dtype=torch.float32)
        n_ref = self.n_h * self.n_k * self.n_l
        BLOCK_R = 64
        structure_factor_kernel[(triton.cdiv(n_ref, BLOCK_R),)](
            pos, f, out, pos.shape[1], self.n_h, self.n_k, self.n_l,
            BLOCK_R=BLOCK_R, BLOCK_N=32, num_warps=4)
        return out
