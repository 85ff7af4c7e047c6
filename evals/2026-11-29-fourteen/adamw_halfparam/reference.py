import torch
import torch.nn as nn

NUMEL = 67108864
LR = 0.01
WEIGHT_DECAY = 0.1


class Model(nn.Module):
    """One AdamW step on a flat fp16 parameter with fp32 moments; returns the new state."""

    def __init__(self, lr, weight_decay):
        super().__init__()
        self.lr = lr
        self.weight_decay = weight_decay
        self.beta1 = 0.9
        self.beta2 = 0.95
        self.eps = 1e-8

    def forward(self, param, grad, exp_avg, exp_avg_sq, step, grad_norm):
        clip = torch.clamp(1.0 / (grad_norm + 1e-6), max=1.0)
        g = grad.float() * clip
        m = self.beta1 * exp_avg + (1 - self.beta1) * g
        v = self.beta2 * exp_avg_sq + (1 - self.beta2) * g * g
        t = step.float()
        m_hat = m / (1 - self.beta1 ** t)
        v_hat = v / (1 - self.beta2 ** t)
        p = param.float() * (1 - self.lr * self.weight_decay)
        p = p - self.lr * m_hat / (v_hat.sqrt() + self.eps)
        return p.to(param.dtype), m, v


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    param = torch.randn(NUMEL, device=device).half()
    grad = torch.randn(NUMEL, device=device).half()
    exp_avg = torch.randn(NUMEL, device=device) * 0.1
    exp_avg_sq = torch.rand(NUMEL, device=device) * 0.1 + 0.01
    step = torch.tensor([17], device=device, dtype=torch.int32)
    grad_norm = torch.tensor([2.5], device=device)
    return [param, grad, exp_avg, exp_avg_sq, step, grad_norm]


def get_init_inputs():
    return [LR, WEIGHT_DECAY]
