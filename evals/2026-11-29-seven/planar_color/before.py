import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_of_matrix(mat, mean, std, r, g, b, row: tl.constexpr):
    m0 = tl.load(mat + row * 3)
    m1 = tl.load(mat + row * 3 + 1)
    m2 = tl.load(mat + row * 3 + 2)
    mu = tl.load(mean + row)
    inv = 1.0 / tl.load(std + row)
    return ((m0 * r + m1 * g + m2 * b) * (1.0 / 255.0) - mu) * inv


@triton.jit
def color_kernel(src, dst, mat, mean, std, plane, BLOCK: tl.constexpr):
    frame = tl.program_id(1).to(tl.int64) * 3 * plane
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = p < plane
    # one channel lies a whole plane after the other
    r = tl.load(src + frame + p, mask=mask, other=0).to(tl.float32)
    g = tl.load(src + frame + plane + p, mask=mask, other=0).to(tl.float32)
    b = tl.load(src + frame + 2 * plane + p, mask=mask, other=0).to(tl.float32)
    tl.store(dst + frame + p, row_of_matrix(mat, mean, std, r, g, b, 0).to(tl.float16), mask=mask)
    tl.store(dst + frame + plane + p, row_of_matrix(mat, mean, std, r, g, b, 1).to(tl.float16), mask=mask)
    tl.store(dst + frame + 2 * plane + p, row_of_matrix(mat, mean, std, r, g, b, 2).to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("matrix", torch.tensor([[1.20, -0.15, -0.05], [-0.10, 1.25, -0.15], [0.02, -0.22, 1.20]]))
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]))

    def forward(self, frames):
        frames = frames.contiguous()
        n, _, rows, cols = frames.shape
        out = torch.empty(frames.shape, device=frames.device, dtype=torch.float16)
        grid = (triton.cdiv(rows * cols, 1024), n)
        color_kernel[grid](frames, out, self.matrix, self.mean, self.std, rows * cols, BLOCK=1024)
        return out
