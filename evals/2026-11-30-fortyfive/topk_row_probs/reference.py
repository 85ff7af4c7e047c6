import torch
import torch.nn as nn

BATCH = 32
VOCAB = 128256
TOP_K = 50


class Model(nn.Module):
    """Candidate probabilities for top-k sampling: the k best tokens of each row and their tempered softmax."""

    def __init__(self, top_k):
        super().__init__()
        self.top_k = top_k

    def forward(self, logits, temperature):
        values, tokens = torch.topk(logits, self.top_k, dim=-1, sorted=True)
        probs = torch.softmax(values / temperature[:, None], dim=-1)
        return probs, tokens


def get_inputs():
    logits = torch.randn(BATCH, VOCAB) * 4.0
    temperature = torch.rand(BATCH) * 0.9 + 0.3
    return [logits, temperature]


def get_init_inputs():
    return [TOP_K]
