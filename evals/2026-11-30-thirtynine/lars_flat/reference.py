"""LARS step over a flat parameter buffer cut into the tensors of a vision transformer."""
import torch
import torch.nn as nn

LAYERS = 2
DIM = 128


def layer_sizes(d):
    return [d, d, 3 * d * d, 3 * d, d * d, d, d, d, 4 * d * d, 4 * d, 4 * d * d, d]


class Model(nn.Module):
    def __init__(self, sizes, lr, momentum, weight_decay, eta):
        super().__init__()
        self.sizes = list(sizes)
        self.lr, self.momentum, self.weight_decay, self.eta = lr, momentum, weight_decay, eta

    def forward(self, w, g, m):
        ws, ms = [], []
        for wi, gi, mi in zip(w.split(self.sizes), g.split(self.sizes), m.split(self.sizes)):
            wn, gn = wi.norm(), gi.norm()
            trust = self.eta * wn / (gn + self.weight_decay * wn + 1e-9)
            trust = torch.where((wn > 0) & (gn > 0), trust, torch.ones_like(trust))
            mi = self.momentum * mi + self.lr * trust * (gi + self.weight_decay * wi)
            ws.append(wi - mi)
            ms.append(mi)
        return torch.cat(ws), torch.cat(ms)


def get_inputs():
    n = LAYERS * sum(layer_sizes(DIM))
    return [torch.randn(n) * 0.05, torch.randn(n) * 0.01, torch.randn(n) * 0.001]


def get_init_inputs():
    return [layer_sizes(DIM) * LAYERS, 0.5, 0.9, 1e-4, 0.02]
