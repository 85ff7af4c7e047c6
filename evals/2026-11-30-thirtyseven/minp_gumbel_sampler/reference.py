import torch
import torch.nn as nn

B = 8
V = 32000


class Model(nn.Module):
    """Next-token sampling: repetition penalty, temperature, min-p filter, Gumbel-max draw, log-probability of the draw."""

    def __init__(self, penalty, log_min_p):
        super().__init__()
        self.penalty, self.log_min_p = penalty, log_min_p

    def forward(self, logits, seen, temperature, gumbel):
        z = torch.where(seen != 0, torch.where(logits > 0, logits / self.penalty, logits * self.penalty), logits)
        z = z / temperature[:, None]
        top = z.max(dim=1, keepdim=True).values
        keep = z >= top + self.log_min_p
        z = z.masked_fill(~keep, float("-inf"))
        token = (z + gumbel).argmax(dim=1)
        logprob = torch.log_softmax(z, dim=1).gather(1, token[:, None])[:, 0]
        return token, logprob


def get_inputs():
    logits = 3.0 * torch.randn(B, V)
    seen = (torch.rand(B, V) < 0.02).to(torch.int8)
    temperature = 0.7 + 0.6 * torch.rand(B)
    gumbel = -torch.log(-torch.log(torch.rand(B, V).clamp(1e-6, 1 - 1e-6)))
    return [logits, seen, temperature, gumbel]


def get_init_inputs():
    return [1.2, -3.0]
