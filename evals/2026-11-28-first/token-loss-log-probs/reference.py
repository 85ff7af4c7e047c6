import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 4096
VOCAB = 32000


class Model(nn.Module):
    """Mean cross-entropy of fp32 logits."""

    def forward(self, logits, labels):
        return F.cross_entropy(logits, labels)


def get_inputs():
    return [torch.randn(TOKENS, VOCAB), torch.randint(0, VOCAB, (TOKENS,))]


def get_init_inputs():
    return []
