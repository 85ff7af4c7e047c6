import torch
import torch.nn as nn

BATCH = 8
SEQ = 4096
HEADS = 16
HEAD_DIM = 128


class Model(nn.Module):
    """Rotary embedding (halves, not pairs) of queries [batch, seq, heads, dim]; cos and sin come as [seq, dim / 2]."""

    def forward(self, q, cos, sin):
        half = q.shape[-1] // 2
        a, b = q[..., :half], q[..., half:]
        c, s = cos[None, :, None, :].to(q.dtype), sin[None, :, None, :].to(q.dtype)
        return torch.cat((a * c - b * s, b * c + a * s), dim=-1)


def get_inputs():
    pos = torch.arange(SEQ, dtype=torch.float32)[:, None]
    freq = 10000.0 ** (-torch.arange(0, HEAD_DIM // 2, dtype=torch.float32) * 2.0 / HEAD_DIM)[None, :]
    q = torch.randn(BATCH, SEQ, HEADS, HEAD_DIM, dtype=torch.float16)
    return [q, torch.cos(pos * freq), torch.sin(pos * freq)]


def get_init_inputs():
    return []
