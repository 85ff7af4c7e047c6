import torch
import torch.nn as nn

L = 32
B = 64
N = 32
A = 6
H = 8
D = 128


class Model(nn.Module):
    """After tree verification: picks the keys and values of the accepted draft nodes, for every layer.

    tree_kv: [layers, 2, batch, nodes, heads, dim]; accepted: [batch, steps] node numbers.
    """

    def __init__(self):
        super().__init__()

    def forward(self, tree_kv, accepted):
        layers, two, b, n, h, d = tree_kv.shape
        a = accepted.shape[1]
        idx = accepted.view(1, 1, b, a, 1, 1).expand(layers, two, b, a, h, d)
        return torch.gather(tree_kv, 3, idx)


def get_inputs():
    return [
        torch.randn(L, 2, B, N, H, D).to(torch.float16),
        torch.randint(0, N, (B, A)),
    ]


def get_init_inputs():
    return []
