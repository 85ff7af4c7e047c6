"""Rotary embedding (half-split) of q and k for packed sequences: the position restarts at each document."""
import torch
import torch.nn as nn

T = 32768         # packed tokens
DOCS = 64         # documents in the pack
HQ = 32           # query heads
HK = 8            # key heads
D = 128           # head dimension
MAX_POS = 2048    # longest document


class Model(nn.Module):
    def __init__(self, d=D, max_pos=MAX_POS, base=10000.0):
        super().__init__()
        inv = base ** (-torch.arange(0, d, 2).float() / d)
        ang = torch.arange(max_pos).float()[:, None] * inv[None, :]
        self.register_buffer("cos", ang.cos())
        self.register_buffer("sin", ang.sin())

    def forward(self, q, k, cu_seqlens):
        t = torch.arange(q.shape[0], device=q.device, dtype=cu_seqlens.dtype)
        doc = torch.searchsorted(cu_seqlens, t, right=True) - 1
        pos = (t - cu_seqlens[doc]).long()
        cos, sin = self.cos[pos][:, None, :], self.sin[pos][:, None, :]

        def rotate(x):
            a, b = x.float().chunk(2, dim=-1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)

        return rotate(q), rotate(k)


def get_inputs():
    step = T // DOCS
    cuts = torch.arange(DOCS) * step
    cuts[1:] += torch.randint(0, step, (DOCS - 1,))
    cu = torch.cat([cuts, torch.tensor([T])]).to(torch.int32)
    return [torch.randn(T, HQ, D).to(torch.bfloat16), torch.randn(T, HK, D).to(torch.bfloat16), cu]


def get_init_inputs():
    return [D, MAX_POS]
