import torch
import triton
import triton.language as tl


@triton.jit
def affine(x, gain, shift, out, items, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < items
    r = tl.load(x + i, mask=m) * tl.load(gain + i, mask=m) + tl.load(shift + i, mask=m)
    tl.store(out + i, r, mask=m)


class ModelNew(torch.nn.Module):
    def forward(self, x, gain, shift):
        out = torch.empty_like(x)
        affine[(triton.cdiv(x.numel(), 128),)](x, gain, shift, out, x.numel(), B=128)
        return out
