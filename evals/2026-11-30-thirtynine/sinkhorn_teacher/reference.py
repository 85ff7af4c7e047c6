"""Sinkhorn-Knopp assignment of teacher scores to prototypes (self-supervised vision training)."""
import torch
import torch.nn as nn

B = 256
K = 8192


class Model(nn.Module):
    def __init__(self, temperature, n_iters):
        super().__init__()
        self.temperature = temperature
        self.n_iters = n_iters

    def forward(self, scores):
        q = torch.exp(scores.float() / self.temperature).t()
        k, b = q.shape
        q = q / q.sum()
        for _ in range(self.n_iters):
            q = q / q.sum(dim=1, keepdim=True) / k
            q = q / q.sum(dim=0, keepdim=True) / b
        return (q * b).t().contiguous()


def get_inputs():
    return [torch.rand(B, K) * 1.2 - 0.6]


def get_init_inputs():
    return [0.1, 3]
