import torch
import torch.nn as nn

TOKENS = 16384
VOCAB = 50000
WIDTH = 1024


class Model(nn.Module):
    """Token embedding plus position embedding, fp16."""

    def __init__(self, vocab: int, tokens: int, width: int):
        super().__init__()
        self.words = nn.Parameter(torch.randn(vocab, width, dtype=torch.float16))
        self.places = nn.Parameter(torch.randn(tokens, width, dtype=torch.float16))

    def forward(self, ids):
        return self.words[ids] + self.places[: ids.shape[0]]


def get_inputs():
    return [torch.randint(0, VOCAB, (TOKENS,))]


def get_init_inputs():
    return [VOCAB, TOKENS, WIDTH]
