import torch
import torch.nn as nn

TOKENS = 4096
IN_FEATURES = 4096
OUT_FEATURES = 8192


class Model(nn.Module):
    """Linear layer on int8 activations (per-token scale) and int8 weights (per-channel scale)."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("qweight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("w_scale", torch.rand(out_features) * 1e-3 + 5e-4)
        self.bias = nn.Parameter(torch.randn(out_features).half())

    def forward(self, x_q, x_scale):
        acc = x_q.float() @ self.qweight.float().t()
        y = acc * x_scale[:, None] * self.w_scale[None, :] + self.bias.float()
        return y.half()


def get_inputs():
    x_q = torch.randint(-127, 128, (TOKENS, IN_FEATURES), dtype=torch.int8)
    x_scale = torch.rand(TOKENS) * 0.02 + 0.005
    return [x_q, x_scale]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
