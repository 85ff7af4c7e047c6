import torch
import torch.nn as nn

TOKENS = 131072
FEATURES = 1024
RANK = 64


class Model(nn.Module):
    """Weight gradient of a low-rank down projection: grad_w[r, d] = sum_t grad_out[t, r] * x[t, d]."""

    def __init__(self):
        super().__init__()

    def forward(self, grad_out, x):
        return grad_out.t() @ x


def get_inputs():
    return [torch.randn(TOKENS, RANK, dtype=torch.float16), torch.randn(TOKENS, FEATURES, dtype=torch.float16)]


def get_init_inputs():
    return []
