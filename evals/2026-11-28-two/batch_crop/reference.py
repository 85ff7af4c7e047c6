import torch
import torch.nn as nn

BATCH = 8
HEIGHT = 256
WIDTH = 256
CROP = 224


class Model(nn.Module):
    """Per-image crop, optional horizontal flip and mean/std normalisation of uint8 images."""

    def __init__(self, crop):
        super().__init__()
        self.crop = crop
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]))

    def forward(self, images, top, left, flip):
        n = images.shape[0]
        ar = torch.arange(self.crop, device=images.device)
        rows = top[:, None] + ar[None, :]
        cols = left[:, None] + torch.where(flip[:, None] > 0, self.crop - 1 - ar[None, :], ar[None, :])
        b = torch.arange(n, device=images.device)[:, None, None, None]
        c = torch.arange(3, device=images.device)[None, :, None, None]
        x = images[b, c, rows[:, None, :, None], cols[:, None, None, :]].float() / 255.0
        return (x - self.mean[None, :, None, None]) / self.std[None, :, None, None]


def get_inputs():
    images = torch.randint(0, 256, (BATCH, 3, HEIGHT, WIDTH), dtype=torch.uint8)
    top = torch.randint(0, HEIGHT - CROP + 1, (BATCH,), dtype=torch.int32)
    left = torch.randint(0, WIDTH - CROP + 1, (BATCH,), dtype=torch.int32)
    flip = torch.randint(0, 2, (BATCH,), dtype=torch.int32)
    return [images, top, left, flip]


def get_init_inputs():
    return [CROP]
