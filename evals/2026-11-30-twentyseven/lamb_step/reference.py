"""One LAMB step over a stack of equally large weight tensors (one trust ratio for each layer)."""
import torch
import torch.nn as nn

L = 192       # layers (tensors)
N = 65536     # elements of each tensor

LR, BETA1, BETA2, EPS, WD = 2e-3, 0.9, 0.999, 1e-6, 0.01


class Model(nn.Module):
    def __init__(self, layers=L, n=N):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(layers, n))

    def forward(self, grad, m, v, step):
        p = self.weight.detach()
        m = BETA1 * m + (1 - BETA1) * grad
        v = BETA2 * v + (1 - BETA2) * grad * grad
        mhat = m / (1 - BETA1 ** step)
        vhat = v / (1 - BETA2 ** step)
        u = mhat / (vhat.sqrt() + EPS) + WD * p
        wn = p.norm(dim=1, keepdim=True)
        un = u.norm(dim=1, keepdim=True)
        ratio = torch.where((wn > 0) & (un > 0), wn / un, torch.ones_like(wn))
        return p - LR * ratio * u, m, v


def get_inputs():
    return [0.01 * torch.randn(L, N), 0.001 * torch.randn(L, N), 1e-4 * torch.rand(L, N), 10]


def get_init_inputs():
    return [L, N]
