import torch
import torch.nn as nn

B = 16
S = 128
V = 128256


class Model(nn.Module):
    """Scores candidate continuations: log-probability of every target token, and its sum per sequence in float64."""

    def __init__(self):
        super().__init__()

    def forward(self, logits, targets):
        lp = torch.log_softmax(logits.float(), dim=-1)
        picked = lp.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
        picked = torch.where(targets >= 0, picked, torch.zeros_like(picked))
        return picked, picked.double().sum(dim=1)


def get_inputs():
    logits = (torch.randn(B, S, V) * 2.0).to(torch.bfloat16)
    targets = torch.randint(0, V, (B, S))
    targets[torch.rand(B, S) < 0.05] = -100
    return [logits, targets]


def get_init_inputs():
    return []
