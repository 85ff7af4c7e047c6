import torch
import torch.nn as nn

BATCH = 8
SEQ = 4096
Q_HEADS = 32
KV_HEADS = 8
HEAD_DIM = 128
MAX_POS = 8192
THETA = 10000.0


class Model(nn.Module):
    """Rotary embedding (half-split layout) for grouped-query attention with cached tables."""

    def __init__(self, head_dim, max_pos, theta):
        super().__init__()
        inv = theta ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        ang = torch.arange(max_pos).float()[:, None] * inv[None, :]
        self.register_buffer("cos_table", ang.cos())
        self.register_buffer("sin_table", ang.sin())

    @staticmethod
    def rotate(x, cos, sin):
        x1, x2 = x.float().chunk(2, dim=-1)
        return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1).to(x.dtype)

    def forward(self, q, k, position_ids):
        cos = self.cos_table[position_ids].unsqueeze(2)
        sin = self.sin_table[position_ids].unsqueeze(2)
        return self.rotate(q, cos, sin), self.rotate(k, cos, sin)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randn(BATCH, SEQ, Q_HEADS, HEAD_DIM, device=device).half()
    k = torch.randn(BATCH, SEQ, KV_HEADS, HEAD_DIM, device=device).half()
    start = torch.arange(BATCH, device=device)[:, None] * 3
    position_ids = (torch.arange(SEQ, device=device)[None, :] + start) % MAX_POS
    return [q, k, position_ids]


def get_init_inputs():
    return [HEAD_DIM, MAX_POS, THETA]
