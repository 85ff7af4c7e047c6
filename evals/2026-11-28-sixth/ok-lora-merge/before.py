import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def merge_adapter(
    weight, up, down, merged, out_dim, in_dim, scale, RANK: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr
):
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(0) * COLS + tl.arange(0, COLS)
    k = tl.arange(0, RANK)
    keep_r = r[:, None] < out_dim
    keep_c = c[None, :] < in_dim
    u = tl.load(up + r[:, None] * RANK + k[None, :], mask=keep_r, other=0.0).to(tl.float32)
    d = tl.load(down + k[:, None] * in_dim + c[None, :], mask=keep_c, other=0.0).to(tl.float32)
    delta = tl.dot(u, d)
    at = r[:, None].to(tl.int64) * in_dim + c[None, :]
    w = tl.load(weight + at, mask=keep_r & keep_c, other=0.0).to(tl.float32)
    tl.store(merged + at, (w + scale * delta).to(merged.dtype.element_ty), mask=keep_r & keep_c)


def merge(weight, up, down, scale):
    out_dim, in_dim = weight.shape
    merged = torch.empty_like(weight)
    grid = (triton.cdiv(in_dim, 128), triton.cdiv(out_dim, 32))
    merge_adapter[grid](
        weight=weight, up=up, down=down, merged=merged, out_dim=out_dim, in_dim=in_dim, scale=scale,
        RANK=up.shape[1], ROWS=32, COLS=128, num_warps=4, num_stages=1,
    )
    return merged


class ModelNew(nn.Module):
    def __init__(self, alpha, rank):
        super().__init__()
        self.scale = alpha / rank

    def forward(self, weight, up, down):
        return merge(weight, up, down, self.scale)
