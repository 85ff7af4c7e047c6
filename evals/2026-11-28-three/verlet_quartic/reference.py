import torch
import torch.nn as nn

REPLICAS = 4096
DOF = 4096
DT = 0.01
LAM = 0.1
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """One velocity-Verlet step of independent quartic oscillators in double precision."""

    def __init__(self, dt, lam):
        super().__init__()
        self.dt = dt
        self.lam = lam

    def force(self, q, k):
        return -k * q - self.lam * q * q * q

    def forward(self, q, v, k):
        v = v + 0.5 * self.dt * self.force(q, k)
        q = q + self.dt * v
        v = v + 0.5 * self.dt * self.force(q, k)
        return q, v


def get_inputs():
    q = torch.randn(REPLICAS, DOF, dtype=torch.float64, device=DEVICE)
    v = torch.randn(REPLICAS, DOF, dtype=torch.float64, device=DEVICE)
    k = torch.rand(DOF, dtype=torch.float64, device=DEVICE) + 0.5
    return [q, v, k]


def get_init_inputs():
    return [DT, LAM]
