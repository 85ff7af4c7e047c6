"""One DPM-Solver++(2M) step with classifier-free guidance and clipping of the predicted sample."""
import math
import torch
import torch.nn as nn

B = 8
C = 16
F = 21
H = 120
W = 208
STEPS = 30
GUIDANCE = 5.0
CLIP = 3.0


class Model(nn.Module):
    def __init__(self, steps, guidance, clip):
        super().__init__()
        t = torch.linspace(0.98, 0.02, steps + 1)
        self.register_buffer("alpha", torch.cos(t * math.pi / 2))
        self.register_buffer("sigma", torch.sin(t * math.pi / 2))
        self.guidance, self.clip = guidance, clip

    def forward(self, sample, eps_uncond, eps_cond, x0_prev, step):
        lam = torch.log(self.alpha) - torch.log(self.sigma)
        h = lam[step + 1] - lam[step]
        r = (lam[step] - lam[step - 1]) / h
        u, c = eps_uncond.float(), eps_cond.float()
        eps = u + self.guidance * (c - u)
        x0 = ((sample - self.sigma[step] * eps) / self.alpha[step]).clamp(-self.clip, self.clip)
        d = (1 + 0.5 / r) * x0 - 0.5 / r * x0_prev
        nxt = self.sigma[step + 1] / self.sigma[step] * sample - self.alpha[step + 1] * torch.expm1(-h) * d
        return nxt, x0


def get_inputs():
    shape = (B, C, F, H, W)
    return [torch.randn(shape), torch.randn(shape, dtype=torch.float16), torch.randn(shape, dtype=torch.float16),
            torch.randn(shape).clamp(-CLIP, CLIP), 11]


def get_init_inputs():
    return [STEPS, GUIDANCE, CLIP]
