import math
import torch
import torch.nn as nn

B = 1
H = 8
T = 2048
D = 64
WINDOW = 256
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """Causal self-attention where each query sees only its last `window` keys."""

    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        t = q.shape[2]
        i = torch.arange(t, device=q.device)
        diff = i[:, None] - i[None, :]
        keep = (diff >= 0) & (diff < self.window)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def get_inputs():
    return [torch.randn(B, H, T, D, device=DEVICE, dtype=torch.float16) for _ in range(3)]


def get_init_inputs():
    return [WINDOW]
