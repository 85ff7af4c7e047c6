import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def luminance(r, g, b):
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@triton.jit
def reinhard_kernel(src, dst, n_pix, inv_white2, BLOCK: tl.constexpr):
    img = tl.program_id(1).to(tl.int64)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = p < n_pix
    src += img * 3 * n_pix
    dst += img * 3 * n_pix
    r = tl.load(src + p, mask=m, other=0.0)
    g = tl.load(src + n_pix + p, mask=m, other=0.0)
    b = tl.load(src + 2 * n_pix + p, mask=m, other=0.0)
    lum = luminance(r, g, b)
    scale = lum * (1.0 + lum * inv_white2) / (1.0 + lum) / (lum + 1e-6)
    tl.store(dst + p, r * scale, mask=m)
    tl.store(dst + n_pix + p, g * scale, mask=m)
    tl.store(dst + 2 * n_pix + p, b * scale, mask=m)


class ModelNew(nn.Module):
    def __init__(self, white):
        super().__init__()
        self.white = white

    def forward(self, hdr, ev):
        exposed = hdr.contiguous() * torch.exp2(ev).view(-1, 1, 1, 1)
        n, _, h, w = exposed.shape
        mapped = torch.empty_like(exposed)
        grid = (triton.cdiv(h * w, 1024), n)
        reinhard_kernel[grid](exposed, mapped, h * w, 1.0 / (self.white * self.white), BLOCK=1024)
        display = torch.clamp(mapped, 0.0, 1.0)
        display = torch.pow(display, 1.0 / 2.2)
        return (display * 255.0 + 0.5).to(torch.uint8)
