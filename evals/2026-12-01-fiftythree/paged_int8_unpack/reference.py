import torch
import torch.nn as nn

B = 32
NB = 512
S = 16
H = 8
D = 128
PAGES = 20000


class Model(nn.Module):
    """Unpacks an int8 paged cache into a contiguous half-precision tensor for chunked prefill."""

    def __init__(self):
        super().__init__()

    def forward(self, pages, scales, table):
        b, nb = table.shape
        _, s, h, d = pages.shape
        q = pages[table].to(torch.float16)
        sc = scales[table]
        return (q * sc[..., None]).view(b, nb * s, h, d)


def get_inputs():
    return [
        torch.randint(-127, 128, (PAGES, S, H, D), dtype=torch.int8),
        (torch.rand(PAGES, S, H) * 0.02 + 0.005).to(torch.float16),
        torch.randint(0, PAGES, (B, NB)),
    ]


def get_init_inputs():
    return []
