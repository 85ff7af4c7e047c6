import math

import torch
import torch.nn as nn

SAMPLES = 1024
INPUTS = 8192
FEATURES = 1024


class Model(nn.Module):
    """Random Fourier features of an RBF kernel."""

    def __init__(self, n_inputs, n_features):
        super().__init__()
        self.register_buffer("omega", (torch.randn(n_inputs, n_features) / math.sqrt(n_inputs)).half())
        self.register_buffer("phase", (torch.rand(n_features) * 2.0 * math.pi).half())
        self.scale = math.sqrt(2.0 / n_features)

    def forward(self, x):
        return torch.cos(x @ self.omega + self.phase) * self.scale


def get_inputs():
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return [torch.randn(SAMPLES, INPUTS, device=dev).half()]


def get_init_inputs():
    return [INPUTS, FEATURES]
