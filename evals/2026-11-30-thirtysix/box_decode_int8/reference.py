import torch
import torch.nn as nn

BATCH = 8
ANCHORS = 24576


class Model(nn.Module):
    """Detector post-processing: dequantises an int8 head (4 box deltas and 1 objectness, planar), decodes to corner boxes and scores."""

    def __init__(self, anchors):
        super().__init__()
        g = torch.Generator().manual_seed(7)
        centre = torch.rand(2, anchors, generator=g)
        extent = 0.02 + 0.2 * torch.rand(2, anchors, generator=g)
        self.register_buffer("anchors", torch.cat([centre, extent]))      # cx, cy, w, h in [0, 1]
        self.scale = nn.Parameter(torch.tensor([0.02, 0.02, 0.01, 0.01, 0.06]))

    def forward(self, head):
        # head: (B, 5, A) int8
        v = head.float() * self.scale[None, :, None]
        cx = self.anchors[0] + v[:, 0] * self.anchors[2]
        cy = self.anchors[1] + v[:, 1] * self.anchors[3]
        hw = 0.5 * self.anchors[2] * torch.exp(v[:, 2])
        hh = 0.5 * self.anchors[3] * torch.exp(v[:, 3])
        boxes = torch.stack([cx - hw, cy - hh, cx + hw, cy + hh], -1).clamp(0.0, 1.0)
        return boxes.half(), torch.sigmoid(v[:, 4]).half()


def get_inputs():
    return [torch.randint(-127, 128, (BATCH, 5, ANCHORS), dtype=torch.int8)]


def get_init_inputs():
    return [ANCHORS]
