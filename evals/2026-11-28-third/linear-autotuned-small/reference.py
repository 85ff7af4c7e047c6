import torch
import torch.nn as nn

BATCH = 4096
IN_FEATURES = 2048
OUT_FEATURES = 4096


class Model(nn.Module):
    """x @ W + b, then ReLU, in fp16."""

    def forward(self, x, w, b):
        return torch.relu(torch.addmm(b, x, w))


def get_inputs():
    x = torch.randn(BATCH, IN_FEATURES).half()
    w = (torch.randn(IN_FEATURES, OUT_FEATURES) * 0.03).half()
    b = torch.randn(OUT_FEATURES).half()
    return [x, w, b]


def get_init_inputs():
    return []
