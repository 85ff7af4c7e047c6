"""Per-head RMSNorm of q and k followed by rotary embedding, from a packed QKV projection (Qwen3 / DiT style)."""
import torch
import torch.nn as nn

BATCH = 4
SEQ = 4096
HEADS = 32
KV_HEADS = 8
HEAD_DIM = 128


class Model(nn.Module):
    def __init__(self, heads, kv_heads, head_dim, max_seq, theta=10000.0, eps=1e-6):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim, self.eps = heads, kv_heads, head_dim, eps
        self.q_weight = nn.Parameter(1.0 + 0.1 * torch.randn(head_dim))
        self.k_weight = nn.Parameter(1.0 + 0.1 * torch.randn(head_dim))
        inv_freq = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        angle = torch.arange(max_seq, dtype=torch.float64)[:, None] * inv_freq[None, :]
        self.register_buffer("cos", angle.cos().float())
        self.register_buffer("sin", angle.sin().float())

    def _norm_rope(self, x, weight):
        s = x.shape[1]
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * weight
        a, b = x.chunk(2, -1)
        cos, sin = self.cos[:s, None, :], self.sin[:s, None, :]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(self, qkv):
        b, s, _ = qkv.shape
        x = qkv.view(b, s, self.heads + 2 * self.kv_heads, self.head_dim)
        q, k, v = x.split([self.heads, self.kv_heads, self.kv_heads], dim=2)
        return self._norm_rope(q, self.q_weight).to(qkv.dtype), self._norm_rope(k, self.k_weight).to(qkv.dtype), v


def get_inputs():
    return [torch.randn(BATCH, SEQ, (HEADS + 2 * KV_HEADS) * HEAD_DIM).bfloat16()]


def get_init_inputs():
    return [HEADS, KV_HEADS, HEAD_DIM, SEQ]
