import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def blur_kernel(img_ptr, out_ptr, g_ptr, h, w, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)          # over all rows of all images
    n = row // h
    y = row % h
    x = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    base = img_ptr + n.to(tl.int64) * h * w

    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(TAPS):
        yy = tl.zeros_like(x) + (y + i - TAPS // 2)
        row_ok = (yy >= 0) & (yy < h)
        gy = tl.load(g_ptr + i)
        for j in tl.static_range(TAPS):
            xx = x + j - TAPS // 2
            gx = tl.load(g_ptr + j)
            v = tl.load(base + yy * w + xx, mask=row_ok & (xx >= 0) & (xx < w), other=0.0)
            acc += gy * gx * v
    tl.store(out_ptr + n.to(tl.int64) * h * w + y * w + x, acc, mask=x < w)


class ModelNew(nn.Module):
    def __init__(self, taps, sigma):
        super().__init__()
        r = torch.arange(taps, dtype=torch.float32) - taps // 2
        g = torch.exp(-0.5 * (r / sigma) ** 2)
        self.register_buffer("g", g / g.sum())

    def forward(self, img):
        img = img.contiguous()
        n, h, w = img.shape
        out = torch.empty_like(img)
        grid = (n * h, triton.cdiv(w, 256))
        blur_kernel[grid](img, out, self.g, h, w, TAPS=self.g.numel(), BLOCK=256, num_warps=4)
        return out
