import torch
import torch.nn as nn

IN_FEATURES = 8192
OUT_FEATURES = 8192
GROUP_SIZE = 128


class Model(nn.Module):
    """Symmetric int8 quantisation of a [in, out] weight in groups along the input dimension."""

    def __init__(self, group_size):
        super().__init__()
        self.group_size = group_size

    def forward(self, w):
        k, n = w.shape
        g = w.float().view(k // self.group_size, self.group_size, n)
        scale = g.abs().amax(dim=1).clamp(min=1e-6) / 127.0
        q = torch.floor(g / scale[:, None, :] + 0.5).clamp(-127, 127)
        return q.to(torch.int8).view(k, n), scale.half()


def get_inputs():
    return [torch.randn(IN_FEATURES, OUT_FEATURES).half()]


def get_init_inputs():
    return [GROUP_SIZE]
