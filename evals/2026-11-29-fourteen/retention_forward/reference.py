import torch
import torch.nn as nn

BATCH = 4
HEADS = 8
SEQ = 2048
KEY_DIM = 64
VALUE_DIM = 128


class Model(nn.Module):
    """Retention (linear attention with a fixed per-head decay), parallel form."""

    def __init__(self, heads):
        super().__init__()
        self.register_buffer("log2_decay", torch.log2(1.0 - 2.0 ** (-4.0 - torch.arange(heads) % 4)))

    def forward(self, q, k, v):
        t = q.shape[2]
        i = torch.arange(t, device=q.device)
        dist = (i[:, None] - i[None, :]).float()
        decay = torch.exp2(dist.clamp(min=0) * self.log2_decay[:, None, None])
        decay = decay * (dist >= 0)
        scores = (q.float() @ k.float().transpose(-1, -2)) * (q.shape[-1] ** -0.5)
        return ((scores * decay) @ v.float()).to(v.dtype)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randn(BATCH, HEADS, SEQ, KEY_DIM, dtype=torch.float16, device=device)
    k = torch.randn(BATCH, HEADS, SEQ, KEY_DIM, dtype=torch.float16, device=device)
    v = torch.randn(BATCH, HEADS, SEQ, VALUE_DIM, dtype=torch.float16, device=device)
    return [q, k, v]


def get_init_inputs():
    return [HEADS]
