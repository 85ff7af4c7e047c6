import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 1024
FFN = 14336


class Model(nn.Module):
    """SwiGLU activation followed by dynamic per-token symmetric int8 quantisation."""

    def __init__(self):
        super().__init__()

    def forward(self, gate_up):
        g, u = gate_up.chunk(2, dim=-1)
        h = (F.silu(g.float()) * u.float()).to(gate_up.dtype).float()
        scale = h.abs().amax(dim=-1, keepdim=True).clamp_min(1e-5) / 127.0
        q = torch.clamp(torch.round(h / scale), -127, 127).to(torch.int8)
        return q, scale


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(TOKENS, 2 * FFN, device=device, dtype=torch.float16)]


def get_init_inputs():
    return []
