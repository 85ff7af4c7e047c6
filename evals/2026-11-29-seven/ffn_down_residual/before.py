import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_residual_kernel(y_ptr, res_ptr, bias_ptr, scale_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < width
    offs = row * width + col
    y = tl.load(y_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    res = tl.load(res_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + col, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(scale_ptr + col, mask=mask, other=0.0).to(tl.float32)
    out = res + (y + bias) * scale
    tl.store(y_ptr + offs, out.to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, hidden, width):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(width, hidden) / hidden ** 0.5).half())
        self.bias = nn.Parameter((torch.randn(width) * 0.1).half())
        self.scale = nn.Parameter((torch.rand(width) + 0.5).half())

    def forward(self, hidden_states, residual):
        y = torch.matmul(hidden_states, self.weight.t())
        tokens, width = y.shape
        grid = (tokens, triton.cdiv(width, 2048))
        scale_residual_kernel[grid](y, residual.contiguous(), self.bias, self.scale, width, BLOCK=2048, num_warps=8)
        return y
