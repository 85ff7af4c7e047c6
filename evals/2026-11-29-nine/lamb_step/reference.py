import torch
import torch.nn as nn

LAYERS = 96
NUMEL = 262144
LR = 1e-3
WEIGHT_DECAY = 0.01


class Model(nn.Module):
    """One LAMB step over LAYERS parameter tensors of NUMEL elements each (stored as one stacked tensor)."""

    def __init__(self, lr, weight_decay, beta1=0.9, beta2=0.999, eps=1e-6, step=10):
        super().__init__()
        self.lr, self.weight_decay = lr, weight_decay
        self.beta1, self.beta2, self.eps, self.step = beta1, beta2, eps, step

    def forward(self, params, grads, exp_avg, exp_avg_sq):
        m = exp_avg * self.beta1 + grads * (1 - self.beta1)
        v = exp_avg_sq * self.beta2 + grads * grads * (1 - self.beta2)
        m_hat = m / (1 - self.beta1 ** self.step)
        v_hat = v / (1 - self.beta2 ** self.step)
        update = m_hat / (v_hat.sqrt() + self.eps) + self.weight_decay * params
        w_norm = params.norm(dim=1, keepdim=True)
        u_norm = update.norm(dim=1, keepdim=True)
        ratio = torch.where((w_norm > 0) & (u_norm > 0), w_norm / u_norm, torch.ones_like(w_norm))
        return params - self.lr * ratio * update, m, v


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    params = torch.randn(LAYERS, NUMEL, device=device) * 0.05
    grads = torch.randn(LAYERS, NUMEL, device=device) * 0.01
    exp_avg = torch.randn(LAYERS, NUMEL, device=device) * 0.01
    exp_avg_sq = torch.rand(LAYERS, NUMEL, device=device) * 1e-4
    return [params, grads, exp_avg, exp_avg_sq]


def get_init_inputs():
    return [LR, WEIGHT_DECAY]
