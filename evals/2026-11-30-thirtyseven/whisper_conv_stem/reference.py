import torch
import torch.nn as nn
import torch.nn.functional as F

B = 1
T = 3000
C = 384


class Model(nn.Module):
    """Second convolution of a speech encoder's stem: width 3, stride 2, padding 1, GELU; activations are [B, T, C]."""

    def __init__(self, c_in, c_out):
        super().__init__()
        # taps first, output channels last, as the serving code stores it
        self.weight = nn.Parameter((torch.randn(3, c_in, c_out) * (3 * c_in) ** -0.5).to(torch.float16))
        self.bias = nn.Parameter((0.1 * torch.randn(c_out)).to(torch.float16))

    def forward(self, x):
        y = F.conv1d(x.transpose(1, 2), self.weight.permute(2, 1, 0), self.bias, stride=2, padding=1)
        return F.gelu(y).transpose(1, 2).contiguous()


def get_inputs():
    return [torch.randn(B, T, C).to(torch.float16)]


def get_init_inputs():
    return [C, C]
