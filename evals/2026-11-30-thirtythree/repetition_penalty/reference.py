import torch
import torch.nn as nn

B = 16
V = 32000
L = 1024


class Model(nn.Module):
    """Repetition penalty (every token seen in the history, once) followed by temperature."""

    def __init__(self):
        super().__init__()

    def forward(self, logits, history, penalty, temperature):
        b, v = logits.shape
        seen = torch.zeros((b, v + 1), device=logits.device, dtype=torch.bool)
        slot = torch.where(history < 0, torch.full_like(history, v), history).long()
        seen.scatter_(1, slot, True)
        seen = seen[:, :v]
        p = penalty[:, None]
        penalised = torch.where(logits > 0, logits / p, logits * p)
        return torch.where(seen, penalised, logits) / temperature[:, None]


def get_inputs():
    logits = torch.randn(B, V) * 4.0
    history = torch.randint(0, V, (B, L), dtype=torch.int32)
    lengths = torch.randint(L // 2, L + 1, (B,))
    history[torch.arange(L)[None, :] >= lengths[:, None]] = -1
    penalty = 1.0 + 0.5 * torch.rand(B)
    temperature = 0.5 + torch.rand(B)
    return [logits, history, penalty, temperature]


def get_init_inputs():
    return []
