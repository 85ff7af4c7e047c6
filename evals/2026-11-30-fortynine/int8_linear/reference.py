import torch
import torch.nn as nn

M = 32
K = 8192
N = 28672


class Model(nn.Module):
    """Weight-only int8 linear layer (per output channel scales), fp16 activations."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("qweight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("scale", (torch.rand(out_features) * 0.5 + 0.5) / (127 * in_features ** 0.5))
        self.bias = nn.Parameter(torch.randn(out_features).half() * 0.1, requires_grad=False)

    def forward(self, x):
        w = self.qweight.float() * self.scale[:, None]
        return (x.float() @ w.t() + self.bias.float()).half()


def get_inputs():
    return [torch.randn(M, K).half()]


def get_init_inputs():
    return [K, N]
