import torch
import torch.nn as nn

N = 134217728
QBLOCK = 256


class Model(nn.Module):
    """One Lion step with block-wise int8 momentum; returns new weights, momentum codes and block scales."""

    def __init__(self, n, qblock, beta1=0.9, beta2=0.99, weight_decay=0.1):
        super().__init__()
        nb = (n + qblock - 1) // qblock
        self.qblock, self.beta1, self.beta2, self.wd = qblock, beta1, beta2, weight_decay
        self.weight = nn.Parameter(torch.randn(n).bfloat16())
        self.register_buffer("codes", torch.randint(-127, 128, (n,), dtype=torch.int8))
        self.register_buffer("absmax", 0.5 + torch.rand(nb))

    def forward(self, grad, lr):
        n, qb, nb = self.weight.numel(), self.qblock, self.absmax.numel()
        m = self.codes.float() * (self.absmax.repeat_interleave(qb)[:n] / 127.0)
        g = grad.float()
        upd = torch.sign(self.beta1 * m + (1.0 - self.beta1) * g)
        w = (self.weight.float() * (1.0 - lr * self.wd) - lr * upd).to(self.weight.dtype)
        m = self.beta2 * m + (1.0 - self.beta2) * g
        pad = torch.zeros(nb * qb, device=m.device)
        pad[:n] = m
        pad = pad.view(nb, qb)
        absmax = pad.abs().amax(1)
        inv = 127.0 / absmax.clamp(min=1e-20)
        codes = torch.floor(pad * inv[:, None] + 0.5).to(torch.int8).view(-1)[:n]
        return w, codes, absmax


def get_inputs():
    return [torch.randn(N).bfloat16(), 1e-3]


def get_init_inputs():
    return [N, QBLOCK]
