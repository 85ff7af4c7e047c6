"""Time-decayed click-through rate: for each request time, smoothed CTR over the user's earlier events, power-law decay, several time scales."""
import torch
import torch.nn as nn

B = 64
H = 8
Q = 512
L = 2048
PRIOR = 2.0


class Model(nn.Module):
    def __init__(self, heads, prior):
        super().__init__()
        self.prior = prior
        self.log_tau = nn.Parameter(torch.linspace(6.0, 13.0, heads))
        self.power = nn.Parameter(torch.linspace(0.7, 1.6, heads))

    def forward(self, request_ts, event_ts, clicked):
        tau = self.log_tau.double().exp()
        outs = []
        for h in range(tau.shape[0]):
            dt = request_ts[:, :, None] - event_ts[:, None, :]
            k = (1.0 + dt.clamp(min=0.0) / tau[h]) ** (-self.power[h].double())
            k = k.masked_fill(dt <= 0, 0.0)
            num = torch.einsum("bql,bl->bq", k, clicked.double())
            outs.append(num / (k.sum(-1) + self.prior))
        return torch.stack(outs, 1).float()


def get_inputs():
    start = 1.7e9
    month = 30 * 86400.0
    request_ts = start + month * torch.rand(B, Q, dtype=torch.float64)
    event_ts = (start + month * torch.rand(B, L, dtype=torch.float64)).sort(dim=1).values
    clicked = (torch.rand(B, L) < 0.2).to(torch.int8)
    return [request_ts, event_ts, clicked]


def get_init_inputs():
    return [H, PRIOR]
