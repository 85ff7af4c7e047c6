import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def gained_relu2_(h_ptr, gain_ptr, hidden, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < hidden
    ptrs = h_ptr + row * hidden + col
    h = tl.load(ptrs, mask=mask, other=0.0).to(tl.float32)
    gain = tl.load(gain_ptr + col, mask=mask, other=0.0).to(tl.float32)
    h = tl.maximum(h, 0.0)
    tl.store(ptrs, (h * h * gain).to(h_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Parameter((torch.randn(hidden, dim) * dim ** -0.5).half())
        self.down = nn.Parameter((torch.randn(dim, hidden) * hidden ** -0.5).half())
        self.gain = nn.Parameter((torch.rand(hidden) + 0.5).half())

    def forward(self, x):
        h = F.linear(x, self.up)
        hidden = h.shape[-1]
        rows = h.numel() // hidden
        # activation in place on the projection's output
        gained_relu2_[(rows, triton.cdiv(hidden, 2048))](h, self.gain, hidden, BLOCK=2048, num_warps=8)
        return F.linear(h, self.down)
