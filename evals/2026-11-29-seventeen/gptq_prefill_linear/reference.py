import torch
import torch.nn as nn

M = 8192
K = 2048
N = 2048
GROUP = 128


class Model(nn.Module):
    """4-bit GPTQ linear layer for long prompts: y = x @ ((q - z) * s)."""

    def __init__(self, group_size):
        super().__init__()
        self.group_size = group_size

    def forward(self, x, qweight, qzeros, scales):
        # x: [M, K]; qweight: [K // 8, N]; qzeros: [K // group, N // 8]; scales: [K // group, N]
        shifts = torch.arange(0, 32, 4, device=x.device, dtype=torch.int32)
        q = (qweight[:, None, :] >> shifts[None, :, None]) & 15
        q = q.reshape(-1, qweight.shape[1])
        z = ((qzeros[:, :, None] >> shifts) & 15).reshape(scales.shape)
        z = z.repeat_interleave(self.group_size, dim=0)
        s = scales.repeat_interleave(self.group_size, dim=0)
        w = (q - z).to(x.dtype) * s
        return torch.matmul(x, w)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(M, K, device=device).half()
    lo, hi = -(2 ** 31), 2 ** 31 - 1
    qweight = torch.randint(lo, hi, (K // 8, N), device=device, dtype=torch.int32)
    qzeros = torch.randint(lo, hi, (K // GROUP, N // 8), device=device, dtype=torch.int32)
    scales = (0.002 + 0.004 * torch.rand(K // GROUP, N, device=device)).half()
    return [x, qweight, qzeros, scales]


def get_init_inputs():
    return [GROUP]
