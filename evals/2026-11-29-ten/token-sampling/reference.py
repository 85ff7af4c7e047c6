import torch
import torch.nn as nn

BATCH = 1024
VOCAB = 50257


class Model(nn.Module):
    """Gumbel-max sampling with a temperature per row; returns the token and its log-probability."""

    def __init__(self):
        super().__init__()

    def forward(self, logits, temperature, uniform):
        logp = torch.log_softmax(logits / temperature[:, None], dim=-1)
        gumbel = -torch.log(-torch.log(uniform))
        token = torch.argmax(logp + gumbel, dim=-1)
        return token, logp.gather(1, token[:, None]).squeeze(1)


def get_inputs():
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    logits = torch.randn(BATCH, VOCAB, device=dev) * 2.0
    temperature = torch.rand(BATCH, device=dev) * 0.6 + 0.7
    uniform = torch.rand(BATCH, VOCAB, device=dev).clamp(1e-6, 1.0 - 1e-6)
    return [logits, temperature, uniform]


def get_init_inputs():
    return []
