import torch
import torch.nn as nn

BATCH = 128
JOINTS = 16
HM = 64
WM = 64


class Model(nn.Module):
    """Pose estimation post-processing: soft-argmax of bf16 heat maps, temperature per joint, plus the expected sub-pixel offset from two offset maps."""

    def __init__(self, joints):
        super().__init__()
        self.beta = nn.Parameter(torch.linspace(0.8, 1.6, joints))

    def forward(self, heat, offset):
        # heat: (B, K, H, W); offset: (B, K, 2, H, W), x then y
        b, k, h, w = heat.shape
        p = torch.softmax((heat.float() * self.beta[None, :, None, None]).flatten(2), -1).view(b, k, h, w)
        xs = torch.arange(w, device=heat.device, dtype=torch.float32)
        ys = torch.arange(h, device=heat.device, dtype=torch.float32)
        x = (p.sum(2) * xs).sum(-1) + (p * offset[:, :, 0].float()).sum((2, 3))
        y = (p.sum(3) * ys).sum(-1) + (p * offset[:, :, 1].float()).sum((2, 3))
        return torch.stack([x, y], -1), p.flatten(2).amax(-1)


def get_inputs():
    heat = torch.randn(BATCH, JOINTS, HM, WM)
    heat[:, :, HM // 3, WM // 2] += 9.0
    offset = torch.randn(BATCH, JOINTS, 2, HM, WM)
    return [heat.bfloat16(), offset.bfloat16()]


def get_init_inputs():
    return [JOINTS]
