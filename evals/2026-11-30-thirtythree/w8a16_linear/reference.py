import torch
import torch.nn as nn

M = 4096
K = 4096
N = 4096


class Model(nn.Module):
    """Linear layer with int8 weights (one scale per output channel) and float16 activations."""

    def __init__(self, in_features, out_features):
        super().__init__()
        w = torch.randn(out_features, in_features) * 0.02
        scale = w.abs().amax(dim=1) / 127.0
        self.register_buffer("qweight", torch.round(w / scale[:, None]).clamp(-127, 127).to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = nn.Parameter(torch.randn(out_features) * 0.1)

    def forward(self, x):
        w = self.qweight.float() * self.scale[:, None]
        return (x.float() @ w.t() + self.bias).to(x.dtype)


def get_inputs():
    return [torch.randn(M, K).to(torch.float16)]


def get_init_inputs():
    return [K, N]
