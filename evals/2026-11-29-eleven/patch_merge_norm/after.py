import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _emit(Y, Wt, Bs, xc, rstd, dst, c, cmask, mask, PART: tl.constexpr, C: tl.constexpr):
    w = tl.load(Wt + PART * C + c, mask=cmask, other=0.0).to(tl.float32)
    b = tl.load(Bs + PART * C + c, mask=cmask, other=0.0).to(tl.float32)
    y = xc * rstd[:, None] * w[None, :] + b[None, :]
    tl.store(Y + dst + PART * C + c[None, :], y.to(Y.dtype.element_ty), mask=mask)


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 4}, num_warps=4),
    ],
    key=["C"],
)
@triton.jit
def merge_norm_fwd(X, Y, Wt, Bs, rows, OH, OW, s_b, s_h, s_w, eps,
                   C: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    cmask = c < C
    mask = (r[:, None] < rows) & cmask[None, :]
    ow = r % OW
    oh = (r // OW) % OH
    b = r // (OW * OH)
    src = (b.to(tl.int64) * s_b + 2 * oh * s_h + 2 * ow * s_w)[:, None] + c[None, :]
    x0 = tl.load(X + src, mask=mask, other=0.0).to(tl.float32)
    x1 = tl.load(X + src + s_h, mask=mask, other=0.0).to(tl.float32)
    x2 = tl.load(X + src + s_w, mask=mask, other=0.0).to(tl.float32)
    x3 = tl.load(X + src + s_h + s_w, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x0 + x1 + x2 + x3, axis=1) / (4 * C)
    x0 = tl.where(mask, x0 - mean[:, None], 0.0)
    x1 = tl.where(mask, x1 - mean[:, None], 0.0)
    x2 = tl.where(mask, x2 - mean[:, None], 0.0)
    x3 = tl.where(mask, x3 - mean[:, None], 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(x0 * x0 + x1 * x1 + x2 * x2 + x3 * x3, axis=1) / (4 * C) + eps)
    dst = r[:, None].to(tl.int64) * (4 * C)
    _emit(Y, Wt, Bs, x0, rstd, dst, c, cmask, mask, 0, C)
    _emit(Y, Wt, Bs, x1, rstd, dst, c, cmask, mask, 1, C)
    _emit(Y, Wt, Bs, x2, rstd, dst, c, cmask, mask, 2, C)
    _emit(Y, Wt, Bs, x3, rstd, dst, c, cmask, mask, 3, C)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(4 * channels, dtype=torch.float16)

    def forward(self, x):
        B, H, W, C = x.shape
        OH, OW = H // 2, W // 2
        out = torch.empty(B, OH, OW, 4 * C, device=x.device, dtype=x.dtype)
        rows = B * OH * OW
        grid = lambda meta: (triton.cdiv(rows, meta["ROWS"]),)
        merge_norm_fwd[grid](
            x, out, self.norm.weight, self.norm.bias, rows, OH, OW,
            x.stride(0), x.stride(1), x.stride(2), self.norm.eps,
            C=C, BLOCK=triton.next_power_of_2(C),
        )
        return out
