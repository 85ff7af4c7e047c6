"""Decoder output (NV12, BT.709 limited range) to normalized planar float16 RGB, as fed to a detection network."""
import torch
import torch.nn as nn

BATCH = 8
HEIGHT = 2160
WIDTH = 3840


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]))

    def forward(self, luma, chroma):
        b, h, w = luma.shape
        y = (luma.float() - 16.0) * (1.0 / 219.0)
        uv = (chroma.float() - 128.0) * (1.0 / 224.0)
        uv = uv.reshape(b, h // 2, 1, w // 2, 1, 2).expand(b, h // 2, 2, w // 2, 2, 2).reshape(b, h, w, 2)
        u, v = uv[..., 0], uv[..., 1]
        rgb = torch.stack([y + 1.5748 * v, y - 0.1873 * u - 0.4681 * v, y + 1.8556 * u], dim=1).clamp(0.0, 1.0)
        return ((rgb - self.mean[None, :, None, None]) / self.std[None, :, None, None]).half()


def get_inputs():
    luma = torch.randint(16, 236, (BATCH, HEIGHT, WIDTH), dtype=torch.uint8)
    chroma = torch.randint(16, 241, (BATCH, HEIGHT // 2, WIDTH), dtype=torch.uint8)
    return [luma, chroma]


def get_init_inputs():
    return []
