import torch
import torch.nn as nn

BATCH = 8
SEQ = 4096
WIDTH = 1024


class Model(nn.Module):
    """Causal token mixing: position i sums positions up to i, weighted by row i of a learned matrix; a gate multiplies."""

    def forward(self, mixing, values, gate):
        return torch.tril(mixing) @ values * gate


def get_inputs():
    mixing = (torch.randn(SEQ, SEQ) / SEQ**0.5).half()
    values = torch.randn(BATCH, SEQ, WIDTH).half()
    gate = torch.rand(BATCH, SEQ, WIDTH).half()
    return [mixing, values, gate]


def get_init_inputs():
    return []
