import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _collide_push(out_ptr, f, rho, ux, uy, usq, omega, x, y, height, width, ok,
                  Q: tl.constexpr, CX: tl.constexpr, CY: tl.constexpr, WGT: tl.constexpr):
    cu = 3.0 * (CX * ux + CY * uy)
    feq = WGT * rho * (1.0 + cu + 0.5 * cu * cu - usq)
    tx = x + CX
    tx = tl.where(tx < 0, tx + width, tx)
    tx = tl.where(tx >= width, tx - width, tx)
    ty = y + CY
    ty = tl.where(ty < 0, ty + height, ty)
    ty = tl.where(ty >= height, ty - height, ty)
    tl.store(out_ptr + Q * height * width + ty * width + tx, f + omega * (feq - f), mask=ok)


@triton.jit
def lbm_kernel(f_ptr, out_ptr, omega, height, width, BLOCK: tl.constexpr):
    cells = height * width
    cell = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = cell < cells
    f0 = tl.load(f_ptr + 0 * cells + cell, mask=ok, other=1.0)
    f1 = tl.load(f_ptr + 1 * cells + cell, mask=ok, other=1.0)
    f2 = tl.load(f_ptr + 2 * cells + cell, mask=ok, other=1.0)
    f3 = tl.load(f_ptr + 3 * cells + cell, mask=ok, other=1.0)
    f4 = tl.load(f_ptr + 4 * cells + cell, mask=ok, other=1.0)
    f5 = tl.load(f_ptr + 5 * cells + cell, mask=ok, other=1.0)
    f6 = tl.load(f_ptr + 6 * cells + cell, mask=ok, other=1.0)
    f7 = tl.load(f_ptr + 7 * cells + cell, mask=ok, other=1.0)
    f8 = tl.load(f_ptr + 8 * cells + cell, mask=ok, other=1.0)
    rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8
    ux = (f1 - f3 + f5 - f6 - f7 + f8) / rho
    uy = (f2 - f4 + f5 + f6 - f7 - f8) / rho
    usq = 1.5 * (ux * ux + uy * uy)
    y = cell // width
    x = cell % width
    _collide_push(out_ptr, f0, rho, ux, uy, usq, omega, x, y, height, width, ok, 0, 0, 0, 4 / 9)
    _collide_push(out_ptr, f1, rho, ux, uy, usq, omega, x, y, height, width, ok, 1, 1, 0, 1 / 9)
    _collide_push(out_ptr, f2, rho, ux, uy, usq, omega, x, y, height, width, ok, 2, 0, 1, 1 / 9)
    _collide_push(out_ptr, f3, rho, ux, uy, usq, omega, x, y, height, width, ok, 3, -1, 0, 1 / 9)
    _collide_push(out_ptr, f4, rho, ux, uy, usq, omega, x, y, height, width, ok, 4, 0, -1, 1 / 9)
    _collide_push(out_ptr, f5, rho, ux, uy, usq, omega, x, y, height, width, ok, 5, 1, 1, 1 / 36)
    _collide_push(out_ptr, f6, rho, ux, uy, usq, omega, x, y, height, width, ok, 6, -1, 1, 1 / 36)
    _collide_push(out_ptr, f7, rho, ux, uy, usq, omega, x, y, height, width, ok, 7, -1, -1, 1 / 36)
    _collide_push(out_ptr, f8, rho, ux, uy, usq, omega, x, y, height, width, ok, 8, 1, -1, 1 / 36)


def lbm_step(f, tau):
    _, height, width = f.shape
    out = torch.empty_like(f)
    BLOCK = 512
    lbm_kernel[(triton.cdiv(height * width, BLOCK),)](f, out, 1.0 / tau, height, width, BLOCK=BLOCK, num_warps=4)
    return out


class ModelNew(nn.Module):
    def __init__(self, tau):
        super().__init__()
        self.tau = tau
        vel = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
        self.register_buffer("vel", torch.tensor(vel, dtype=torch.float32))
        self.register_buffer("wgt", torch.tensor([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, dtype=torch.float32))

    def forward(self, f):
        return lbm_step(f.contiguous(), self.tau)
