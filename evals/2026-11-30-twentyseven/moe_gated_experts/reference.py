"""Gated up-projection of all experts of an MoE layer, on tokens already dispatched to (expert, capacity) slots."""
import torch
import torch.nn as nn
import torch.nn.functional as F

E = 8         # experts
C = 1024      # capacity (slots of an expert)
K = 2048      # model dimension
N = 2816      # expert hidden dimension


class Model(nn.Module):
    def __init__(self, experts=E, k=K, n=N):
        super().__init__()
        self.w_gate = nn.Parameter((torch.randn(experts, k, n) * k ** -0.5).to(torch.float16))
        self.w_up = nn.Parameter((torch.randn(experts, k, n) * k ** -0.5).to(torch.float16))

    def forward(self, x):
        g = torch.bmm(x.float(), self.w_gate.detach().float())
        u = torch.bmm(x.float(), self.w_up.detach().float())
        return (F.silu(g) * u).to(torch.float16)


def get_inputs():
    return [torch.randn(E, C, K).to(torch.float16)]


def get_init_inputs():
    return [E, K, N]
