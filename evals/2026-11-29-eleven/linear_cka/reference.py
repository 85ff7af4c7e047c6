import torch
import torch.nn as nn

N = 6144
D = 128


class Model(nn.Module):
    """Linear CKA similarity of two sets of (already centred) features of the same N examples."""

    def forward(self, x, y):
        x = x.float()
        y = y.float()
        k = x @ x.t()
        l = y @ y.t()
        return (k * l).sum() / torch.sqrt((k * k).sum() * (l * l).sum())


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(N, D, device=dev)
    y = 0.7 * x + 0.7 * torch.randn(N, D, device=dev)
    return [x.half(), y.half()]


def get_init_inputs():
    return []
