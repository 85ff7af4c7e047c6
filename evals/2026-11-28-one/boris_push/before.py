import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def load3(ptr, n, i, m):
    return tl.load(ptr + i, mask=m, other=0.0), tl.load(ptr + n + i, mask=m, other=0.0), tl.load(ptr + 2 * n + i, mask=m, other=0.0)


@triton.jit
def store3(ptr, n, i, a, b, c, m):
    tl.store(ptr + i, a, mask=m)
    tl.store(ptr + n + i, b, mask=m)
    tl.store(ptr + 2 * n + i, c, mask=m)


@triton.jit
def cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 256}, num_warps=4),
    ],
    key=["n"],
)
@triton.jit
def boris_kernel(pos, mom, ef, bf, pos_out, mom_out, n, H: tl.constexpr, DT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x, y, z = load3(pos, n, i, m)
    ux, uy, uz = load3(mom, n, i, m)
    ex, ey, ez = load3(ef, n, i, m)
    bx, by, bz = load3(bf, n, i, m)
    # half electric kick
    ux += H * ex
    uy += H * ey
    uz += H * ez
    r = H / tl.sqrt(1.0 + ux * ux + uy * uy + uz * uz)
    # magnetic rotation
    tx = r * bx
    ty = r * by
    tz = r * bz
    w = 2.0 / (1.0 + tx * tx + ty * ty + tz * tz)
    cx, cy, cz = cross(ux, uy, uz, tx, ty, tz)
    cx += ux
    cy += uy
    cz += uz
    dx, dy, dz = cross(cx, cy, cz, w * tx, w * ty, w * tz)
    ux += dx + H * ex
    uy += dy + H * ey
    uz += dz + H * ez
    g = DT / tl.sqrt(1.0 + ux * ux + uy * uy + uz * uz)
    store3(mom_out, n, i, ux, uy, uz, m)
    store3(pos_out, n, i, x + ux * g, y + uy * g, z + uz * g, m)


def boris_push(pos, mom, ef, bf, qm, dt):
    n = pos.shape[1]
    pos_out = torch.empty_like(pos)
    mom_out = torch.empty_like(mom)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    boris_kernel[grid](pos, mom, ef, bf, pos_out, mom_out, n, H=0.5 * qm * dt, DT=dt)
    return pos_out, mom_out


class ModelNew(nn.Module):
    def __init__(self, charge_to_mass, dt):
        super().__init__()
        self.qm = charge_to_mass
        self.dt = dt

    def forward(self, pos, mom, efield, bfield):
        return boris_push(pos, mom, efield, bfield, self.qm, self.dt)
