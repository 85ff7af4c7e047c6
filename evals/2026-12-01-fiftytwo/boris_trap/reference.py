import torch
import torch.nn as nn

N = 262144
STEPS = 48
DT = 0.02


class Model(nn.Module):
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
        x, y, z, vx, vy, vz = [c.clone() for c in state.unbind(0)]
        h = 0.5 * self.dt
        for _ in range(self.steps):
            ex, ey, ez = self.k_r * x, self.k_r * y, -self.k_z * z
            bx = -self.b0 * self.mirror * x * z
            by = -self.b0 * self.mirror * y * z
            bz = self.b0 * (1.0 + self.mirror * z * z)
            vx, vy, vz = vx + h * ex, vy + h * ey, vz + h * ez
            tx, ty, tz = h * bx, h * by, h * bz
            s = 2.0 / (1.0 + tx * tx + ty * ty + tz * tz)
            px = vx + vy * tz - vz * ty
            py = vy + vz * tx - vx * tz
            pz = vz + vx * ty - vy * tx
            vx = vx + s * (py * tz - pz * ty)
            vy = vy + s * (pz * tx - px * tz)
            vz = vz + s * (px * ty - py * tx)
            vx, vy, vz = vx + h * ex, vy + h * ey, vz + h * ez
            x, y, z = x + self.dt * vx, y + self.dt * vy, z + self.dt * vz
        return torch.stack([x, y, z, vx, vy, vz])


def get_inputs():
    return [torch.rand(6, N) - 0.5]


def get_init_inputs():
    return [STEPS, DT]
