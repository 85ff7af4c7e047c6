import torch
import torch.nn as nn

TOKENS = 16384
MODEL = 4096
VOCAB = 16384


class Model(nn.Module):
    """Vocabulary projection with the embedding table, fp16."""

    def forward(self, hidden, table):
        return hidden @ table.t()


def get_inputs():
    return [torch.randn(TOKENS, MODEL).half() * 0.1, torch.randn(VOCAB, MODEL).half() * 0.1]


def get_init_inputs():
    return []
