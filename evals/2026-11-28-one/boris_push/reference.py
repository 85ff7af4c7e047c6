import torch
import torch.nn as nn

PARTICLES = 1048576
CHARGE_TO_MASS = -1.0
DT = 0.05


class Model(nn.Module):
    """Relativistic Boris push of charged particles in given E and B fields (double precision, structure of arrays)."""

    def __init__(self, charge_to_mass, dt):
        super().__init__()
        self.qm = charge_to_mass
        self.dt = dt

    def forward(self, pos, mom, efield, bfield):
        h = 0.5 * self.qm * self.dt
        um = mom + h * efield
        gamma = torch.sqrt(1.0 + (um * um).sum(0))
        t = h * bfield / gamma
        s = 2.0 * t / (1.0 + (t * t).sum(0))
        up = um + torch.cross(um, t, dim=0)
        un = um + torch.cross(up, s, dim=0) + h * efield
        gamma = torch.sqrt(1.0 + (un * un).sum(0))
        return pos + self.dt * un / gamma, un


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(3, PARTICLES, device=device, dtype=torch.float64) for _ in range(4)]


def get_init_inputs():
    return [CHARGE_TO_MASS, DT]
