import torch
import torch.nn as nn

TOKENS = 8192
TOPK = 6
HIDDEN = 2048


class Model(nn.Module):
    """Weighted sum of each token's expert outputs, which lie sorted by expert; slot -1 is a dropped copy."""

    def forward(self, expert_out, slots, gates):
        live = slots >= 0
        rows = expert_out[slots.clamp(min=0)]
        w = (gates * live).to(expert_out.dtype)
        return (rows * w[..., None]).sum(dim=1)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    out = torch.randn(TOKENS * TOPK, HIDDEN, device=device, dtype=torch.float16)
    slots = torch.randperm(TOKENS * TOPK, device=device).view(TOKENS, TOPK)
    drop = torch.rand(TOKENS, TOPK, device=device) < 0.02
    slots = torch.where(drop, torch.full_like(slots, -1), slots)
    gates = torch.softmax(torch.randn(TOKENS, TOPK, device=device), dim=-1)
    return [out, slots, gates]


def get_init_inputs():
    return []
