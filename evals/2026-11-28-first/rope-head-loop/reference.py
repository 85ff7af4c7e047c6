import torch
import torch.nn as nn

SEQ = 4096
HEADS = 32
HEAD = 128


class Model(nn.Module):
    """Rotary embedding, half-split form: q [seq, heads, channels], cos and sin [seq, channels / 2]."""

    def forward(self, q, cos, sin):
        a, b = q.float().chunk(2, dim=-1)
        c, s = cos[:, None, :], sin[:, None, :]
        return torch.cat((a * c - b * s, b * c + a * s), dim=-1).to(q.dtype)


def get_inputs():
    angle = torch.rand(SEQ, HEAD // 2) * 6.0
    return [torch.randn(SEQ, HEADS, HEAD).half(), angle.cos(), angle.sin()]


def get_init_inputs():
    return []
