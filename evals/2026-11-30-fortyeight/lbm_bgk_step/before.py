import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def stream_kernel(f_ptr, g_ptr, H, W, BLOCK: tl.constexpr):
    # pull streaming: population i at (y, x) comes from (y - cy, x - cx)
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.program_id(1)
    m = x < W
    xm = tl.where(x == 0, W - 1, x - 1)
    xp = tl.where(x == W - 1, 0, x + 1)
    ym = tl.where(y == 0, H - 1, y - 1)
    yp = tl.where(y == H - 1, 0, y + 1)
    n = H * W
    dst = y * W + x
    tl.store(g_ptr + 0 * n + dst, tl.load(f_ptr + 0 * n + y * W + x, mask=m), mask=m)
    tl.store(g_ptr + 1 * n + dst, tl.load(f_ptr + 1 * n + y * W + xm, mask=m), mask=m)
    tl.store(g_ptr + 2 * n + dst, tl.load(f_ptr + 2 * n + ym * W + x, mask=m), mask=m)
    tl.store(g_ptr + 3 * n + dst, tl.load(f_ptr + 3 * n + y * W + xp, mask=m), mask=m)
    tl.store(g_ptr + 4 * n + dst, tl.load(f_ptr + 4 * n + yp * W + x, mask=m), mask=m)
    tl.store(g_ptr + 5 * n + dst, tl.load(f_ptr + 5 * n + ym * W + xm, mask=m), mask=m)
    tl.store(g_ptr + 6 * n + dst, tl.load(f_ptr + 6 * n + ym * W + xp, mask=m), mask=m)
    tl.store(g_ptr + 7 * n + dst, tl.load(f_ptr + 7 * n + yp * W + xp, mask=m), mask=m)
    tl.store(g_ptr + 8 * n + dst, tl.load(f_ptr + 8 * n + yp * W + xm, mask=m), mask=m)


@triton.jit
def relax(g, g_opp, wall, cu, w: tl.constexpr, rho, usq, omega):
    feq = w * rho * (1.0 + cu + 0.5 * cu * cu - usq)
    return tl.where(wall, g_opp, g + omega * (feq - g))


@triton.jit
def collide_kernel(g_ptr, solid_ptr, out_ptr, n, omega, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    g0 = tl.load(g_ptr + 0 * n + o, mask=m, other=1.0)
    g1 = tl.load(g_ptr + 1 * n + o, mask=m, other=0.0)
    g2 = tl.load(g_ptr + 2 * n + o, mask=m, other=0.0)
    g3 = tl.load(g_ptr + 3 * n + o, mask=m, other=0.0)
    g4 = tl.load(g_ptr + 4 * n + o, mask=m, other=0.0)
    g5 = tl.load(g_ptr + 5 * n + o, mask=m, other=0.0)
    g6 = tl.load(g_ptr + 6 * n + o, mask=m, other=0.0)
    g7 = tl.load(g_ptr + 7 * n + o, mask=m, other=0.0)
    g8 = tl.load(g_ptr + 8 * n + o, mask=m, other=0.0)
    wall = tl.load(solid_ptr + o, mask=m, other=0) != 0

    rho = g0 + g1 + g2 + g3 + g4 + g5 + g6 + g7 + g8
    inv = 1.0 / rho
    ux = (g1 + g5 + g8 - g3 - g6 - g7) * inv
    uy = (g2 + g5 + g6 - g4 - g7 - g8) * inv
    usq = 1.5 * (ux * ux + uy * uy)
    a = 3.0 * (ux + uy)
    b = 3.0 * (uy - ux)
    tl.store(out_ptr + 0 * n + o, relax(g0, g0, wall, 0.0 * ux, 4 / 9, rho, usq, omega), mask=m)
    tl.store(out_ptr + 1 * n + o, relax(g1, g3, wall, 3.0 * ux, 1 / 9, rho, usq, omega), mask=m)
    tl.store(out_ptr + 2 * n + o, relax(g2, g4, wall, 3.0 * uy, 1 / 9, rho, usq, omega), mask=m)
    tl.store(out_ptr + 3 * n + o, relax(g3, g1, wall, -3.0 * ux, 1 / 9, rho, usq, omega), mask=m)
    tl.store(out_ptr + 4 * n + o, relax(g4, g2, wall, -3.0 * uy, 1 / 9, rho, usq, omega), mask=m)
    tl.store(out_ptr + 5 * n + o, relax(g5, g7, wall, a, 1 / 36, rho, usq, omega), mask=m)
    tl.store(out_ptr + 6 * n + o, relax(g6, g8, wall, b, 1 / 36, rho, usq, omega), mask=m)
    tl.store(out_ptr + 7 * n + o, relax(g7, g5, wall, -a, 1 / 36, rho, usq, omega), mask=m)
    tl.store(out_ptr + 8 * n + o, relax(g8, g6, wall, -b, 1 / 36, rho, usq, omega), mask=m)


class ModelNew(nn.Module):
    def __init__(self, omega):
        super().__init__()
        self.omega = omega

    def forward(self, f, solid):
        _, H, W = f.shape
        n = H * W
        g = torch.empty_like(f)
        out = torch.empty_like(f)
        stream_kernel[(triton.cdiv(W, 256), H)](f, g, H, W, BLOCK=256)
        collide_kernel[(triton.cdiv(n, 256),)](g, solid, out, n, self.omega, BLOCK=256)
        return out
