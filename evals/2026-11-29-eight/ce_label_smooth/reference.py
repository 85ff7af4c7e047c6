import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 4096
VOCAB = 50304
SMOOTHING = 0.1


class Model(nn.Module):
    def __init__(self, smoothing):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits, target):
        return F.cross_entropy(logits.float(), target, reduction="none", label_smoothing=self.smoothing)


def get_inputs():
    logits = (torch.randn(ROWS, VOCAB) * 2.0).to(torch.float16)
    target = torch.randint(0, VOCAB, (ROWS,))
    return [logits, target]


def get_init_inputs():
    return [SMOOTHING]
