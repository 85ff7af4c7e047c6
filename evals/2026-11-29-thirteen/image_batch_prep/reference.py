import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
HEIGHT = 480
WIDTH = 640
SIZE = 224


class Model(nn.Module):
    """Decode-side augmentation: resize, random flip, contrast jitter, normalise to half."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]))

    def forward(self, images, flip, contrast):
        x = images.permute(0, 3, 1, 2).float() / 255.0
        x = F.interpolate(x, size=(self.size, self.size), mode="bilinear", align_corners=False)
        gray = 0.299 * x[:, 0] + 0.587 * x[:, 1] + 0.114 * x[:, 2]
        level = gray.mean(dim=(1, 2))[:, None, None, None]
        x = ((x - level) * contrast[:, None, None, None] + level).clamp(0.0, 1.0)
        x = torch.where(flip[:, None, None, None] != 0, x.flip(3), x)
        x = (x - self.mean[None, :, None, None]) / self.std[None, :, None, None]
        return x.half()


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images = torch.randint(0, 256, (BATCH, HEIGHT, WIDTH, 3), device=device, dtype=torch.uint8)
    flip = torch.randint(0, 2, (BATCH,), device=device, dtype=torch.int32)
    contrast = 0.6 + 0.8 * torch.rand(BATCH, device=device)
    return [images, flip, contrast]


def get_init_inputs():
    return [SIZE]
