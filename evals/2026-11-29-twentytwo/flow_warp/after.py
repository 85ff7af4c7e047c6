import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def warp_blend_kernel(prev_ptr, cur_ptr, flow_ptr, blend_ptr, out_ptr, pixels, H, W, C,
                      BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    # a tile of pixels x channels: neighbouring lanes hold neighbouring channels, which lie side by side in memory
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    c = tl.arange(0, BLOCK_C)
    p_mask = p < pixels
    mask = p_mask[:, None] & (c < C)[None, :]
    x = p % W
    y = (p // W) % H
    n = p // (W * H)
    px = x.to(tl.float32) + tl.load(flow_ptr + 2 * p, mask=p_mask, other=0.0)
    py = y.to(tl.float32) + tl.load(flow_ptr + 2 * p + 1, mask=p_mask, other=0.0)
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
    cc = c[None, :]
    v00 = tl.load(prev_ptr + ((row0 + x0) * C)[:, None] + cc, mask=mask, other=0.0).to(tl.float32)
    v01 = tl.load(prev_ptr + ((row0 + x1) * C)[:, None] + cc, mask=mask, other=0.0).to(tl.float32)
    v10 = tl.load(prev_ptr + ((row1 + x0) * C)[:, None] + cc, mask=mask, other=0.0).to(tl.float32)
    v11 = tl.load(prev_ptr + ((row1 + x1) * C)[:, None] + cc, mask=mask, other=0.0).to(tl.float32)
    here = (p * C)[:, None] + cc
    cur = tl.load(cur_ptr + here, mask=mask, other=0.0).to(tl.float32)
    v = v00 * ((1 - fy) * (1 - fx))[:, None] + v01 * ((1 - fy) * fx)[:, None]
    v += v10 * (fy * (1 - fx))[:, None] + v11 * (fy * fx)[:, None]
    alpha = tl.sigmoid(tl.load(blend_ptr + c, mask=c < C, other=0.0))[None, :]
    tl.store(out_ptr + here, (alpha * v + (1 - alpha) * cur).to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.blend = nn.Parameter(torch.randn(channels))

    def forward(self, prev, cur, flow):
        prev, cur, flow = prev.contiguous(), cur.contiguous(), flow.contiguous()
        b, h, w, c = prev.shape
        out = torch.empty_like(cur)
        pixels = b * h * w
        BLOCK_P = 32
        warp_blend_kernel[(triton.cdiv(pixels, BLOCK_P),)](
            prev, cur, flow, self.blend, out, pixels, h, w, c,
            BLOCK_P=BLOCK_P, BLOCK_C=triton.next_power_of_2(c), num_warps=4)
        return out
