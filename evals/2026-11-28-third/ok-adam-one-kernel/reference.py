import torch
import torch.nn as nn

SIZE = 33554432


class Model(nn.Module):
    """One Adam step (the tenth): new parameters and moments."""

    def forward(self, p, g, m, v):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        m_hat = m / (1 - 0.9**10)
        v_hat = v / (1 - 0.999**10)
        return p - 1e-3 * m_hat / (v_hat.sqrt() + 1e-8), m, v


def get_inputs():
    return [torch.randn(SIZE), torch.randn(SIZE), torch.randn(SIZE) * 0.1, torch.rand(SIZE) * 0.1 + 0.01]


def get_init_inputs():
    return []
