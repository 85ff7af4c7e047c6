import torch
import torch.nn as nn

BATCH = 2
HEADS = 16
SEQ = 2048
DIM = 64


class Model(nn.Module):
    """Causal attention with linear biases (ALiBi): each head subtracts its slope times the distance from the scores."""

    def __init__(self, heads, dim):
        super().__init__()
        self.register_buffer("slopes", torch.tensor([2.0 ** (-8.0 * (h + 1) / heads) for h in range(heads)]))
        self.scale = dim**-0.5

    def forward(self, q, k, v):
        seq = q.shape[2]
        at = torch.arange(seq, device=q.device)
        distance = at[None, :] - at[:, None]
        bias = (self.slopes[:, None, None] * distance).masked_fill(distance > 0, float("-inf"))
        scores = (q @ k.transpose(-1, -2)) * self.scale + bias
        return torch.softmax(scores, dim=-1).to(q.dtype) @ v


def get_inputs():
    return [torch.randn(BATCH, HEADS, SEQ, DIM).half() for _ in range(3)]


def get_init_inputs():
    return [HEADS, DIM]
