import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode_kernel(pred_ptr, conf_ptr, label_ptr, box_ptr, n_anchors,
                  N_CLASSES: tl.constexpr, BLOCK_N: tl.constexpr):
    b = tl.program_id(1)
    anchors = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    valid = anchors < n_anchors
    rows = b * n_anchors + anchors
    image_ptr = pred_ptr + b * (N_CLASSES + 4) * n_anchors

    # channels first suits a running maximum: lanes hold neighbouring anchors, nothing is exchanged;
    # sigmoid is monotone, so it is needed for the winning logit only
    best = tl.full((BLOCK_N,), float("-inf"), dtype=tl.float32)
    label = tl.zeros((BLOCK_N,), dtype=tl.int32)
    for c in tl.static_range(N_CLASSES):
        logit = tl.load(image_ptr + (4 + c) * n_anchors + anchors, mask=valid, other=0.0).to(tl.float32)
        better = logit > best
        best = tl.where(better, logit, best)
        label = tl.where(better, c, label)
    tl.store(conf_ptr + rows, tl.sigmoid(best), mask=valid)
    tl.store(label_ptr + rows, label, mask=valid)

    corner = tl.arange(0, 4)
    base = image_ptr + (corner % 2)[None, :] * n_anchors + anchors[:, None]
    center = tl.load(base, mask=valid[:, None], other=0.0).to(tl.float32)
    size = tl.load(base + 2 * n_anchors, mask=valid[:, None], other=0.0).to(tl.float32)
    box = center + tl.where(corner < 2, -0.5, 0.5)[None, :] * size
    tl.store(box_ptr + rows[:, None] * 4 + corner[None, :], box, mask=valid[:, None])


class ModelNew(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.num_classes = num_classes

    def forward(self, pred):
        pred = pred.contiguous()
        batch, _, n = pred.shape
        device = pred.device
        conf = torch.empty((batch, n), device=device, dtype=torch.float32)
        label = torch.empty((batch, n), device=device, dtype=torch.int32)
        boxes = torch.empty((batch, n, 4), device=device, dtype=torch.float32)
        BLOCK_N = 128
        decode_kernel[(triton.cdiv(n, BLOCK_N), batch)](
            pred, conf, label, boxes, n, N_CLASSES=self.num_classes, BLOCK_N=BLOCK_N, num_warps=2,
        )
        return conf, label, boxes
