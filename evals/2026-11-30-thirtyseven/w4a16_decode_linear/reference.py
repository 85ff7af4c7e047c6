import torch
import torch.nn as nn

M = 16
N = 4096
K = 4096
GROUP = 128


class Model(nn.Module):
    """Linear layer with 4-bit weights (GPTQ style, packed along K, symmetric, one scale per group and column)."""

    def __init__(self, k, n, group):
        super().__init__()
        self.k, self.n, self.group = k, n, group
        self.register_buffer("qweight", torch.randint(-2**31, 2**31 - 1, (k // 8, n), dtype=torch.int32))
        self.register_buffer("scales", (0.005 + 0.01 * torch.rand(k // group, n)).to(torch.float16))
        self.bias = nn.Parameter(torch.randn(n).to(torch.float16))

    def forward(self, x):
        shifts = torch.arange(0, 32, 4, device=x.device, dtype=torch.int32)
        w = (self.qweight[:, None, :] >> shifts[None, :, None]) & 15
        w = (w.reshape(self.k, self.n) - 8).to(torch.float16)
        w = w * self.scales.repeat_interleave(self.group, 0)
        return torch.matmul(x, w) + self.bias


def get_inputs():
    return [torch.randn(M, K).to(torch.float16)]


def get_init_inputs():
    return [K, N, GROUP]
