import torch
import torch.nn as nn

Q = 16        # queries
N = 524288    # gallery
D = 256


class Model(nn.Module):
    """Best match in a gallery for each of a few queries: its score and its index."""

    def __init__(self):
        super().__init__()

    def forward(self, q, gallery):
        s = q.float() @ gallery.float().t()
        best, idx = s.max(1)
        return best, idx


def get_inputs():
    return [torch.randn(Q, D).half(), torch.randn(N, D).half()]


def get_init_inputs():
    return []
