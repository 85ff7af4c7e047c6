import torch
import torch.nn as nn
import torch.nn.functional as F

M = 2048
N = 8192
K = 4096
G = 128


class Model(nn.Module):
    """Linear layer with int8 weights, one scale and zero point per group of G input features."""

    def __init__(self, n, k, g):
        super().__init__()
        self.g = g
        self.register_buffer("qweight", torch.randint(-128, 128, (n, k)).to(torch.int8))
        self.register_buffer("scales", ((torch.rand(n, k // g) + 0.5) / (74.0 * k ** 0.5)).to(torch.float16))
        self.register_buffer("zeros", torch.randint(-8, 9, (n, k // g)).to(torch.int8))
        self.register_buffer("bias", torch.randn(n).to(torch.float16))

    def forward(self, x):
        n, k = self.qweight.shape
        w = self.qweight.view(n, k // self.g, self.g).float() - self.zeros[..., None].float()
        w = (w * self.scales[..., None].float()).view(n, k).to(x.dtype)
        return F.linear(x, w, self.bias)


def get_inputs():
    return [torch.randn(M, K).to(torch.float16)]


def get_init_inputs():
    return [N, K, G]
