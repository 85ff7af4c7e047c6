import torch
import torch.nn as nn

B = 2
T = 2048
H = 32
N = 64
P = 64


class Model(nn.Module):
    """Prefill of a state-space layer with a scalar decay per head and step:
    S_t = a_t S_(t-1) + k_t v_t^T, o_t = q_t S_t + D v_t. Returns the outputs and the last state."""

    def __init__(self, h, n, p):
        super().__init__()
        self.h, self.n, self.p = h, n, p
        self.skip = nn.Parameter(torch.randn(h))

    def forward(self, q, k, v, log_a):
        b, t, h, n = q.shape
        qf, kf, vf, a = q.float(), k.float(), v.float(), log_a.exp()
        state = torch.zeros(b, h, n, v.shape[-1], device=q.device)
        outs = []
        for i in range(t):
            state = state * a[:, i, :, None, None] + kf[:, i, :, :, None] * vf[:, i, :, None, :]
            outs.append((qf[:, i, :, :, None] * state).sum(2))
        o = torch.stack(outs, 1) + self.skip[None, None, :, None] * vf
        return o.to(q.dtype), state


def get_inputs():
    q = (torch.randn(B, T, H, N) * N ** -0.5).half()
    k = (torch.randn(B, T, H, N) * N ** -0.5).half()
    v = torch.randn(B, T, H, P).half()
    log_a = -torch.rand(B, T, H) * 0.2
    return [q, k, v, log_a]


def get_init_inputs():
    return [H, N, P]
