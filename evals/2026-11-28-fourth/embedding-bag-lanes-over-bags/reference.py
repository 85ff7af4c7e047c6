import torch
import torch.nn as nn

BAGS = 16384
PER_BAG = 32
VOCAB = 200_000
DIM = 128


class Model(nn.Module):
    """Weighted embedding bag: out[b] = sum over l of weight[b, l] * table[index[b, l]]."""

    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab, dim))

    def forward(self, index, weight):
        return (self.table[index] * weight[:, :, None]).sum(dim=1)


def get_inputs():
    return [torch.randint(0, VOCAB, (BAGS, PER_BAG)), torch.rand(BAGS, PER_BAG)]


def get_init_inputs():
    return [VOCAB, DIM]
