import torch, triton
import triton.language as tl
from torch import nn


@triton.jit
def plane_hist(img, hist, npix, BLK: tl.constexpr):
    plane = tl.program_id(1)
    i = tl.program_id(0) * BLK + tl.arange(0, BLK)
    ok = i < npix
    v = tl.load(img + plane.to(tl.int64) * npix + i, mask=ok, other=0).to(tl.int32)
    bins = tl.arange(0, 256)
    local = tl.histogram(v, 256)
    # the padding was counted as intensity 0
    pad = BLK - tl.minimum(npix - tl.program_id(0) * BLK, BLK)
    local = local - tl.where(bins == 0, pad, 0)
    tl.atomic_add(hist + plane * 256 + bins, local, mask=local != 0, sem="relaxed")


def histogram(img):
    n, c, h, w = img.shape
    img = img.contiguous()
    hist = torch.zeros((n, c, 256), dtype=torch.int32, device=img.device)
    BLK = 4096
    plane_hist[(triton.cdiv(h * w, BLK), n * c)](img, hist, h * w, BLK)
    return hist


class ModelNew(nn.Module):
    def forward(self, img):
        return histogram(img)
