import math

import torch
import torch.nn as nn

BATCH = 64
TOKENS = 1024
DIM = 1024


class Model(nn.Module):
    """Adds 2-d sine/cosine position embeddings at given (y, x) coordinates to the tokens of a flexible-resolution DiT."""

    def __init__(self, max_period):
        super().__init__()
        self.max_period = max_period

    def forward(self, x, coords):
        quarter = x.shape[-1] // 4
        i = torch.arange(quarter, dtype=torch.float64, device=x.device)
        omega = torch.exp(-math.log(self.max_period) * i / quarter)
        y_arg = coords[..., 0:1].double() * omega
        x_arg = coords[..., 1:2].double() * omega
        pe = torch.cat([y_arg.sin(), y_arg.cos(), x_arg.sin(), x_arg.cos()], dim=-1).float()
        return (x.float() + pe).to(x.dtype)


def get_inputs():
    x = torch.randn(BATCH, TOKENS, DIM).to(torch.bfloat16)
    coords = torch.rand(BATCH, TOKENS, 2) * 64.0
    return [x, coords]


def get_init_inputs():
    return [10000.0]
