import torch
import torch.nn as nn
import triton
import triton.language as tl


CONFIGS = [
    triton.Config({"BLOCK": 1024}, num_warps=4),
    triton.Config({"BLOCK": 512}, num_warps=2),
    triton.Config({"BLOCK": 2048}, num_warps=8),
]


@triton.autotune(configs=CONFIGS if torch.cuda.is_available() else CONFIGS[:1], key=["out_w"])
@triton.jit
def subpixel_kernel(feat_ptr, img_ptr, h, w, out_w, R: tl.constexpr, BLOCK: tl.constexpr):
    out_y = tl.program_id(1)
    plane = tl.program_id(2).to(tl.int64)       # image * color
    out_x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = out_x < out_w

    row_ptr = feat_ptr + (plane * R + out_y % R) * R * h * w + (out_y // R) * w
    v = tl.load(row_ptr + (out_x % R) * h * w + out_x // R, mask=mask, other=0.0)
    v = tl.minimum(tl.maximum(v, 0.0), 1.0)
    tl.store(img_ptr + (plane * h * R + out_y) * out_w + out_x, v, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, feat):
        feat = feat.contiguous()
        r = self.scale
        n, c, h, w = feat.shape
        colors = c // (r * r)
        img = torch.empty(n, colors, h * r, w * r, device=feat.device, dtype=feat.dtype)
        grid = lambda meta: (triton.cdiv(w * r, meta["BLOCK"]), h * r, n * colors)
        subpixel_kernel[grid](feat, img, h, w, w * r, R=r)
        return img
