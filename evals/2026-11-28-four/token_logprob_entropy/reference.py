import torch
import torch.nn as nn

TOKENS = 1024
VOCAB = 128256
TEMPERATURE = 0.8


class Model(nn.Module):
    """Log-probability of the sampled token and entropy of the policy, per position."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, logits, token_ids):
        logp = torch.log_softmax(logits.float() / self.temperature, dim=-1)
        chosen = logp.gather(1, token_ids[:, None]).squeeze(1)
        entropy = -(logp.exp() * logp).sum(-1)
        return chosen, entropy


def get_inputs():
    logits = (3.0 * torch.randn(TOKENS, VOCAB)).to(torch.float16)
    ids = torch.randint(0, VOCAB, (TOKENS,))
    return [logits, ids]


def get_init_inputs():
    return [TEMPERATURE]
