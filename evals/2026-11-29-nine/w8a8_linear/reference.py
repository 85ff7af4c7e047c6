import torch
import torch.nn as nn

TOKENS = 4096
IN_FEATURES = 8192
OUT_FEATURES = 8192


class Model(nn.Module):
    """W8A8 linear layer: per-token activation scale, per-channel weight scale, fp16 output."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("weight_scale", torch.rand(out_features) * 1e-3 + 1e-4)
        self.register_buffer("bias", torch.randn(out_features).half())

    def forward(self, x_q, x_scale):
        acc = x_q.float() @ self.weight.float().t()
        y = acc * x_scale[:, None] * self.weight_scale[None, :] + self.bias.float()
        return y.half()


def get_inputs():
    x_q = torch.randint(-127, 128, (TOKENS, IN_FEATURES), dtype=torch.int8)
    x_scale = torch.rand(TOKENS) * 1e-2 + 1e-3
    return [x_q, x_scale]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
