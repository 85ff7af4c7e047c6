"""SmoothQuant style W8A8 linear layer: int8 activations with a scale for each token, int8 weights with a scale for each output channel."""
import torch
import torch.nn as nn

M = 8192
N = 8192
K = 4096


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("w_scale", torch.rand(out_features) * 2e-4 + 1e-4)
        self.bias = nn.Parameter(torch.randn(out_features), requires_grad=False)

    def forward(self, x_q, x_scale):
        acc = x_q.float() @ self.weight.float().t()
        return (acc * x_scale[:, None] * self.w_scale[None, :] + self.bias).to(torch.bfloat16)


def get_inputs():
    x_q = torch.randint(-127, 128, (M, K), dtype=torch.int8)
    x_scale = torch.rand(M) * 0.02 + 0.01
    return [x_q, x_scale]


def get_init_inputs():
    return [K, N]
