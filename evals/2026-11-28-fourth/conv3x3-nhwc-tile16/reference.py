import torch
import torch.nn as nn
import torch.nn.functional as F

N = 16
SIDE = 56
CIN = 128
COUT = 256


class Model(nn.Module):
    """3x3 convolution, padding 1, then ReLU. Images [n, h, w, c], weights [3, 3, cin, cout]."""

    def __init__(self, cin, cout):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3, cin, cout, dtype=torch.float16) * (9 * cin) ** -0.5)

    def forward(self, x):
        nchw = x.permute(0, 3, 1, 2).float()
        y = F.conv2d(nchw, self.weight.permute(3, 2, 0, 1).float(), padding=1)
        return F.relu(y).permute(0, 2, 3, 1).contiguous().to(torch.float16)


def get_inputs():
    return [torch.randn(N, SIDE, SIDE, CIN, dtype=torch.float16)]


def get_init_inputs():
    return [CIN, COUT]
