import torch
import torch.nn as nn

PARAMS = 40000000
LR = 0.0003
BETA1 = 0.9
BETA2 = 0.95
EPS = 1e-8
WEIGHT_DECAY = 0.1


class Model(nn.Module):
    """AdamW step on fp32 master weights with fp16 gradients; also returns the fp16 working copy."""

    def __init__(self, lr, beta1, beta2, eps, weight_decay):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.eps, self.weight_decay = lr, beta1, beta2, eps, weight_decay

    def forward(self, master, grad, exp_avg, exp_avg_sq, step):
        g = grad.float()
        m = self.beta1 * exp_avg + (1 - self.beta1) * g
        v = self.beta2 * exp_avg_sq + (1 - self.beta2) * g * g
        m_hat = m / (1 - self.beta1 ** step)
        v_hat = v / (1 - self.beta2 ** step)
        p = master * (1 - self.lr * self.weight_decay) - self.lr * m_hat / (v_hat.sqrt() + self.eps)
        return p, m, v, p.half()


def get_inputs():
    master = torch.randn(PARAMS)
    grad = torch.randn(PARAMS).half()
    exp_avg = torch.randn(PARAMS) * 0.1
    exp_avg_sq = torch.rand(PARAMS) + 0.1
    return [master, grad, exp_avg, exp_avg_sq, torch.tensor([37.0])]


def get_init_inputs():
    return [LR, BETA1, BETA2, EPS, WEIGHT_DECAY]
