import torch
import torch.nn as nn

TOKENS = 16384
ADAPTERS = 64
HIDDEN = 4096
OUT = 4096
RANK = 16


class Model(nn.Module):
    """Adds the low-rank update of each request's adapter; tokens are sorted by adapter."""

    def __init__(self, adapters, hidden, out, rank):
        super().__init__()
        self.lora_a = nn.Parameter((torch.randn(adapters, rank, hidden) * 0.02).half())
        self.lora_b = nn.Parameter((torch.randn(adapters, out, rank) * 0.1).half())
        self.scaling = 2.0

    def forward(self, x, base, seg_offsets):
        y = base.clone()
        bounds = seg_offsets.tolist()
        for e in range(self.lora_a.shape[0]):
            s, t = bounds[e], bounds[e + 1]
            if t > s:
                h = (x[s:t].float() @ self.lora_a[e].float().t()).half()
                y[s:t] = (base[s:t].float() + self.scaling * (h.float() @ self.lora_b[e].float().t())).half()
        return y


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(TOKENS, HIDDEN, device=dev, dtype=torch.float16)
    base = torch.randn(TOKENS, OUT, device=dev, dtype=torch.float16)
    weight = torch.arange(ADAPTERS, dtype=torch.float64) % 5 + 1
    bounds = torch.zeros(ADAPTERS + 1, dtype=torch.float64)
    bounds[1:] = torch.cumsum(weight, 0) / weight.sum() * TOKENS
    return [x, base, bounds.round().to(torch.int32).to(dev)]


def get_init_inputs():
    return [ADAPTERS, HIDDEN, OUT, RANK]
