import torch
import torch.nn as nn

NUMEL = 16777216
LR = 0.1
MOMENTUM = 0.9
WEIGHT_DECAY = 0.0001
TRUST = 0.001


class Model(nn.Module):
    """One LARS step of a layer: returns the new weights and the new momentum buffer."""

    def __init__(self, lr, momentum, weight_decay, trust):
        super().__init__()
        self.lr, self.momentum, self.weight_decay, self.trust = lr, momentum, weight_decay, trust

    def forward(self, w, g, v):
        wn = w.norm()
        gn = g.norm()
        local = self.trust * wn / (gn + self.weight_decay * wn + 1e-9)
        v = self.momentum * v + local * (g + self.weight_decay * w)
        return w - self.lr * v, v


def get_inputs():
    return [torch.randn(NUMEL), torch.randn(NUMEL) * 0.01, torch.randn(NUMEL) * 0.001]


def get_init_inputs():
    return [LR, MOMENTUM, WEIGHT_DECAY, TRUST]
