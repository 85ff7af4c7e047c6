import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mixup_kernel(x_ptr, perm_ptr, lam_ptr, mean_ptr, std_ptr, out_ptr, C, HW, BLOCK: tl.constexpr):
    # samples run fastest in the grid: the partner's same chunk is read by a neighbour at about the same time
    b = tl.program_id(0)
    c = tl.program_id(2)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < HW

    partner = tl.load(perm_ptr + b)
    lam = tl.load(lam_ptr + b)
    mean = tl.load(mean_ptr + c)
    rstd = 1.0 / tl.load(std_ptr + c)

    own_base = (b * C + c).to(tl.int64) * HW
    other_base = (partner * C + c).to(tl.int64) * HW
    own = tl.load(x_ptr + own_base + o, mask=m, other=0.0).to(tl.float32)
    oth = tl.load(x_ptr + other_base + o, mask=m, other=0.0).to(tl.float32)
    mixed = lam * own + (1.0 - lam) * oth
    tl.store(out_ptr + own_base + o, ((mixed - mean) * rstd).to(tl.bfloat16), mask=m)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("mean", 0.4 + 0.02 * torch.arange(channels, dtype=torch.float32))
        self.register_buffer("std", 0.2 + 0.01 * torch.arange(channels, dtype=torch.float32))

    def forward(self, x, perm, lam):
        b, c, h, w = x.shape
        out = torch.empty_like(x)
        hw = h * w
        BLOCK = 2048
        grid = (b, triton.cdiv(hw, BLOCK), c)
        mixup_kernel[grid](x, perm, lam, self.mean, self.std, out, c, hw, BLOCK=BLOCK, num_warps=4)
        return out
