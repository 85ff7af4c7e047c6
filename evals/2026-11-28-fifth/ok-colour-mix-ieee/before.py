import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mix_bands(pix_ptr, mix_ptr, dark_ptr, out_ptr, n, BANDS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bands = tl.arange(0, BANDS)
    at = rows[:, None] * BANDS + bands[None, :]
    inside = (rows < n)[:, None]
    raw = tl.load(pix_ptr + at, mask=inside, other=0.0)
    light = tl.maximum(raw - tl.load(dark_ptr + bands)[None, :], 0.0)
    mix = tl.load(mix_ptr + bands[:, None] * BANDS + bands[None, :])
    mixed = tl.dot(light, mix, input_precision="ieee")
    tl.store(out_ptr + at, mixed, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, bands):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(bands, bands) * bands**-0.5)
        self.dark = nn.Parameter(torch.rand(bands) * 0.1)

    def forward(self, pixels):
        n, bands = pixels.shape
        out = torch.empty_like(pixels)
        mix_bands[(triton.cdiv(n, 128),)](pixels, self.mix, self.dark, out, n, BANDS=bands, BLOCK=128, num_warps=4)
        return out
