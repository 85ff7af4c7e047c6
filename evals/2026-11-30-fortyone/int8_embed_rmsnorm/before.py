import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embed_rmsnorm_kernel(IDS, TABLE, SCALE, NORM, RES, OUT, H, eps, BLOCK_H: tl.constexpr):
    # one token a program, its whole row in registers
    t = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK_H)
    ok = offs < H
    w = tl.load(NORM + offs, mask=ok, other=0.0, eviction_policy="evict_last").to(tl.float32)
    idx = tl.load(IDS + t)
    row = tl.maximum(idx, 0)
    s = tl.load(SCALE + row)
    s = tl.where(idx >= 0, s, 0.0)                    # -1 pads a ragged batch: a row of zeros
    q = tl.load(TABLE + row * H + offs, mask=ok, other=0)
    x = q.to(tl.float32) * s

    # residual stream, before normalising
    tl.store(RES + t * H + offs, x.to(tl.bfloat16), mask=ok)

    r = tl.rsqrt(tl.sum(x * x, 0) / H + eps)
    tl.store(OUT + t * H + offs, (x * r * w).to(tl.bfloat16), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, v, h, eps):
        super().__init__()
        self.v, self.h, self.eps = v, h, eps
        self.register_buffer("table", torch.randint(-127, 128, (v, h), dtype=torch.int8))
        self.register_buffer("row_scale", torch.rand(v) * 0.01 + 0.001)
        self.norm_weight = nn.Parameter((1 + 0.1 * torch.randn(h)).bfloat16())

    def forward(self, ids):
        n = ids.shape[0]
        res = torch.empty((n, self.h), device=ids.device, dtype=torch.bfloat16)
        out = torch.empty_like(res)
        embed_rmsnorm_kernel[(n,)](ids, self.table, self.row_scale, self.norm_weight, res, out, self.h, self.eps,
                                   BLOCK_H=triton.next_power_of_2(self.h), num_warps=8)
        return res, out
