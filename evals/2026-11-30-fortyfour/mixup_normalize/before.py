import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mixup_normalize_kernel(x_ptr, partner_ptr, lam_ptr, mean_ptr, std_ptr, out_ptr, plane,
                           BLOCK: tl.constexpr):
    # the image index runs fastest: all images of one tile are in flight together
    image = tl.program_id(0)
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.program_id(2)
    mask = offs < plane

    partner = tl.load(partner_ptr + image)
    lam = tl.load(lam_ptr + image)
    mean = tl.load(mean_ptr + channel)
    inv_std = 1.0 / tl.load(std_ptr + channel)

    own = (image.to(tl.int64) * 3 + channel) * plane
    other = (partner.to(tl.int64) * 3 + channel) * plane
    a = tl.load(x_ptr + own + offs, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + other + offs, mask=mask, other=0.0).to(tl.float32)
    mixed = lam * a + (1.0 - lam) * b
    y = (mixed - mean) * inv_std
    tl.store(out_ptr + own + offs, y.to(tl.bfloat16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]))

    def forward(self, x, partner, lam):
        x = x.contiguous()
        batch, channels, H, W = x.shape
        plane = H * W
        out = torch.empty_like(x)
        BLOCK = 2048
        grid = (batch, triton.cdiv(plane, BLOCK), channels)
        mixup_normalize_kernel[grid](x, partner, lam, self.mean, self.std, out, plane, BLOCK=BLOCK, num_warps=4)
        return out
