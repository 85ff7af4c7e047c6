import torch
import torch.nn as nn
import torch.nn.functional as F

B = 1
T = 512
H = 8
DK = 128
DV = 128


class Model(nn.Module):
    """Linear attention with a scalar data-dependent decay per head and step.

    S_t = exp(g_t) * S_{t-1} + k_t v_t^T,   o_t = scale * q_t S_t
    """

    def __init__(self):
        super().__init__()

    def forward(self, q, k, v, g):
        # q, k: [B, T, H, DK]; v: [B, T, H, DV]; g: [B, T, H]
        scale = q.shape[-1] ** -0.5
        t = q.shape[1]
        qf, kf, vf = (x.transpose(1, 2).float() for x in (q, k, v))
        G = g.transpose(1, 2).float().cumsum(-1)
        decay = G[..., :, None] - G[..., None, :]
        keep = torch.ones(t, t, dtype=torch.bool, device=q.device).tril()
        decay = decay.masked_fill(~keep, float("-inf")).exp()
        a = torch.matmul(qf * scale, kf.transpose(-1, -2)) * decay
        o = torch.matmul(a, vf).transpose(1, 2).contiguous().to(q.dtype)
        w = (G[..., -1:] - G).exp()
        state = torch.matmul((kf * w[..., None]).transpose(-1, -2), vf)
        return o, state


def get_inputs():
    q = torch.randn(B, T, H, DK).half()
    k = torch.randn(B, T, H, DK).half()
    v = torch.randn(B, T, H, DV).half()
    g = F.logsigmoid(torch.randn(B, T, H) + 3.0)
    return [q, k, v, g]


def get_init_inputs():
    return []
