import torch
import torch.nn as nn

B = 32
H = 128
T = 4096
DC = 512
DR = 64


class Model(nn.Module):
    """Decode step of latent attention: every head attends to one compressed KV stream per sequence."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, q_lat, q_pe, cache, lens):
        b, h, dc = q_lat.shape
        c = cache[..., :dc].float()
        pe = cache[..., dc:].float()
        s = torch.einsum("bhd,btd->bht", q_lat.float(), c)
        s = s + torch.einsum("bhr,btr->bht", q_pe.float(), pe)
        s = s * self.scale
        pos = torch.arange(cache.shape[1], device=cache.device)
        s = s.masked_fill(pos[None, None, :] >= lens[:, None, None], float("-inf"))
        p = torch.softmax(s, dim=-1)
        return torch.einsum("bht,btd->bhd", p, c).to(q_lat.dtype)


def get_inputs():
    return [
        torch.randn(B, H, DC).to(torch.bfloat16),
        torch.randn(B, H, DR).to(torch.bfloat16),
        torch.randn(B, T, DC + DR).to(torch.bfloat16),
        torch.randint(T // 2, T + 1, (B,), dtype=torch.int32),
    ]


def get_init_inputs():
    return [192 ** -0.5]
