import torch
import torch.nn as nn

TOKENS = 4096
TOPK = 4
DIM = 4096


class Model(nn.Module):
    """MoE un-permute: weighted sum of the TOPK expert outputs of every token."""

    def __init__(self):
        super().__init__()

    def forward(self, expert_out, slot, weight):
        rows = expert_out[slot.long()].float()
        return (rows * weight[..., None]).sum(dim=1).to(expert_out.dtype)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    expert_out = torch.randn(TOKENS * TOPK, DIM, device=dev, dtype=torch.float16)
    slot = torch.randperm(TOKENS * TOPK, device=dev).to(torch.int32).view(TOKENS, TOPK)
    weight = torch.softmax(torch.randn(TOKENS, TOPK, device=dev), dim=-1)
    return [expert_out, slot, weight]


def get_init_inputs():
    return []
