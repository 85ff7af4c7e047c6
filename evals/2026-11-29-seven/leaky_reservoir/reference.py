import torch
import torch.nn as nn

STEPS = 16
BATCH = 16
UNITS = 4096


class Model(nn.Module):
    """Leaky-integrator reservoir with self-recurrence only (diagonal echo state network)."""

    def __init__(self, units):
        super().__init__()
        self.leak = nn.Parameter(torch.rand(units) * 0.5 + 0.25)
        self.recur = nn.Parameter(torch.randn(units) * 0.5)

    def forward(self, drive):
        h = torch.zeros_like(drive[0])
        states = []
        for t in range(drive.shape[0]):
            h = (1.0 - self.leak) * h + self.leak * torch.tanh(drive[t] + self.recur * h)
            states.append(h)
        return torch.stack(states)


def get_inputs():
    return [torch.randn(STEPS, BATCH, UNITS)]


def get_init_inputs():
    return [UNITS]
