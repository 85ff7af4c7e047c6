import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32
FRAMES = 2000
CHANNELS = 512
KERNEL = 31


class Model(nn.Module):
    """Middle of a Conformer convolution module on channels-last input: depthwise conv, batch norm (inference), SiLU."""

    def __init__(self, channels, kernel):
        super().__init__()
        self.kernel = kernel
        self.weight = nn.Parameter((torch.randn(kernel, channels) / kernel**0.5).to(torch.float16))
        self.gamma = nn.Parameter(torch.rand(channels) + 0.5)
        self.beta = nn.Parameter(torch.randn(channels) * 0.1)
        self.register_buffer("running_mean", torch.randn(channels) * 0.1)
        self.register_buffer("running_var", torch.rand(channels) + 0.5)

    def forward(self, x):
        w = self.weight.float().t().unsqueeze(1)
        y = F.conv1d(x.float().transpose(1, 2), w, padding=self.kernel // 2, groups=w.shape[0])
        y = F.batch_norm(y, self.running_mean, self.running_var, self.gamma, self.beta, False, 0.0, 1e-5)
        return F.silu(y).transpose(1, 2).contiguous().to(x.dtype)


def get_inputs():
    return [torch.randn(BATCH, FRAMES, CHANNELS).to(torch.float16)]


def get_init_inputs():
    return [CHANNELS, KERNEL]
