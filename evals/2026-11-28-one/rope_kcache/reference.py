import torch
import torch.nn as nn

BATCH = 2
SEQ = 4096
KV_HEADS = 8
HEAD_DIM = 128


class Model(nn.Module):
    """Rotate keys (half-split RoPE) and lay them out as (batch, head, dim, seq) for the decode kernel's cache."""

    def __init__(self):
        super().__init__()

    def forward(self, k, cos, sin):
        half = k.shape[-1] // 2
        kf = k.float()
        k1, k2 = kf[..., :half], kf[..., half:]
        c = cos[None, :, None, :]
        s = sin[None, :, None, :]
        rot = torch.cat([k1 * c - k2 * s, k2 * c + k1 * s], dim=-1)
        return rot.to(k.dtype).permute(0, 2, 3, 1).contiguous()


def get_inputs():
    half = HEAD_DIM // 2
    k = torch.randn(BATCH, SEQ, KV_HEADS, HEAD_DIM).half()
    freq = 10000.0 ** (-torch.arange(half).float() / half)
    ang = torch.arange(SEQ).float()[:, None] * freq[None, :]
    return [k, ang.cos().contiguous(), ang.sin().contiguous()]


def get_init_inputs():
    return []
