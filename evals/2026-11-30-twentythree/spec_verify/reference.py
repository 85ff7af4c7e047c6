"""Speculative decoding: typical acceptance (as in Medusa) of drafted tokens under the target model's logits."""
import torch
import torch.nn as nn

DRAFTS = 8
VOCAB = 32000


class Model(nn.Module):
    def __init__(self, temperature, eps, delta):
        super().__init__()
        self.temperature, self.eps, self.delta = temperature, eps, delta

    def forward(self, logits, draft):                   # (drafts, vocab) bfloat16, (drafts,) int64
        logp = torch.log_softmax(logits.float() / self.temperature, dim=-1)
        entropy = -(logp.exp() * logp).sum(-1)
        lp = logp.gather(1, draft[:, None])[:, 0]
        bar = torch.clamp(self.delta * torch.exp(-entropy), max=self.eps)
        return lp, entropy, (lp.exp() > bar).to(torch.int8)


def get_inputs():
    logits = (2.5 * torch.randn(DRAFTS, VOCAB)).bfloat16()
    draft = torch.randint(0, VOCAB, (DRAFTS,))
    draft[::2] = logits[::2].float().argmax(1)
    return [logits, draft]


def get_init_inputs():
    return [0.7, 0.09, 0.3]
