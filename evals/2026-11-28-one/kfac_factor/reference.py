import torch
import torch.nn as nn

TOKENS = 32768
FEATURES = 256
DECAY = 0.95


class Model(nn.Module):
    """Running Kronecker factor of a layer: EMA of the activations' second-moment matrix."""

    def __init__(self, decay):
        super().__init__()
        self.decay = decay

    def forward(self, factor, acts):
        a = acts.float()
        gram = torch.matmul(a.t(), a) / a.shape[0]
        return self.decay * factor + (1.0 - self.decay) * gram


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    acts = (torch.randn(TOKENS, FEATURES, device=dev) + 0.3).half()
    factor = torch.eye(FEATURES, device=dev)
    return [factor, acts]


def get_init_inputs():
    return [DECAY]
