import torch
import torch.nn as nn

BATCH = 8
HEIGHT = 112
WIDTH = 112
CHANNELS = 96


class Model(nn.Module):
    """Patch merging of a hierarchical vision transformer: 2x2 neighbours are joined and normalised."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(4 * channels, dtype=torch.float16)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.5, 0.5)

    def forward(self, x):
        x0 = x[:, 0::2, 0::2, :]
        x1 = x[:, 1::2, 0::2, :]
        x2 = x[:, 0::2, 1::2, :]
        x3 = x[:, 1::2, 1::2, :]
        return self.norm(torch.cat([x0, x1, x2, x3], dim=-1))


def get_inputs():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return [torch.randn(BATCH, HEIGHT, WIDTH, CHANNELS, device=device, dtype=torch.float16)]


def get_init_inputs():
    return [CHANNELS]
