"""Mixture-of-experts dispatch: stable order of the (token, choice) pairs by expert, its inverse, and each expert's first row."""
import torch
import torch.nn as nn

T = 16384
TOPK = 8
E = 64


class Model(nn.Module):
    def __init__(self, num_experts):
        super().__init__()
        self.num_experts = num_experts

    def forward(self, topk_ids):
        ids = topk_ids.flatten().long()
        order = torch.argsort(ids, stable=True)
        dest = torch.empty_like(order)
        dest[order] = torch.arange(ids.numel(), device=ids.device)
        counts = torch.zeros(self.num_experts, dtype=torch.long, device=ids.device).scatter_add_(0, ids, torch.ones_like(ids))
        offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return order.int(), dest.int(), offsets.int()


def get_inputs():
    return [torch.rand(T, E).topk(TOPK, dim=1).indices.int()]


def get_init_inputs():
    return [E]
