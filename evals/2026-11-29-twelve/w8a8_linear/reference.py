import torch
import torch.nn as nn

M = 8192
N = 4096
K = 4096


class Model(nn.Module):
    """Linear layer with int8 activations (per-token scale) and int8 weights (per-channel scale)."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("w_scale", torch.rand(out_features) * 0.01 + 0.005)
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x, x_scale):
        w = self.weight.float() * self.w_scale[:, None]
        y = (x.float() * x_scale[:, None]) @ w.t() + self.bias
        return y.to(torch.float16)


def get_inputs():
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randint(-127, 128, (M, K), dtype=torch.int8, device=dev)
    x_scale = torch.rand(M, device=dev) * 0.01 + 0.005
    return [x, x_scale]


def get_init_inputs():
    return [K, N]
