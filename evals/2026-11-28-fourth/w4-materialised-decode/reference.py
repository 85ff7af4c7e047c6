import torch
import torch.nn as nn

TOKENS = 16
IN_FEATURES = 4096
OUT_FEATURES = 12288
GROUP = 128


class Model(nn.Module):
    """Linear layer with 4-bit weights, two in a byte along the inputs (low nibble first), zero point 8, a scale per group of
    inputs and output."""

    def __init__(self, in_features, out_features, group):
        super().__init__()
        self.group = group
        self.register_buffer("packed", torch.randint(0, 256, (in_features // 2, out_features), dtype=torch.uint8))
        self.register_buffer("scales", (torch.rand(in_features // group, out_features) * 0.02 + 0.005).half())

    def forward(self, x):
        low = (self.packed & 15).to(torch.float32)
        high = (self.packed >> 4).to(torch.float32)
        q = torch.stack((low, high), dim=1).reshape(-1, self.packed.shape[1]) - 8.0
        w = q * self.scales.float().repeat_interleave(self.group, dim=0)
        return (x.float() @ w).to(torch.float16)


def get_inputs():
    return [torch.randn(TOKENS, IN_FEATURES, dtype=torch.float16)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, GROUP]
