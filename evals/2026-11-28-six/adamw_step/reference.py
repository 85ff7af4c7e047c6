import torch
import torch.nn as nn

NUMEL = 6000000
STEP = 10
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """One AdamW update with fp16 gradients and fp32 master weights and state."""

    def __init__(self, step):
        super().__init__()
        self.step = step
        self.lr, self.beta1, self.beta2, self.eps, self.wd = 1e-3, 0.9, 0.95, 1e-8, 0.1

    def forward(self, param, grad, exp_avg, exp_avg_sq):
        g = grad.float()
        m = self.beta1 * exp_avg + (1 - self.beta1) * g
        v = self.beta2 * exp_avg_sq + (1 - self.beta2) * g * g
        mhat = m / (1 - self.beta1 ** self.step)
        vhat = v / (1 - self.beta2 ** self.step)
        p = param * (1 - self.lr * self.wd) - self.lr * mhat / (vhat.sqrt() + self.eps)
        return p, m, v, p.half()


def get_inputs():
    p = torch.randn(NUMEL, device=DEVICE)
    g = torch.randn(NUMEL, device=DEVICE, dtype=torch.float16)
    m = torch.randn(NUMEL, device=DEVICE) * 0.1
    v = torch.rand(NUMEL, device=DEVICE) + 0.1
    return [p, g, m, v]


def get_init_inputs():
    return [STEP]
