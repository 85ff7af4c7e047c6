import torch
import triton
import triton.language as tl


@triton.jit
def avgpool2x2(x, y, total, OH, OW, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = o < total
    row = o // OW  # over images, channels and output rows
    ow = o % OW
    # an output row has two input rows of 2 * OW
    p = x + row * (4 * OW) + 2 * ow
    s = tl.load(p, mask=keep, other=0.0)
    s += tl.load(p + 1, mask=keep, other=0.0)
    s += tl.load(p + 2 * OW, mask=keep, other=0.0)
    s += tl.load(p + 2 * OW + 1, mask=keep, other=0.0)
    tl.store(y + o, s * 0.25, mask=keep)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n, c, h, w = x.shape
        y = torch.empty((n, c, h // 2, w // 2), dtype=x.dtype, device=x.device)
        total = y.numel()
        avgpool2x2[(triton.cdiv(total, 512),)](x, y, total, h // 2, w // 2, BLOCK=512)
        return y
