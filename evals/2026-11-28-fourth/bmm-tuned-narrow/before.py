import torch
import torch.nn as nn
import triton
import triton.language as tl


def get_configs():
    return [
        triton.Config({"BLOCK_C": c, "BLOCK_H": h, "BLOCK_D": d}, num_warps=w, num_stages=2)
        for c, h in ((16, 32), (32, 16), (32, 32))
        for d in (16, 32)
        for w in (2, 4)
    ]


@triton.autotune(configs=get_configs(), key=["C", "D", "H"])
@triton.jit
def expert_ffn_kernel(
    x_ptr, w_ptr, y_ptr, C, D, H, BLOCK_C: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr
):
    e = tl.program_id(2).to(tl.int64)
    offs_c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    offs_h = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    offs_d = tl.arange(0, BLOCK_D)
    x_ptrs = x_ptr + e * C * D + offs_c[:, None] * D + offs_d[None, :]
    w_ptrs = w_ptr + e * D * H + offs_d[:, None] * H + offs_h[None, :]
    acc = tl.zeros((BLOCK_C, BLOCK_H), dtype=tl.float32)
    for d0 in range(0, D, BLOCK_D):
        inside = offs_d < D - d0
        x = tl.load(x_ptrs, mask=(offs_c[:, None] < C) & inside[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=inside[:, None] & (offs_h[None, :] < H), other=0.0)
        acc += tl.dot(x, w)
        x_ptrs += BLOCK_D
        w_ptrs += BLOCK_D * H
    acc = tl.maximum(acc, 0.0)
    y = (acc * acc).to(y_ptr.dtype.element_ty)
    tl.store(
        y_ptr + e * C * H + offs_c[:, None] * H + offs_h[None, :], y, mask=(offs_c[:, None] < C) & (offs_h[None, :] < H)
    )


class ModelNew(nn.Module):
    def __init__(self, experts, d_model, d_hidden):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(experts, d_model, d_hidden, dtype=torch.float16) * d_model**-0.5)

    def forward(self, dispatched):
        e, c, d = dispatched.shape
        h = self.w1.shape[2]
        y = dispatched.new_empty(e, c, h)

        def grid(meta):
            return triton.cdiv(c, meta["BLOCK_C"]), triton.cdiv(h, meta["BLOCK_H"]), e

        expert_ffn_kernel[grid](dispatched, self.w1, y, C=c, D=d, H=h)
        return y
