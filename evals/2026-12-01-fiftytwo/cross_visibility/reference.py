import torch
import torch.nn as nn

F = 64
A = 128
B = 128
T = 2048


class Model(nn.Module):
    """Visibilities between A core antennas and B outriggers in F channels, averaged over T samples.

    core: (2, F, A, T) int8 real and imaginary voltages; outer: (2, F, B, T) int8. Returns (2, F, A, B) float32.
    """

    def __init__(self):
        super().__init__()

    def forward(self, core, outer):
        ar, ai = core[0].float(), core[1].float()
        br, bi = outer[0].float().transpose(1, 2), outer[1].float().transpose(1, 2)
        re = torch.bmm(ar, br) + torch.bmm(ai, bi)
        im = torch.bmm(ai, br) - torch.bmm(ar, bi)
        return torch.stack([re, im]) / core.shape[3]


def get_inputs():
    return [torch.randint(-64, 64, (2, F, A, T), dtype=torch.int8),
            torch.randint(-64, 64, (2, F, B, T), dtype=torch.int8)]


def get_init_inputs():
    return []
