import torch
import torch.nn as nn

TOKENS = 2048
VOCAB = 128256


class Model(nn.Module):
    """Entropy of the next-token distribution of every position, as policy-gradient training logs it."""

    def __init__(self, temperature):
        super().__init__()
        self.inverse = 1.0 / temperature

    def forward(self, logits):
        log_p = torch.log_softmax(logits * self.inverse, dim=-1)
        return -(log_p.exp() * log_p).sum(dim=-1)


def get_inputs():
    return [torch.randn(TOKENS, VOCAB) * 2.0]


def get_init_inputs():
    return [0.8]
