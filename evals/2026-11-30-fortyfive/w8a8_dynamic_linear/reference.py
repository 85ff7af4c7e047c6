import torch
import torch.nn as nn

TOKENS = 4096
IN_FEATURES = 4096
OUT_FEATURES = 11008


class Model(nn.Module):
    """Linear layer with int8 weights (one scale per output channel) and activations quantised per token on the fly."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("qweight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("w_scale", torch.rand(out_features) * 1e-3 + 1e-4)
        self.bias = nn.Parameter(torch.randn(out_features).to(torch.bfloat16))

    def forward(self, x):
        xf = x.float()
        x_scale = xf.abs().amax(dim=-1, keepdim=True).clamp_min(1e-6) / 127.0
        xq = torch.floor(xf / x_scale + 0.5).clamp(-127, 127)
        acc = xq @ self.qweight.float().t()
        y = acc * x_scale * self.w_scale[None, :] + self.bias.float()[None, :]
        return y.to(torch.bfloat16)


def get_inputs():
    return [torch.randn(TOKENS, IN_FEATURES).to(torch.bfloat16)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
