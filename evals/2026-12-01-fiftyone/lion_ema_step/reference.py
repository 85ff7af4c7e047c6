import torch
import torch.nn as nn

P = 16777216


class Model(nn.Module):
    """Lion step on float32 master weights with bfloat16 gradients and momentum, a bfloat16 copy and an EMA."""

    def __init__(self, lr, beta1, beta2, wd, decay):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.wd, self.decay = lr, beta1, beta2, wd, decay

    def forward(self, p, g, m, ema):
        gf, mf = g.float(), m.float()
        step = torch.sign(self.beta1 * mf + (1.0 - self.beta1) * gf)
        new = p * (1.0 - self.lr * self.wd) - self.lr * step
        mom = (self.beta2 * mf + (1.0 - self.beta2) * gf).to(torch.bfloat16)
        return new, new.to(torch.bfloat16), mom, self.decay * ema + (1.0 - self.decay) * new


def get_inputs():
    return [torch.randn(P), torch.randn(P).bfloat16(), torch.randn(P).bfloat16(), torch.randn(P)]


def get_init_inputs():
    return [1e-4, 0.9, 0.99, 0.1, 0.999]
