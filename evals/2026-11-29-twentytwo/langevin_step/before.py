import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def baoa_kernel(pos_ptr, vel_ptr, force_ptr, noise_ptr, inv_mass_ptr, pos_out_ptr, vel_out_ptr, n,
                DT: tl.constexpr, C1: tl.constexpr, C2: tl.constexpr, BOX: tl.constexpr, INV_BOX: tl.constexpr,
                BLOCK: tl.constexpr):
    # coordinates are flattened (x0 y0 z0 x1 ...), element i belongs to atom i // 3
    # the constants are constexpr, since a float argument would arrive as float32
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    im = tl.load(inv_mass_ptr + i // 3, mask=mask, other=1.0)
    x = tl.load(pos_ptr + i, mask=mask, other=0.0)
    v = tl.load(vel_ptr + i, mask=mask, other=0.0)
    f = tl.load(force_ptr + i, mask=mask, other=0.0)
    xi = tl.load(noise_ptr + i, mask=mask, other=0.0)

    v = v + DT * f * im                      # B: kick
    x = x + (0.5 * DT) * v                   # A: half drift
    v = C1 * v + C2 * tl.sqrt(im) * xi       # O: friction and noise
    x = x + (0.5 * DT) * v                   # A: half drift
    x = x - BOX * tl.floor(x * INV_BOX)      # back into the box

    tl.store(pos_out_ptr + i, x, mask=mask)
    tl.store(vel_out_ptr + i, v, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dt, gamma, kt, box):
        super().__init__()
        self.dt = dt
        self.c1 = math.exp(-gamma * dt)
        self.c2 = math.sqrt(kt * (1.0 - self.c1 * self.c1))
        self.box = box

    def forward(self, pos, vel, force, noise, inv_mass):
        pos, vel, force, noise, inv_mass = (a.contiguous() for a in (pos, vel, force, noise, inv_mass))
        pos_out = torch.empty_like(pos)
        vel_out = torch.empty_like(vel)
        n = pos.numel()
        BLOCK = 512
        baoa_kernel[(triton.cdiv(n, BLOCK),)](
            pos, vel, force, noise, inv_mass, pos_out, vel_out, n,
            DT=self.dt, C1=self.c1, C2=self.c2, BOX=self.box, INV_BOX=1.0 / self.box,
            BLOCK=BLOCK, num_warps=4)
        return pos_out, vel_out
