import torch
import torch.nn as nn

BATCH = 128
HEIGHT = 512
WIDTH = 512


class Model(nn.Module):
    """Decoded uint8 HWC images to normalised float CHW."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]))

    def forward(self, images):
        x = images.permute(0, 3, 1, 2).float() / 255.0
        x = (x - self.mean.view(1, 3, 1, 1)) / self.std.view(1, 3, 1, 1)
        return x.contiguous()


def get_inputs():
    return [torch.randint(0, 256, (BATCH, HEIGHT, WIDTH, 3), dtype=torch.uint8)]


def get_init_inputs():
    return []
