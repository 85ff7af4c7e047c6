import torch
import torch.nn as nn

TOKENS = 1024
TOPK = 4
HIDDEN = 2048


class Model(nn.Module):
    """Un-permute and weight the outputs of the experts (last step of a MoE layer)."""

    def __init__(self, routed_scale):
        super().__init__()
        self.routed_scale = routed_scale

    def forward(self, expert_out, slot, gates):
        # expert_out [T * K, H] grouped by expert; slot [T, K]: its row for choice k of token t
        picked = expert_out[slot.reshape(-1)].view(*slot.shape, expert_out.shape[1])
        mixed = (picked.float() * gates[:, :, None]).sum(dim=1) * self.routed_scale
        return mixed.to(expert_out.dtype)


def get_inputs():
    rows = TOKENS * TOPK
    expert_out = torch.randn(rows, HIDDEN).half()
    slot = torch.randperm(rows).view(TOKENS, TOPK)
    gates = torch.softmax(torch.randn(TOKENS, TOPK), dim=-1)
    return [expert_out, slot, gates]


def get_init_inputs():
    return [2.5]
