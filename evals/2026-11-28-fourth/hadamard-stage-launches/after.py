import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hadamard_matrix(N: tl.constexpr):
    """[N, N] of +-1: the sign is the parity of the bits that row and column share."""
    both = tl.arange(0, N)[:, None] & tl.arange(0, N)[None, :]
    both ^= both >> 4
    both ^= both >> 2
    both ^= both >> 1
    return (1 - 2 * (both & 1)).to(tl.float32)


@triton.jit
def fwht_rows(src, signs, dst, scale, A: tl.constexpr, B: tl.constexpr):
    """One row of A * B numbers a program: H_A X H_B, with X the row as a matrix."""
    row = tl.program_id(0).to(tl.int64) * (A * B)
    cell = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    x = tl.load(src + row + cell) * tl.load(signs + cell)
    y = tl.dot(x, hadamard_matrix(B), input_precision="tf32x3")
    y = tl.dot(hadamard_matrix(A), y, input_precision="tf32x3")
    tl.store(dst + row + cell, y * scale)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.register_buffer("signs", (torch.randint(0, 2, (dim,)) * 2 - 1).float())

    def forward(self, x):
        out = torch.empty_like(x)
        a = 1 << (self.dim.bit_length() // 2)
        fwht_rows[(x.shape[0],)](x, self.signs, out, 1.0 / math.sqrt(self.dim), A=a, B=self.dim // a, num_warps=4)
        return out
