import torch
import torch.nn as nn

B = 2048
L = 512
D = 256


class Model(nn.Module):
    """Jagged sequences to a padded batch, with a learned position embedding added to real tokens."""

    def __init__(self, max_len, dim):
        super().__init__()
        self.pos = nn.Parameter((torch.randn(max_len, dim) * 0.02).to(torch.bfloat16))

    def forward(self, values, offsets):
        max_len = self.pos.shape[0]
        length = (offsets[1:] - offsets[:-1]).clamp(max=max_len)
        t = torch.arange(max_len, device=values.device)
        row = (offsets[:-1, None] + t[None, :]).clamp(max=values.shape[0] - 1)
        real = t[None, :] < length[:, None]
        return torch.where(real[:, :, None], values[row] + self.pos[None], 0.0).to(torch.bfloat16)


def get_inputs():
    lens = torch.randint(1, L + 1, (B,))
    lens[0] = L + 3  # one too long: cut
    offsets = torch.zeros(B + 1, dtype=torch.int64)
    offsets[1:] = lens.cumsum(0)
    return [torch.randn(int(offsets[-1]), D).to(torch.bfloat16), offsets]


def get_init_inputs():
    return [L, D]
