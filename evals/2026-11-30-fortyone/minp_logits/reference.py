import torch
import torch.nn as nn

B = 64
V = 32000


class Model(nn.Module):
    """Logits processing for sampling: bias, frequency and presence penalties, temperature, softmax, min-p filter."""

    def __init__(self, v, freq_penalty, pres_penalty):
        super().__init__()
        self.v, self.freq_penalty, self.pres_penalty = v, freq_penalty, pres_penalty
        self.logit_bias = nn.Parameter(torch.randn(v) * 0.1)

    def forward(self, logits, counts, temperature, min_p):
        c = counts.float()
        x = logits + self.logit_bias - self.freq_penalty * c - self.pres_penalty * (c > 0).float()
        p = (x / temperature[:, None]).softmax(-1)
        keep = p >= min_p[:, None] * p.max(-1, keepdim=True).values
        p = torch.where(keep, p, torch.zeros_like(p))
        return p / p.sum(-1, keepdim=True)


def get_inputs():
    logits = torch.randn(B, V) * 1.5
    logits.scatter_(1, torch.randint(0, V, (B, 40)), 10 + 8 * torch.rand(B, 40))     # the likely tokens
    counts = (torch.randint(0, 40, (B, V)) - 36).clamp(min=0).to(torch.uint8)
    temperature = torch.rand(B) * 0.5 + 0.6
    min_p = torch.rand(B) * 0.08 + 0.02
    return [logits, counts, temperature, min_p]


def get_init_inputs():
    return [V, 0.25, 0.5]
