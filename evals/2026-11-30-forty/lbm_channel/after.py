"""D2Q9 lattice Boltzmann solver: BGK collision, bounce-back walls, periodic streaming."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relax(f, fo, cu, base, wrho, omega, wall):
    feq = wrho * (base + cu + 0.5 * cu * cu)
    return tl.where(wall, fo, f + omega * (feq - f))


@triton.jit
def collide_stream_kernel(f_ptr, solid_ptr, out_ptr, H, W, omega, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cells = H * W
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    m = offs < cells
    p = f_ptr + offs
    f0 = tl.load(p, mask=m, other=1.0)
    f1 = tl.load(p + cells, mask=m, other=0.0)
    f2 = tl.load(p + 2 * cells, mask=m, other=0.0)
    f3 = tl.load(p + 3 * cells, mask=m, other=0.0)
    f4 = tl.load(p + 4 * cells, mask=m, other=0.0)
    f5 = tl.load(p + 5 * cells, mask=m, other=0.0)
    f6 = tl.load(p + 6 * cells, mask=m, other=0.0)
    f7 = tl.load(p + 7 * cells, mask=m, other=0.0)
    f8 = tl.load(p + 8 * cells, mask=m, other=0.0)
    wall = tl.load(solid_ptr + offs, mask=m, other=0) != 0
    rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8
    inv = 1.0 / rho
    ux = (f1 + f5 + f8 - f3 - f6 - f7) * inv
    uy = (f2 + f5 + f6 - f4 - f7 - f8) * inv
    base = 1.0 - 1.5 * (ux * ux + uy * uy)
    wa = rho * (1.0 / 9.0)
    wd = rho * (1.0 / 36.0)
    g0 = relax(f0, f0, 0.0 * ux, base, 4.0 * wa, omega, wall)
    g1 = relax(f1, f3, 3.0 * ux, base, wa, omega, wall)
    g2 = relax(f2, f4, 3.0 * uy, base, wa, omega, wall)
    g3 = relax(f3, f1, -3.0 * ux, base, wa, omega, wall)
    g4 = relax(f4, f2, -3.0 * uy, base, wa, omega, wall)
    g5 = relax(f5, f7, 3.0 * (ux + uy), base, wd, omega, wall)
    g6 = relax(f6, f8, 3.0 * (uy - ux), base, wd, omega, wall)
    g7 = relax(f7, f5, -3.0 * (ux + uy), base, wd, omega, wall)
    g8 = relax(f8, f6, 3.0 * (ux - uy), base, wd, omega, wall)
    # push streaming: each population goes straight to the neighbour it moves to
    y = offs // W
    x = offs - y * W
    xm = tl.where(x == 0, W - 1, x - 1)
    xp = tl.where(x == W - 1, 0, x + 1)
    ym = tl.where(y == 0, H - 1, y - 1) * W
    yp = tl.where(y == H - 1, 0, y + 1) * W
    yc = y * W
    tl.store(out_ptr + offs, g0, mask=m)
    tl.store(out_ptr + cells + yc + xp, g1, mask=m)
    tl.store(out_ptr + 2 * cells + yp + x, g2, mask=m)
    tl.store(out_ptr + 3 * cells + yc + xm, g3, mask=m)
    tl.store(out_ptr + 4 * cells + ym + x, g4, mask=m)
    tl.store(out_ptr + 5 * cells + yp + xp, g5, mask=m)
    tl.store(out_ptr + 6 * cells + yp + xm, g6, mask=m)
    tl.store(out_ptr + 7 * cells + ym + xm, g7, mask=m)
    tl.store(out_ptr + 8 * cells + ym + xp, g8, mask=m)


class ModelNew(nn.Module):
    def __init__(self, steps, omega):
        super().__init__()
        self.steps = steps
        self.omega = omega

    def forward(self, f, solid):
        _, H, W = f.shape
        bufs = (torch.empty_like(f), torch.empty_like(f))
        BLOCK = 128
        grid = (triton.cdiv(H * W, BLOCK),)
        src = f
        for i in range(self.steps):
            dst = bufs[i % 2]
            collide_stream_kernel[grid](src, solid, dst, H, W, self.omega, BLOCK=BLOCK, num_warps=4)
            src = dst
        return src
