import torch
import torch.nn as nn

BATCH = 16
STEPS = 512
UNITS = 1024


class Model(nn.Module):
    """Quasi-recurrent pooling: c_t = f_t * c_(t-1) + (1 - f_t) * z_t with f = sigmoid(gate)."""

    def forward(self, z, gate):
        f = torch.sigmoid(gate)
        c = torch.zeros_like(z[:, 0])
        states = []
        for t in range(z.shape[1]):
            c = f[:, t] * c + (1 - f[:, t]) * z[:, t]
            states.append(c)
        return torch.stack(states, dim=1)


def get_inputs():
    return [torch.randn(BATCH, STEPS, UNITS), torch.randn(BATCH, STEPS, UNITS)]


def get_init_inputs():
    return []
