import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, keep_ptr, y_ptr, n, p, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    keep = tl.load(keep_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.where(keep, x / (1 - p), 0.0), mask=i < n)


@triton.jit
def add_kernel(y_ptr, r_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + i, tl.load(y_ptr + i, mask=i < n) + tl.load(r_ptr + i, mask=i < n), mask=i < n)


class Dropout(nn.Module):
    def forward(self, x, keep):
        y = torch.empty_like(x)
        dropout_kernel[(triton.cdiv(x.numel(), 2048),)](x, keep, y, x.numel(), 0.1, B=2048)
        return y


class Add(nn.Module):
    def forward(self, y, residual):
        out = torch.empty_like(residual)
        add_kernel[(triton.cdiv(y.numel(), 2048),)](y, residual, out, y.numel(), B=2048)
        return out


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = Dropout()
        self.add = Add()

    def forward(self, x, keep, residual):
        return self.add(self.drop(x, keep), residual)
