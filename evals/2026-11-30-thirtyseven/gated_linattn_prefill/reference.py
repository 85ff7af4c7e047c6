import torch
import torch.nn as nn
import torch.nn.functional as F

B = 2
T = 128
H = 16
DK = 64
DV = 64


class Model(nn.Module):
    """Prefill of a gated linear-attention layer: S_t = a_t S_{t-1} + k_t v_t^T, o_t = q_t S_t, with one decay a_t
    for each head and token. Returns the outputs and the last state (for the decode steps that follow)."""

    def __init__(self, heads):
        super().__init__()
        self.gate_bias = nn.Parameter(torch.linspace(2.0, 5.0, heads))

    def forward(self, q, k, v, gate):
        log_a = F.logsigmoid(gate + self.gate_bias)                        # [B, T, H] float32
        q, k, v = (z.float().transpose(1, 2) for z in (q, k, v))           # [B, H, T, D]
        q = q * q.shape[-1] ** -0.5
        c = log_a.transpose(1, 2).cumsum(dim=2)                            # [B, H, T]
        t = torch.arange(c.shape[2], device=c.device)
        w = c[:, :, :, None] - c[:, :, None, :]
        w = w.masked_fill_(t[:, None] < t[None, :], float("-inf")).exp_()
        w = w.mul_(q @ k.transpose(2, 3))
        o = (w @ v).transpose(1, 2).to(torch.float16).contiguous()
        state = (k * torch.exp(c[:, :, -1:] - c)[..., None]).transpose(2, 3) @ v
        return o, state


def get_inputs():
    q = torch.randn(B, T, H, DK).to(torch.float16)
    k = torch.randn(B, T, H, DK).to(torch.float16)
    v = torch.randn(B, T, H, DV).to(torch.float16)
    gate = torch.randn(B, T, H)
    return [q, k, v, gate]


def get_init_inputs():
    return [H]
