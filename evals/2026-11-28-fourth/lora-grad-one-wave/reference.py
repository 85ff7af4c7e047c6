import torch
import torch.nn as nn

TOKENS = 32768
IN_DIM = 2048
RANK = 32


class Model(nn.Module):
    """Gradient of the down-projection of a LoRA adapter: dA [rank, in] = dh^T x, times the scaling alpha / rank."""

    def __init__(self, alpha, rank):
        super().__init__()
        self.scaling = alpha / rank

    def forward(self, dh, x):
        return (dh.float().t() @ x.float()) * self.scaling


def get_inputs():
    return [torch.randn(TOKENS, RANK, dtype=torch.float16) * 0.1, torch.randn(TOKENS, IN_DIM, dtype=torch.float16)]


def get_init_inputs():
    return [16.0, RANK]
