import torch
import torch.nn as nn

BATCH = 32
SEQ = 2048
DIM = 1024


class Model(nn.Module):
    """minGRU style recurrence: h_t = (1 - z_t) * h_{t-1} + z_t * x_t, z = sigmoid(gate)."""

    def __init__(self):
        super().__init__()

    def forward(self, gate, x, h0):
        z = torch.sigmoid(gate)
        keep = 1.0 - z
        inp = z * x
        h = h0
        outs = []
        for t in range(gate.shape[1]):
            h = torch.addcmul(inp[:, t], keep[:, t], h)
            outs.append(h)
        return torch.stack(outs, dim=1)


def get_inputs():
    gate = torch.randn(BATCH, SEQ, DIM) - 1.0
    x = torch.randn(BATCH, SEQ, DIM)
    h0 = torch.randn(BATCH, DIM)
    return [gate, x, h0]


def get_init_inputs():
    return []
