import torch
import torch.nn as nn

NUM_TOKENS = 256
TOP_K = 8
HIDDEN = 2048


class Model(nn.Module):
    """Un-permute the expert outputs and add them up with the router weights."""

    def __init__(self):
        super().__init__()

    def forward(self, expert_out, slots, topk_weights):
        # expert_out: [T * K, D], sorted by expert; slots: [T, K], row of expert_out; topk_weights: [T, K]
        rows = expert_out[slots.long()].float()
        return (rows * topk_weights[..., None]).sum(dim=1).to(expert_out.dtype)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    expert_out = torch.randn(NUM_TOKENS * TOP_K, HIDDEN, device=device, dtype=torch.float16)
    slots = torch.randperm(NUM_TOKENS * TOP_K, device=device).to(torch.int32).view(NUM_TOKENS, TOP_K)
    topk_weights = torch.softmax(torch.randn(NUM_TOKENS, TOP_K, device=device), dim=-1)
    return [expert_out, slots, topk_weights]


def get_init_inputs():
    return []
