import torch
import torch.nn as nn

BATCH = 32
VOCAB = 128256
HISTORY = 2048


class Model(nn.Module):
    """Repetition, frequency and presence penalties on the logits, from the tokens generated so far (padded with -1)."""

    def __init__(self):
        super().__init__()

    def forward(self, logits, history, repetition, frequency, presence):
        counts = torch.zeros_like(logits)
        counts.scatter_add_(1, history.clamp(min=0), (history >= 0).to(logits.dtype))
        seen = counts > 0
        rep = repetition[:, None]
        out = torch.where(seen, torch.where(logits > 0, logits / rep, logits * rep), logits)
        return out - frequency[:, None] * counts - presence[:, None] * seen.to(logits.dtype)


def get_inputs():
    logits = torch.randn(BATCH, VOCAB) * 4.0
    # a skewed distribution, so that tokens repeat
    history = (torch.rand(BATCH, HISTORY) ** 4 * VOCAB).long().clamp(max=VOCAB - 1)
    lens = torch.randint(HISTORY // 2, HISTORY + 1, (BATCH, 1))
    history = torch.where(torch.arange(HISTORY)[None, :] < lens, history, torch.full_like(history, -1))
    repetition = 1.0 + torch.rand(BATCH) * 0.3
    frequency = torch.rand(BATCH) * 0.5
    presence = torch.rand(BATCH) * 0.5
    return [logits, history, repetition, frequency, presence]


def get_init_inputs():
    return []
