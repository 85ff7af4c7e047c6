import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relax(fi, w_rho, cu, usq, omega):
    feq = w_rho * (1.0 + cu + 0.5 * cu * cu - usq)
    return fi + omega * (feq - fi)


@triton.jit
def lbm_step_kernel(src, dst, nx, ny, omega, BLOCK: tl.constexpr):
    y = tl.program_id(1)
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = x < nx
    plane = nx * ny

    # periodic neighbours
    xw = tl.where(x == 0, nx - 1, x - 1)
    xe = tl.where(x == nx - 1, 0, x + 1)
    ys = tl.where(y == 0, ny - 1, y - 1) * nx
    yn = tl.where(y == ny - 1, 0, y + 1) * nx
    yc = y * nx

    f0 = tl.load(src + 0 * plane + yc + x, mask=inside, other=1.0)
    f1 = tl.load(src + 1 * plane + yc + xw, mask=inside, other=0.0)
    f2 = tl.load(src + 2 * plane + ys + x, mask=inside, other=0.0)
    f3 = tl.load(src + 3 * plane + yc + xe, mask=inside, other=0.0)
    f4 = tl.load(src + 4 * plane + yn + x, mask=inside, other=0.0)
    f5 = tl.load(src + 5 * plane + ys + xw, mask=inside, other=0.0)
    f6 = tl.load(src + 6 * plane + ys + xe, mask=inside, other=0.0)
    f7 = tl.load(src + 7 * plane + yn + xe, mask=inside, other=0.0)
    f8 = tl.load(src + 8 * plane + yn + xw, mask=inside, other=0.0)

    rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8
    inv_rho = 1.0 / rho
    ux = (f1 - f3 + f5 - f6 - f7 + f8) * inv_rho
    uy = (f2 - f4 + f5 + f6 - f7 - f8) * inv_rho
    usq = 1.5 * (ux * ux + uy * uy)

    w0 = rho * (4.0 / 9.0)
    w1 = rho * (1.0 / 9.0)
    w5 = rho * (1.0 / 36.0)
    o = dst + yc + x
    tl.store(o + 0 * plane, relax(f0, w0, 0.0, usq, omega), mask=inside)
    tl.store(o + 1 * plane, relax(f1, w1, 3.0 * ux, usq, omega), mask=inside)
    tl.store(o + 2 * plane, relax(f2, w1, 3.0 * uy, usq, omega), mask=inside)
    tl.store(o + 3 * plane, relax(f3, w1, -3.0 * ux, usq, omega), mask=inside)
    tl.store(o + 4 * plane, relax(f4, w1, -3.0 * uy, usq, omega), mask=inside)
    tl.store(o + 5 * plane, relax(f5, w5, 3.0 * (ux + uy), usq, omega), mask=inside)
    tl.store(o + 6 * plane, relax(f6, w5, 3.0 * (uy - ux), usq, omega), mask=inside)
    tl.store(o + 7 * plane, relax(f7, w5, -3.0 * (ux + uy), usq, omega), mask=inside)
    tl.store(o + 8 * plane, relax(f8, w5, 3.0 * (ux - uy), usq, omega), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, omega):
        super().__init__()
        self.omega = omega

    def forward(self, f):
        f = f.contiguous()
        _, ny, nx = f.shape
        out = torch.empty_like(f)
        BLOCK = 256
        lbm_step_kernel[(triton.cdiv(nx, BLOCK), ny)](f, out, nx, ny, self.omega, BLOCK, num_warps=4)
        return out
