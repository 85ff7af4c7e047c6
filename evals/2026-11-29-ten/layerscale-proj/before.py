import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _tanh(x):
    return 1.0 - 2.0 / (tl.exp(2.0 * x) + 1.0)


@triton.jit
def epilogue_kernel(y_ptr, res_ptr, bias_ptr, gamma_ptr, n_elem, dim, limit, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elem
    col = offs % dim
    y = tl.load(y_ptr + offs, mask=mask).to(tl.float32)
    r = tl.load(res_ptr + offs, mask=mask).to(tl.float32)
    b = tl.load(bias_ptr + col, mask=mask).to(tl.float32)
    g = tl.load(gamma_ptr + col, mask=mask).to(tl.float32)
    y = _tanh((y + b) / limit) * limit
    tl.store(y_ptr + offs, (r + g * y).to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, hidden, dim, limit=6.0):
        super().__init__()
        dtype = torch.float16
        self.weight = nn.Parameter(torch.randn(dim, hidden, dtype=dtype) * hidden ** -0.5)
        self.bias = nn.Parameter(torch.randn(dim, dtype=dtype) * 0.1)
        self.gamma = nn.Parameter(torch.rand(dim, dtype=dtype) * 0.5)
        self.limit = limit

    def forward(self, h, residual):
        y = torch.matmul(h, self.weight.t())
        residual = residual.contiguous()
        n_elem = y.numel()
        BLOCK = 2048
        # the projection is a fresh tensor, so finish it in place
        epilogue_kernel[(triton.cdiv(n_elem, BLOCK),)](
            y, residual, self.bias, self.gamma, n_elem, y.shape[-1], self.limit, BLOCK=BLOCK, num_warps=8
        )
        return y
