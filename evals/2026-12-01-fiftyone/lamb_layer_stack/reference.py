import torch
import torch.nn as nn

LAYERS = 24
P = 262144    # parameters of one layer


class Model(nn.Module):
    """One LAMB step on a stack of equal layers [LAYERS, P]; the trust ratio is that of each layer."""

    def __init__(self, lr, beta1, beta2, eps, wd):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.eps, self.wd = lr, beta1, beta2, eps, wd

    def forward(self, p, g, m, v):
        m = self.beta1 * m + (1.0 - self.beta1) * g
        v = self.beta2 * v + (1.0 - self.beta2) * g * g
        u = m / (v.sqrt() + self.eps) + self.wd * p
        pn = p.norm(dim=1, keepdim=True)
        un = u.norm(dim=1, keepdim=True)
        ratio = torch.where((pn > 0) & (un > 0), pn / un.clamp_min(1e-30), torch.ones_like(pn))
        return p - self.lr * ratio * u, m, v


def get_inputs():
    return [torch.randn(LAYERS, P) * 0.02, torch.randn(LAYERS, P), torch.randn(LAYERS, P) * 0.1, torch.rand(LAYERS, P) + 0.1]


def get_init_inputs():
    return [1e-2, 0.9, 0.999, 1e-6, 0.01]
