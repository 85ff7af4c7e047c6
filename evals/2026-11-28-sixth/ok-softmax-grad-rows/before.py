import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({}, num_warps=w) for w in (2, 4, 8, 16)],
    key=["cols"],
)
@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["cols"])})
@triton.jit
def softmax_grad(p_ptr, dp_ptr, ds_ptr, stride_row, cols, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    p = tl.load(p_ptr + row * stride_row + col, mask=mask, other=0.0)
    dp = tl.load(dp_ptr + row * stride_row + col, mask=mask, other=0.0)
    inner = tl.sum(p * dp, axis=0)
    ds = p * (dp - inner) * scale
    tl.store(ds_ptr + row * stride_row + col, ds, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, p, dp):
        p = p.contiguous()
        dp = dp.contiguous()
        ds = torch.empty_like(p)
        softmax_grad[(p.shape[0],)](p, dp, ds, p.stride(0), p.shape[1], self.scale)
        return ds
