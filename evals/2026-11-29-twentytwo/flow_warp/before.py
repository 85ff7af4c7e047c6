import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def warp_blend_kernel(prev_ptr, cur_ptr, flow_ptr, blend_ptr, out_ptr, pixels, H, W, C, BLOCK: tl.constexpr):
    # one output pixel a lane; the corner addresses and weights are worked out once and used for all channels
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = p < pixels
    x = p % W
    y = (p // W) % H
    n = p // (W * H)
    px = x.to(tl.float32) + tl.load(flow_ptr + 2 * p, mask=mask, other=0.0)
    py = y.to(tl.float32) + tl.load(flow_ptr + 2 * p + 1, mask=mask, other=0.0)
    px = tl.minimum(tl.maximum(px, 0.0), (W - 1).to(tl.float32))
    py = tl.minimum(tl.maximum(py, 0.0), (H - 1).to(tl.float32))
    x0f = tl.floor(px)
    y0f = tl.floor(py)
    fx = px - x0f
    fy = py - y0f
    x0 = x0f.to(tl.int32)
    y0 = y0f.to(tl.int32)
    x1 = tl.minimum(x0 + 1, W - 1)
    y1 = tl.minimum(y0 + 1, H - 1)
    row0 = (n * H + y0) * W
    row1 = (n * H + y1) * W
    p00 = prev_ptr + (row0 + x0) * C
    p01 = prev_ptr + (row0 + x1) * C
    p10 = prev_ptr + (row1 + x0) * C
    p11 = prev_ptr + (row1 + x1) * C
    w00 = (1 - fy) * (1 - fx)
    w01 = (1 - fy) * fx
    w10 = fy * (1 - fx)
    w11 = fy * fx
    for c in range(C):
        v = tl.load(p00 + c, mask=mask, other=0.0).to(tl.float32) * w00
        v += tl.load(p01 + c, mask=mask, other=0.0).to(tl.float32) * w01
        v += tl.load(p10 + c, mask=mask, other=0.0).to(tl.float32) * w10
        v += tl.load(p11 + c, mask=mask, other=0.0).to(tl.float32) * w11
        alpha = tl.sigmoid(tl.load(blend_ptr + c))
        cur = tl.load(cur_ptr + p * C + c, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + p * C + c, (alpha * v + (1 - alpha) * cur).to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.blend = nn.Parameter(torch.randn(channels))

    def forward(self, prev, cur, flow):
        prev, cur, flow = prev.contiguous(), cur.contiguous(), flow.contiguous()
        b, h, w, c = prev.shape
        out = torch.empty_like(cur)
        pixels = b * h * w
        BLOCK = 128
        warp_blend_kernel[(triton.cdiv(pixels, BLOCK),)](
            prev, cur, flow, self.blend, out, pixels, h, w, c, BLOCK=BLOCK, num_warps=4)
        return out
