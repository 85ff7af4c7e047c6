import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def class_prob_kernel(pred_ptr, prob_ptr, n_anchors, n_classes, BLOCK: tl.constexpr):
    # sigmoid of the class channels: [B, 4 + C, N] -> [B, C, N]
    b = tl.program_id(1)
    n_elements = n_classes * n_anchors
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elements
    x = tl.load(pred_ptr + b * (n_classes + 4) * n_anchors + 4 * n_anchors + offs, mask=mask, other=0.0)
    tl.store(prob_ptr + b * n_elements + offs, tl.sigmoid(x.to(tl.float32)).to(tl.float16), mask=mask)


@triton.jit
def transpose_kernel(src_ptr, dst_ptr, n_anchors, n_classes, BLOCK_C: tl.constexpr, BLOCK_N: tl.constexpr):
    # [B, C, N] -> [B, N, C], so that a row holds the scores of one anchor
    b = tl.program_id(1)
    cols = tl.arange(0, BLOCK_C)
    anchors = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    base = b * n_classes * n_anchors
    mask = (cols < n_classes)[:, None] & (anchors < n_anchors)[None, :]
    tile = tl.load(src_ptr + base + cols[:, None] * n_anchors + anchors[None, :], mask=mask, other=0.0)
    out_mask = (anchors < n_anchors)[:, None] & (cols < n_classes)[None, :]
    tl.store(dst_ptr + base + anchors[:, None] * n_classes + cols[None, :], tl.trans(tile), mask=out_mask)


@triton.jit
def select_kernel(pred_ptr, score_ptr, conf_ptr, label_ptr, box_ptr, n_anchors, n_classes,
                  BLOCK_N: tl.constexpr, BLOCK_C: tl.constexpr):
    b = tl.program_id(1)
    anchors = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    cols = tl.arange(0, BLOCK_C)
    valid = anchors < n_anchors
    rows = b * n_anchors + anchors
    mask = valid[:, None] & (cols < n_classes)[None, :]
    score = tl.load(score_ptr + rows[:, None] * n_classes + cols[None, :], mask=mask, other=-1.0).to(tl.float32)
    conf, label = tl.max(score, axis=1, return_indices=True)
    tl.store(conf_ptr + rows, conf, mask=valid)
    tl.store(label_ptr + rows, label.to(tl.int32), mask=valid)

    corner = tl.arange(0, 4)
    base = pred_ptr + b * (n_classes + 4) * n_anchors + (corner % 2)[None, :] * n_anchors + anchors[:, None]
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
        n_classes = self.num_classes
        device = pred.device
        prob = torch.empty((batch, n_classes, n), device=device, dtype=torch.float16)
        score = torch.empty((batch, n, n_classes), device=device, dtype=torch.float16)
        conf = torch.empty((batch, n), device=device, dtype=torch.float32)
        label = torch.empty((batch, n), device=device, dtype=torch.int32)
        boxes = torch.empty((batch, n, 4), device=device, dtype=torch.float32)

        BLOCK, BLOCK_N = 2048, 32
        BLOCK_C = triton.next_power_of_2(n_classes)
        grid = (triton.cdiv(n, BLOCK_N), batch)
        class_prob_kernel[(triton.cdiv(n_classes * n, BLOCK), batch)](pred, prob, n, n_classes, BLOCK=BLOCK)
        transpose_kernel[grid](prob, score, n, n_classes, BLOCK_C=BLOCK_C, BLOCK_N=BLOCK_N)
        select_kernel[grid](pred, score, conf, label, boxes, n, n_classes, BLOCK_N=BLOCK_N, BLOCK_C=BLOCK_C)
        return conf, label, boxes
