import math

import torch
import torch.nn as nn

NUMEL = 4194304


class Model(nn.Module):
    """One Adan step (decoupled weight decay) on a flat parameter buffer, out of place."""

    def __init__(self, lr, beta1, beta2, beta3, eps, weight_decay, step):
        super().__init__()
        self.lr, self.eps, self.weight_decay = lr, eps, weight_decay
        self.betas = (beta1, beta2, beta3)
        self.bias = (1 - beta1**step, 1 - beta2**step, math.sqrt(1 - beta3**step))

    def forward(self, param, grad, prev_grad, exp_avg, exp_avg_diff, exp_avg_sq):
        b1, b2, b3 = self.betas
        c1, c2, c3 = self.bias
        g = grad.float()
        diff = g - prev_grad.float()
        m = exp_avg * b1 + g * (1 - b1)
        v = exp_avg_diff * b2 + diff * (1 - b2)
        u = g + b2 * diff
        n = exp_avg_sq * b3 + u * u * (1 - b3)
        denom = n.sqrt() / c3 + self.eps
        update = (m / c1 + b2 * v / c2) / denom
        p = (param - self.lr * update) / (1 + self.lr * self.weight_decay)
        return p, m, v, n


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    param = torch.randn(NUMEL, device=dev)
    grad = torch.randn(NUMEL, device=dev).half()
    prev_grad = torch.randn(NUMEL, device=dev).half()
    exp_avg = torch.randn(NUMEL, device=dev) * 0.1
    exp_avg_diff = torch.randn(NUMEL, device=dev) * 0.1
    exp_avg_sq = torch.rand(NUMEL, device=dev) + 0.01
    return [param, grad, prev_grad, exp_avg, exp_avg_diff, exp_avg_sq]


def get_init_inputs():
    return [1e-3, 0.98, 0.92, 0.99, 1e-8, 0.02, 100]
