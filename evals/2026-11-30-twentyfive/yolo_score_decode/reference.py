import torch
import torch.nn as nn

B = 2
N = 8400
C = 80


class Model(nn.Module):
    """Anchor-free YOLO head (channels first) before NMS: best class probability, label, and boxes as corners."""

    def __init__(self, num_classes):
        super().__init__()
        self.num_classes = num_classes

    def forward(self, pred):
        p = pred.float()
        conf, label = torch.sigmoid(p[:, 4:]).max(dim=1)
        center, half = p[:, 0:2], p[:, 2:4] * 0.5
        boxes = torch.cat([center - half, center + half], dim=1).transpose(1, 2).contiguous()
        return conf, label.to(torch.int32), boxes


def get_inputs():
    pred = torch.empty(B, 4 + C, N)
    pred[:, 0:2] = torch.rand(B, 2, N) * 640.0
    pred[:, 2:4] = torch.rand(B, 2, N) * 200.0 + 4.0
    # one dominant class an anchor, as from a trained head
    pred[:, 4:] = (torch.randn(B, C, N) - 6.0).clamp(max=-1.0)
    hot = torch.randint(0, C, (B, 1, N))
    pred[:, 4:].scatter_(1, hot, 1.0 + torch.rand(B, 1, N))
    return [pred.to(torch.float16)]


def get_init_inputs():
    return [C]
