"""One lattice Boltzmann step (D2Q9, BGK, periodic box): pull-stream, then collide."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relax(g, w, cu, rho, usq, omega):
    feq = w * rho * (1.0 + cu + 0.5 * cu * cu - usq)
    return g + omega * (feq - g)


@triton.jit
def stream_collide_kernel(f_ptr, out_ptr, ny, nx, omega, BLOCK: tl.constexpr):
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.program_id(1)
    ok = x < nx
    xw = tl.where(x == 0, nx - 1, x - 1)            # neighbours, wrapped
    xe = tl.where(x == nx - 1, 0, x + 1)
    ys = tl.where(y == 0, ny - 1, y - 1)
    yn = tl.where(y == ny - 1, 0, y + 1)
    plane = ny * nx

    # each population is pulled from where it comes from
    g0 = tl.load(f_ptr + 0 * plane + y * nx + x, mask=ok, other=1.0)
    g1 = tl.load(f_ptr + 1 * plane + y * nx + xw, mask=ok, other=0.0)
    g2 = tl.load(f_ptr + 2 * plane + ys * nx + x, mask=ok, other=0.0)
    g3 = tl.load(f_ptr + 3 * plane + y * nx + xe, mask=ok, other=0.0)
    g4 = tl.load(f_ptr + 4 * plane + yn * nx + x, mask=ok, other=0.0)
    g5 = tl.load(f_ptr + 5 * plane + ys * nx + xw, mask=ok, other=0.0)
    g6 = tl.load(f_ptr + 6 * plane + ys * nx + xe, mask=ok, other=0.0)
    g7 = tl.load(f_ptr + 7 * plane + yn * nx + xe, mask=ok, other=0.0)
    g8 = tl.load(f_ptr + 8 * plane + yn * nx + xw, mask=ok, other=0.0)

    rho = g0 + g1 + g2 + g3 + g4 + g5 + g6 + g7 + g8
    inv = 1.0 / rho
    ux = (g1 - g3 + g5 - g6 - g7 + g8) * inv
    uy = (g2 - g4 + g5 + g6 - g7 - g8) * inv
    usq = 1.5 * (ux * ux + uy * uy)
    ux3 = 3.0 * ux
    uy3 = 3.0 * uy

    o = out_ptr + y * nx + x
    W0: tl.constexpr = 4.0 / 9.0
    W1: tl.constexpr = 1.0 / 9.0
    W5: tl.constexpr = 1.0 / 36.0
    tl.store(o, relax(g0, W0, 0.0 * ux3, rho, usq, omega), mask=ok)
    tl.store(o + 1 * plane, relax(g1, W1, ux3, rho, usq, omega), mask=ok)
    tl.store(o + 2 * plane, relax(g2, W1, uy3, rho, usq, omega), mask=ok)
    tl.store(o + 3 * plane, relax(g3, W1, -ux3, rho, usq, omega), mask=ok)
    tl.store(o + 4 * plane, relax(g4, W1, -uy3, rho, usq, omega), mask=ok)
    tl.store(o + 5 * plane, relax(g5, W5, ux3 + uy3, rho, usq, omega), mask=ok)
    tl.store(o + 6 * plane, relax(g6, W5, uy3 - ux3, rho, usq, omega), mask=ok)
    tl.store(o + 7 * plane, relax(g7, W5, -ux3 - uy3, rho, usq, omega), mask=ok)
    tl.store(o + 8 * plane, relax(g8, W5, ux3 - uy3, rho, usq, omega), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, tau):
        super().__init__()
        self.omega = 1.0 / tau

    def forward(self, f):
        _, ny, nx = f.shape
        out = torch.empty_like(f)
        BLOCK = 128
        stream_collide_kernel[(triton.cdiv(nx, BLOCK), ny)](f, out, ny, nx, self.omega, BLOCK=BLOCK, num_warps=4)
        return out
