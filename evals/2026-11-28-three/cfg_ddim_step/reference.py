import torch
import torch.nn as nn

BATCH = 32
CHANNELS = 16
HEIGHT = 256
WIDTH = 256
GUIDANCE = 4.0
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """One DDIM update with classifier-free guidance and clipped x0."""

    def __init__(self, guidance, clip=1.0):
        super().__init__()
        self.guidance = guidance
        self.clip = clip

    def forward(self, x, eps_uncond, eps_cond, alpha_t, alpha_prev):
        a = alpha_t.view(-1, 1, 1, 1)
        ap = alpha_prev.view(-1, 1, 1, 1)
        eps = eps_uncond + self.guidance * (eps_cond - eps_uncond)
        x0 = (x - torch.sqrt(1 - a) * eps) / torch.sqrt(a)
        x0 = x0.clamp(-self.clip, self.clip)
        eps = (x - torch.sqrt(a) * x0) / torch.sqrt(1 - a)
        return torch.sqrt(ap) * x0 + torch.sqrt(1 - ap) * eps


def get_inputs():
    shape = (BATCH, CHANNELS, HEIGHT, WIDTH)
    x = torch.randn(shape, device=DEVICE)
    eu = torch.randn(shape, device=DEVICE)
    ec = torch.randn(shape, device=DEVICE)
    a = torch.rand(BATCH, device=DEVICE) * 0.5 + 0.2
    ap = a + 0.1
    return [x, eu, ec, a, ap]


def get_init_inputs():
    return [GUIDANCE]
