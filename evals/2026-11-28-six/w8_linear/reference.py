import torch
import torch.nn as nn

TOKENS = 128
IN_FEATURES = 2048
OUT_FEATURES = 2048


class Model(nn.Module):
    """Weight-only int8 linear: y = x @ (wq * scale).T, one scale per output channel."""

    def __init__(self):
        super().__init__()

    def forward(self, x, wq, scale):
        w = wq.float() * scale[:, None]
        return (x.float() @ w.t()).to(x.dtype)


def get_inputs():
    x = torch.randn(TOKENS, IN_FEATURES).half()
    wq = torch.randint(-127, 128, (OUT_FEATURES, IN_FEATURES), dtype=torch.int8)
    scale = torch.rand(OUT_FEATURES) * 1e-3 + 1e-4
    return [x, wq, scale]


def get_init_inputs():
    return []
