import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def quantize_rows(
    y_ptr, q_ptr, scale_ptr,
    cols,
    stride_y, stride_q,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    y = tl.load(y_ptr + row * stride_y + c, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(y), axis=0), 1e-8) / 127.0
    v = y / scale
    v = tl.where(v >= 0, tl.floor(v + 0.5), -tl.floor(0.5 - v))
    v = tl.minimum(tl.maximum(v, -127.0), 127.0)
    tl.store(q_ptr + row * stride_q + c, v.to(tl.int8), mask=mask)
    tl.store(scale_ptr + row, scale)


def quantize(y):
    rows, cols = y.shape
    q = torch.empty(rows, cols, device=y.device, dtype=torch.int8)
    scale = torch.empty(rows, 1, device=y.device, dtype=torch.float32)
    BLOCK = triton.next_power_of_2(cols)
    quantize_rows[(rows,)](
        y, q, scale, cols, y.stride(0), q.stride(0),
        BLOCK=BLOCK, num_warps=4 if BLOCK <= 2048 else 8,
    )
    return q, scale


class ModelNew(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.proj = nn.Linear(d_in, d_out, bias=False, dtype=torch.float16)

    def forward(self, x):
        y = F.linear(x, self.proj.weight)
        return quantize(y)
