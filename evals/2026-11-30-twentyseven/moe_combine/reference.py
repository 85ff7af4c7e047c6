"""Combine step of an MoE layer: each token adds its TOPK expert outputs, weighted, to the residual stream."""
import torch
import torch.nn as nn

T = 16384     # tokens
TOPK = 4      # experts of a token
H = 4096      # model dimension


class Model(nn.Module):
    def __init__(self, scale=1.0):
        super().__init__()
        self.scale = scale

    def forward(self, y, slot, gate, residual):
        t, k = slot.shape
        acc = residual.float()
        for j in range(k):
            acc = acc + (self.scale * gate[:, j:j + 1]) * y[slot[:, j].long()].float()
        return acc.to(residual.dtype)


def get_inputs():
    y = torch.randn(T * TOPK, H).to(torch.float16)           # sorted by expert
    slot = torch.randperm(T * TOPK).view(T, TOPK).to(torch.int32)
    gate = torch.softmax(torch.randn(T, TOPK), dim=-1)
    residual = torch.randn(T, H).to(torch.float16)
    return [y, slot, gate, residual]


def get_init_inputs():
    return [2.5]
