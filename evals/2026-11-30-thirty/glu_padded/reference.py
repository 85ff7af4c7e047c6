import torch
import torch.nn as nn

B = 8
T = 512
C = 512


class Model(nn.Module):
    """GLU of a Conformer convolution module on padded speech batches: a * sigmoid(g) + biases, zero past each length."""

    def __init__(self, channels):
        super().__init__()
        self.bias = nn.Parameter((torch.randn(2 * channels) * 0.1).bfloat16())

    def forward(self, x, lengths):
        h = x.float() + self.bias.float()
        a, g = h.chunk(2, dim=-1)
        y = a * torch.sigmoid(g)
        live = torch.arange(x.shape[1], device=x.device)[None, :] < lengths[:, None]
        return (y * live[..., None]).to(x.dtype)


def get_inputs():
    x = torch.randn(B, T, 2 * C).bfloat16()
    lengths = torch.randint((3 * T) // 4, T + 1, (B,), dtype=torch.int32)
    return [x, lengths]


def get_init_inputs():
    return [C]
