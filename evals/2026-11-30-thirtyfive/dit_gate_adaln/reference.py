import torch
import torch.nn as nn
import torch.nn.functional as F

B = 32
T = 1024
D = 1152


class Model(nn.Module):
    """DiT block joint: x = x + gate * branch, then LayerNorm without affine, then modulate with shift and scale."""

    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, branch, mod):
        shift, scale, gate = (m.float() for m in mod.unbind(1))
        x = (x.float() + gate[:, None, :] * branch.float()).to(x.dtype)
        n = F.layer_norm(x.float(), (x.shape[-1],), eps=self.eps)
        y = n * (1.0 + scale[:, None, :]) + shift[:, None, :]
        return x, y.to(x.dtype)


def get_inputs():
    x = torch.randn(B, T, D).bfloat16()
    branch = torch.randn(B, T, D).bfloat16()
    mod = (0.3 * torch.randn(B, 3, D)).bfloat16()
    return [x, branch, mod]


def get_init_inputs():
    return []
