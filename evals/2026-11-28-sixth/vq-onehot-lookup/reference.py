import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
POSITIONS = 1024
CODES = 2048
DIM = 256


class Model(nn.Module):
    """Decoder input of a vector-quantised autoencoder: code vectors by their numbers, plus positions."""

    def forward(self, codes, codebook, position):
        return F.embedding(codes, codebook) + position


def get_inputs():
    codes = torch.randint(0, CODES, (BATCH, POSITIONS))
    codebook = torch.randn(CODES, DIM).half()
    position = (torch.randn(POSITIONS, DIM) * 0.1).half()
    return [codes, codebook, position]


def get_init_inputs():
    return []
