import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clip01(v):
    return tl.minimum(tl.maximum(v, 0.0), 1.0)


@triton.jit
def decode_kernel(head_ptr, anchor_ptr, scale_ptr, box_ptr, score_ptr, B, A,
                  GROUP: tl.constexpr, BLOCK: tl.constexpr):
    a = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = a < A
    # the anchors are the same for every image: keep them for GROUP images
    acx = tl.load(anchor_ptr + a, mask=ok, other=0.0)
    acy = tl.load(anchor_ptr + A + a, mask=ok, other=0.0)
    aw = tl.load(anchor_ptr + 2 * A + a, mask=ok, other=0.0)
    ah = tl.load(anchor_ptr + 3 * A + a, mask=ok, other=0.0)
    sx = tl.load(scale_ptr)
    sy = tl.load(scale_ptr + 1)
    sw = tl.load(scale_ptr + 2)
    sh = tl.load(scale_ptr + 3)
    so = tl.load(scale_ptr + 4)
    # dequantisation scales folded into the anchors once
    kx = sx * aw
    ky = sy * ah
    half_w = 0.5 * aw
    half_h = 0.5 * ah
    log2e: tl.constexpr = 1.4426950408889634
    sw = sw * log2e
    sh = sh * log2e
    so = -so * log2e
    first = tl.program_id(1) * GROUP
    n4 = tl.program_id(0) * BLOCK * 4 + tl.arange(0, BLOCK * 4)
    for g in tl.static_range(GROUP):
        b = first + g
        limit = tl.where(b < B, A, 0)
        live = a < limit
        h = head_ptr + b * 5 * A + a
        dx = tl.load(h, mask=live, other=0).to(tl.float32)
        dy = tl.load(h + A, mask=live, other=0).to(tl.float32)
        dw = tl.load(h + 2 * A, mask=live, other=0).to(tl.float32)
        dh = tl.load(h + 3 * A, mask=live, other=0).to(tl.float32)
        obj = tl.load(h + 4 * A, mask=live, other=0).to(tl.float32)
        cx = acx + dx * kx
        cy = acy + dy * ky
        hw = half_w * tl.exp2(dw * sw)
        hh = half_h * tl.exp2(dh * sh)
        # interleave to x1, y1, x2, y2 in registers, so that the store is one contiguous run
        x12 = tl.join(clip01(cx - hw).to(tl.float16), clip01(cx + hw).to(tl.float16))
        y12 = tl.join(clip01(cy - hh).to(tl.float16), clip01(cy + hh).to(tl.float16))
        box = tl.reshape(tl.join(x12, y12), [BLOCK * 4])
        tl.store(box_ptr + b * A * 4 + n4, box, mask=n4 < limit * 4)
        score = 1.0 / (1.0 + tl.exp2(obj * so))
        tl.store(score_ptr + b * A + a, score.to(tl.float16), mask=live)


class ModelNew(nn.Module):
    def __init__(self, anchors):
        super().__init__()
        g = torch.Generator().manual_seed(7)
        centre = torch.rand(2, anchors, generator=g)
        extent = 0.02 + 0.2 * torch.rand(2, anchors, generator=g)
        self.register_buffer("anchors", torch.cat([centre, extent]))
        self.scale = nn.Parameter(torch.tensor([0.02, 0.02, 0.01, 0.01, 0.06]))

    def forward(self, head):
        head = head.contiguous()
        B, _, A = head.shape
        boxes = torch.empty((B, A, 4), device=head.device, dtype=torch.float16)
        scores = torch.empty((B, A), device=head.device, dtype=torch.float16)
        BLOCK, GROUP = 512, 4
        grid = (triton.cdiv(A, BLOCK), triton.cdiv(B, GROUP))
        decode_kernel[grid](head, self.anchors, self.scale, boxes, scores, B, A,
                            GROUP=GROUP, BLOCK=BLOCK, num_warps=4)
        return boxes, scores
