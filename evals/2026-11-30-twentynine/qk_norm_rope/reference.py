"""Qwen3 style preparation of Q and K from the packed QKV projection: RMSNorm of each head, then rotary embedding (half rotation)."""
import torch
import torch.nn as nn

T = 32768
HQ = 32
HKV = 8
D = 128
MAXPOS = 8192


class Model(nn.Module):
    def __init__(self, hq, hkv, d, max_pos, eps=1e-6):
        super().__init__()
        self.hq, self.hkv, self.d, self.eps = hq, hkv, d, eps
        self.q_weight = nn.Parameter((torch.rand(d) + 0.5).bfloat16(), requires_grad=False)
        self.k_weight = nn.Parameter((torch.rand(d) + 0.5).bfloat16(), requires_grad=False)
        freq = 1.0 / 1e6 ** (torch.arange(0, d, 2).float() / d)
        ang = torch.arange(max_pos).float()[:, None] * freq[None, :]
        self.register_buffer("cos_sin", torch.cat([ang.cos(), ang.sin()], dim=1))

    def norm_rope(self, x, w, pos):
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * w.float()
        cos, sin = self.cos_sin[pos][:, None, :].chunk(2, dim=-1)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).bfloat16()

    def forward(self, qkv, positions):
        x = qkv.view(qkv.shape[0], self.hq + 2 * self.hkv, self.d)
        q = self.norm_rope(x[:, :self.hq], self.q_weight, positions)
        k = self.norm_rope(x[:, self.hq:self.hq + self.hkv], self.k_weight, positions)
        return q, k


def get_inputs():
    qkv = torch.randn(T, (HQ + 2 * HKV) * D, dtype=torch.bfloat16)
    return [qkv, torch.randint(0, MAXPOS, (T,))]


def get_init_inputs():
    return [HQ, HKV, D, MAXPOS]
