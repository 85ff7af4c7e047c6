"""Backward of a LoRA adapter: gradient of the down projection A (rank x d_in), added to the float32 main gradient."""
import torch
import torch.nn as nn

TOKENS = 16384
D_IN = 2048
RANK = 16


class Model(nn.Module):
    def __init__(self, rank, d_in, scale):
        super().__init__()
        self.scale = scale
        self.register_buffer("main_grad", torch.randn(rank, d_in))

    def forward(self, x, dh):
        # x: (tokens, d_in) input of the layer; dh: (tokens, rank) gradient at the adapter's hidden
        return self.main_grad + self.scale * (dh.float().t() @ x.float())


def get_inputs():
    x = torch.randn(TOKENS, D_IN, dtype=torch.float16)
    dh = (torch.randn(TOKENS, RANK) * 0.1).to(torch.float16)
    return [x, dh]


def get_init_inputs():
    return [RANK, D_IN, 2.0]
