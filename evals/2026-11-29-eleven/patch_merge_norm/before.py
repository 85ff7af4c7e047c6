import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 4}, num_warps=4),
    ],
    key=["D"],
)
@triton.jit
def layer_norm_fwd(X, Y, Wt, Bs, rows, D: tl.constexpr, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    mask = (r[:, None] < rows) & (c[None, :] < D)
    offs = r[:, None].to(tl.int64) * D + c[None, :]
    x = tl.load(X + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / D
    xc = tl.where(mask, x - mean[:, None], 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(xc * xc, axis=1) / D + eps)
    w = tl.load(Wt + c, mask=c < D, other=0.0).to(tl.float32)
    b = tl.load(Bs + c, mask=c < D, other=0.0).to(tl.float32)
    y = xc * rstd[:, None] * w[None, :] + b[None, :]
    tl.store(Y + offs, y.to(Y.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(4 * channels, dtype=torch.float16)

    def forward(self, x):
        B, H, W, C = x.shape
        merged = torch.cat(
            [x[:, 0::2, 0::2, :], x[:, 1::2, 0::2, :], x[:, 0::2, 1::2, :], x[:, 1::2, 1::2, :]],
            dim=-1,
        ).contiguous()
        out = torch.empty_like(merged)
        rows = B * (H // 2) * (W // 2)
        grid = lambda meta: (triton.cdiv(rows, meta["ROWS"]),)
        layer_norm_fwd[grid](
            merged, out, self.norm.weight, self.norm.bias, rows, 4 * C, self.norm.eps,
            BLOCK=triton.next_power_of_2(4 * C),
        )
        return out
