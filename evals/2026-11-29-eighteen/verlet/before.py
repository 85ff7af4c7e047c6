import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def trap_force(x, K: tl.constexpr, BETA: tl.constexpr):
    return -K * x - BETA * x * x * x


@triton.jit
def verlet_kernel(pos_in, vel_in, pos_out, vel_out, n,
                  DT: tl.constexpr, K: tl.constexpr, BETA: tl.constexpr,
                  STEPS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    x = tl.load(pos_in + i, mask=live, other=0.0)
    v = tl.load(vel_in + i, mask=live, other=0.0)
    a = trap_force(x, K, BETA)
    for _ in range(STEPS):
        half = v + 0.5 * DT * a
        x = x + DT * half
        a = trap_force(x, K, BETA)
        v = half + 0.5 * DT * a
    tl.store(pos_out + i, x, mask=live)
    tl.store(vel_out + i, v, mask=live)


class ModelNew(nn.Module):
    def __init__(self, dt: float, k: float, beta: float, substeps: int):
        super().__init__()
        self.dt, self.k, self.beta, self.substeps = dt, k, beta, substeps

    def forward(self, pos, vel):
        pos = pos.contiguous()
        vel = vel.contiguous()
        new_pos = torch.empty_like(pos)
        new_vel = torch.empty_like(vel)
        n = pos.numel()
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        verlet_kernel[grid](
            pos, vel, new_pos, new_vel, n,
            DT=self.dt, K=self.k, BETA=self.beta, STEPS=self.substeps, BLOCK=1024,
        )
        return new_pos, new_vel
