import torch
import torch.nn as nn

SEQUENCES = 16
LENGTH = 256
VOCAB = 128256


class Model(nn.Module):
    """Scores candidate continuations: log-probability of each target token, and a float64 total per sequence."""

    def __init__(self, length_penalty):
        super().__init__()
        self.length_penalty = length_penalty

    def forward(self, logits, targets, lengths):
        picked = logits.gather(-1, targets[..., None]).squeeze(-1)
        token_lp = picked - torch.logsumexp(logits, dim=-1)
        pos = torch.arange(logits.shape[1], device=logits.device)
        token_lp = token_lp.masked_fill(pos[None, :] >= lengths[:, None], 0.0)
        total = token_lp.double().sum(-1) / lengths.double() ** self.length_penalty
        return token_lp, total


def get_inputs():
    logits = torch.randn(SEQUENCES, LENGTH, VOCAB) * 3.0
    targets = torch.randint(0, VOCAB, (SEQUENCES, LENGTH))
    lengths = LENGTH - torch.randint(0, LENGTH // 16 + 1, (SEQUENCES,))
    return [logits, targets, lengths]


def get_init_inputs():
    return [0.6]
