import torch
import triton
import triton.language as tl


@triton.jit
def avgpool2x2(x, y, C, sxn, sxc, sxh, sxw, syn, syc, syh, syw, BLOCK_C: tl.constexpr):
    ow = tl.program_id(0)
    oh = tl.program_id(1)
    n = tl.program_id(2).to(tl.int64)
    for c0 in range(0, C, BLOCK_C):
        c = c0 + tl.arange(0, BLOCK_C)
        keep = c < C
        p = x + n * sxn + c * sxc + (2 * oh) * sxh + (2 * ow) * sxw
        s = tl.load(p, mask=keep, other=0.0)
        s += tl.load(p + sxw, mask=keep, other=0.0)
        s += tl.load(p + sxh, mask=keep, other=0.0)
        s += tl.load(p + sxh + sxw, mask=keep, other=0.0)
        tl.store(y + n * syn + c * syc + oh * syh + ow * syw, s * 0.25, mask=keep)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n, c, h, w = x.shape
        y = torch.empty((n, c, h // 2, w // 2), dtype=x.dtype, device=x.device)
        avgpool2x2[(w // 2, h // 2, n)](x, y, c, *x.stride(), *y.stride(), BLOCK_C=128)
        return y
