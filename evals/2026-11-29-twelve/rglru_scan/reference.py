import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
SEQ = 4096
WIDTH = 2560
C = 8.0


class Model(nn.Module):
    """Real-gated linear recurrent unit (Griffin)."""

    def __init__(self, width, c):
        super().__init__()
        self.c = c
        self.a_param = nn.Parameter(torch.linspace(-4.0, 1.0, width))

    def forward(self, x, r, i):
        log_a = -self.c * F.softplus(self.a_param) * torch.sigmoid(r)
        a = torch.exp(log_a)
        u = torch.sqrt(1.0 - a * a) * torch.sigmoid(i) * x
        h = torch.zeros_like(x[:, 0])
        outs = []
        for t in range(x.shape[1]):
            h = a[:, t] * h + u[:, t]
            outs.append(h)
        return torch.stack(outs, dim=1)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(BATCH, SEQ, WIDTH, device=device)
    r = torch.randn(BATCH, SEQ, WIDTH, device=device)
    i = torch.randn(BATCH, SEQ, WIDTH, device=device)
    return [x, r, i]


def get_init_inputs():
    return [WIDTH, C]
