import torch
import torch.nn as nn

TOKENS = 16384
TOP_K = 4
HIDDEN = 2048


class Model(nn.Module):
    """Backward of out[t] = sum_k w[t, k] * expert_out[slot[t, k]] (every slot used once)."""

    def __init__(self):
        super().__init__()

    def forward(self, grad_out, expert_out, weights, slots):
        t, k = slots.shape
        flat = slots.reshape(-1)
        rows = expert_out[flat].view(t, k, -1)
        grad_w = (rows.float() * grad_out[:, None, :].float()).sum(-1)
        scaled = (weights[:, :, None] * grad_out[:, None, :].float()).to(expert_out.dtype)
        grad_expert = torch.empty_like(expert_out)
        grad_expert[flat] = scaled.view(t * k, -1)
        return grad_expert, grad_w


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    grad_out = torch.randn(TOKENS, HIDDEN, device=device, dtype=torch.float16)
    expert_out = torch.randn(TOKENS * TOP_K, HIDDEN, device=device, dtype=torch.float16)
    weights = torch.softmax(torch.randn(TOKENS, TOP_K, device=device), dim=-1)
    slots = torch.randperm(TOKENS * TOP_K, device=device).view(TOKENS, TOP_K)
    return [grad_out, expert_out, weights, slots]


def get_init_inputs():
    return []
