import torch
import torch.nn as nn

BATCH = 128
ROWS = 64
COLS = 64
ITERS = 20
EPS = 0.1


class Model(nn.Module):
    """Entropic optimal transport between uniform marginals (log domain Sinkhorn)."""

    def __init__(self, iters, eps):
        super().__init__()
        self.iters = iters
        self.eps = eps

    def forward(self, cost):
        b, n, m = cost.shape
        logk = -cost / self.eps
        f = torch.zeros(b, n, device=cost.device, dtype=cost.dtype)
        g = torch.zeros(b, m, device=cost.device, dtype=cost.dtype)
        for _ in range(self.iters):
            f = -torch.logsumexp(logk + g[:, None, :], dim=2)
            g = -torch.logsumexp(logk + f[:, :, None], dim=1)
        return torch.exp(logk + f[:, :, None] + g[:, None, :])


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.rand(BATCH, ROWS, COLS, device=device)]


def get_init_inputs():
    return [ITERS, EPS]
