"""MoE combine: weighted sum of the K expert outputs of each token, plus the shared expert's output."""
import torch
import torch.nn as nn

TOKENS = 8192
TOPK = 8
EXPERTS = 64
DIM = 2048


class Model(nn.Module):
    def __init__(self, topk, routed_scale):
        super().__init__()
        self.topk = topk
        self.routed_scale = routed_scale

    def forward(self, expert_out, perm, gate, shared):
        # Row r of expert_out belongs to assignment perm[r] = token * topk + slot.
        perm = perm.long()
        w = gate.flatten()[perm] * self.routed_scale
        acc = torch.zeros(shared.shape, dtype=torch.float32, device=shared.device)
        acc.index_add_(0, perm // self.topk, expert_out.float() * w[:, None])
        return (acc + shared.float()).to(shared.dtype)


def get_inputs():
    gate, ids = torch.softmax(torch.randn(TOKENS, EXPERTS), -1).topk(TOPK, dim=-1)
    gate = gate / gate.sum(-1, keepdim=True)
    perm = torch.argsort(ids.flatten(), stable=True).int()
    return [torch.randn(TOKENS * TOPK, DIM).bfloat16(), perm, gate, torch.randn(TOKENS, DIM).bfloat16()]


def get_init_inputs():
    return [TOPK, 2.5]
