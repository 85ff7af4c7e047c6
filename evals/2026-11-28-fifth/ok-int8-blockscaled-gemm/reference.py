import torch
import torch.nn as nn

TOKENS = 8192
IN_DIM = 4096
OUT_DIM = 4096
BLOCK = 128


class Model(nn.Module):
    """y = x W^T with both in int8 and a scale for each block along K: of 1 x 128 elements of x, of 128 x 128 of W.
    x_scale: [IN_DIM / 128, TOKENS]."""

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (out_dim, in_dim), dtype=torch.int8))
        self.register_buffer("w_scale", (torch.rand(out_dim // BLOCK, in_dim // BLOCK) + 0.5) * 1e-3)

    def forward(self, x, x_scale):
        wide_x = x.float() * x_scale.t().repeat_interleave(BLOCK, dim=1)
        by_block = self.w_scale.repeat_interleave(BLOCK, dim=0).repeat_interleave(BLOCK, dim=1)
        return (wide_x @ (self.weight.float() * by_block).t()).half()


def get_inputs():
    x = torch.randint(-127, 128, (TOKENS, IN_DIM), dtype=torch.int8)
    return [x, (torch.rand(IN_DIM // BLOCK, TOKENS) + 0.5) * 1e-3]


def get_init_inputs():
    return [IN_DIM, OUT_DIM]
