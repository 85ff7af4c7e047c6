import torch
import torch.nn as nn

B = 64
K = 4
V = 128256


class Model(nn.Module):
    """Speculative decoding: acceptance probability of each drafted token, and the residual distribution
    max(p - q, 0) / sum that is sampled from when the token is refused."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, target_logits, draft_logits, draft_tokens):
        p = torch.softmax(target_logits.float() / self.temperature, dim=-1)
        q = torch.softmax(draft_logits.float() / self.temperature, dim=-1)
        pt = p.gather(-1, draft_tokens[..., None])[..., 0]
        qt = q.gather(-1, draft_tokens[..., None])[..., 0]
        accept = torch.clamp(pt / qt, max=1.0)
        residual = torch.clamp(p - q, min=0.0)
        residual = residual / residual.sum(dim=-1, keepdim=True).clamp(min=1e-12)
        return accept, residual


def get_inputs():
    target = torch.randn(B, K, V) * 2.0
    draft = target + torch.randn(B, K, V)
    tokens = torch.randint(0, V, (B, K))
    return [target.to(torch.bfloat16), draft.to(torch.bfloat16), tokens]


def get_init_inputs():
    return [0.8]
