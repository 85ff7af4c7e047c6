import torch
import torch.nn as nn

M = 512
N = 4096
K = 4096
GROUP = 128


class Model(nn.Module):
    """Linear layer with 4-bit weights (eight to an int32 along K), a scale and a zero point per group of K."""

    def __init__(self, k, n, group):
        super().__init__()
        self.k, self.n, self.group = k, n, group
        self.register_buffer("qweight", torch.randint(-2**31, 2**31 - 1, (k // 8, n), dtype=torch.int64).to(torch.int32))
        self.register_buffer("scales", (torch.rand(k // group, n) * 0.01 + 0.002).half())
        self.register_buffer("zeros", torch.randint(6, 10, (k // group, n), dtype=torch.uint8))
        self.bias = nn.Parameter(torch.randn(n).half())

    def forward(self, x):
        shifts = torch.arange(8, device=x.device, dtype=torch.int32) * 4
        q = (self.qweight[:, None, :] >> shifts[None, :, None]) & 15
        q = q.reshape(self.k, self.n).float()
        s = self.scales.float().repeat_interleave(self.group, 0)
        z = self.zeros.float().repeat_interleave(self.group, 0)
        return (x.float() @ ((q - z) * s) + self.bias.float()).to(x.dtype)


def get_inputs():
    return [torch.randn(M, K).half()]


def get_init_inputs():
    return [K, N, GROUP]
