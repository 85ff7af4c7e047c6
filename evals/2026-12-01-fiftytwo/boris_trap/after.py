import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def boris_kernel(state_ptr, n, steps, dt, b0, mirror, k_r, k_z, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(state_ptr + i, mask=m, other=0.0)
    y = tl.load(state_ptr + n + i, mask=m, other=0.0)
    z = tl.load(state_ptr + 2 * n + i, mask=m, other=0.0)
    vx = tl.load(state_ptr + 3 * n + i, mask=m, other=0.0)
    vy = tl.load(state_ptr + 4 * n + i, mask=m, other=0.0)
    vz = tl.load(state_ptr + 5 * n + i, mask=m, other=0.0)
    h = 0.5 * dt
    for _ in range(steps):
        ex = k_r * x
        ey = k_r * y
        ez = -k_z * z
        bx = -b0 * mirror * x * z
        by = -b0 * mirror * y * z
        bz = b0 * (1.0 + mirror * z * z)
        vx += h * ex
        vy += h * ey
        vz += h * ez
        tx = h * bx
        ty = h * by
        tz = h * bz
        s = 2.0 / (1.0 + tx * tx + ty * ty + tz * tz)
        px = vx + vy * tz - vz * ty
        py = vy + vz * tx - vx * tz
        pz = vz + vx * ty - vy * tx
        vx += s * (py * tz - pz * ty)
        vy += s * (pz * tx - px * tz)
        vz += s * (px * ty - py * tx)
        vx += h * ex
        vy += h * ey
        vz += h * ez
        x += dt * vx
        y += dt * vy
        z += dt * vz
    tl.store(state_ptr + i, x, mask=m)
    tl.store(state_ptr + n + i, y, mask=m)
    tl.store(state_ptr + 2 * n + i, z, mask=m)
    tl.store(state_ptr + 3 * n + i, vx, mask=m)
    tl.store(state_ptr + 4 * n + i, vy, mask=m)
    tl.store(state_ptr + 5 * n + i, vz, mask=m)


class ModelNew(nn.Module):
    """Boris push of N charged particles in a magnetic bottle with a harmonic electric trap."""

    def __init__(self, steps, dt):
        super().__init__()
        self.steps = steps
        self.dt = dt
        self.b0 = 1.5
        self.mirror = 0.2
        self.k_r = 0.05
        self.k_z = 0.1

    def forward(self, state):
        state = state.clone()
        n = state.shape[1]
        BLOCK = 256
        boris_kernel[(triton.cdiv(n, BLOCK),)](
            state, n, self.steps, self.dt, self.b0, self.mirror, self.k_r, self.k_z, BLOCK=BLOCK, num_warps=4)
        return state
