import torch
import torch.nn as nn
import triton
import triton.language as tl


def gaussian(size, sigma):
    x = torch.arange(size, dtype=torch.float32) - (size - 1) / 2
    g = torch.exp(-(x * x) / (2 * sigma * sigma))
    return g / g.sum()


@triton.jit
def _ssim(mu1, mu2, e11, e22, e12, C1: tl.constexpr, C2: tl.constexpr):
    s11 = e11 - mu1 * mu1
    s22 = e22 - mu2 * mu2
    s12 = e12 - mu1 * mu2
    num = (2.0 * mu1 * mu2 + C1) * (2.0 * s12 + C2)
    den = (mu1 * mu1 + mu2 * mu2 + C1) * (s11 + s22 + C2)
    return num / den


@triton.jit
def ssim_kernel(
    x_ptr, y_ptr, g_ptr, out_ptr,
    H, W,
    C1: tl.constexpr, C2: tl.constexpr,
    WIN: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr,
):
    plane = tl.program_id(2).to(tl.int64) * H * W
    rows = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    cols = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    R: tl.constexpr = WIN // 2

    mu1 = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    mu2 = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    e11 = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    e22 = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    e12 = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)

    # slide the window over the neighbourhood
    for ky in range(WIN):
        gy = tl.load(g_ptr + ky)
        r = rows + ky - R
        row_ok = (r >= 0) & (r < H)
        for kx in tl.static_range(WIN):
            c = cols + kx - R
            ok = row_ok & (c >= 0) & (c < W)
            w = gy * tl.load(g_ptr + kx)
            x = tl.load(x_ptr + plane + r * W + c, mask=ok, other=0.0)
            y = tl.load(y_ptr + plane + r * W + c, mask=ok, other=0.0)
            wx = w * x
            wy = w * y
            mu1 += wx
            mu2 += wy
            e11 += wx * x
            e22 += wy * y
            e12 += wx * y

    tl.store(out_ptr + plane + rows * W + cols, _ssim(mu1, mu2, e11, e22, e12, C1, C2), mask=(rows < H) & (cols < W))


class ModelNew(nn.Module):
    def __init__(self, win_size: int, sigma: float):
        super().__init__()
        self.win_size = win_size
        self.register_buffer("g", gaussian(win_size, sigma))
        self.c1 = 0.01 ** 2
        self.c2 = 0.03 ** 2

    def forward(self, img1, img2):
        img1 = img1.contiguous()
        img2 = img2.contiguous()
        N, C, H, W = img1.shape
        out = torch.empty_like(img1)
        BLOCK_H, BLOCK_W = 8, 64
        grid = (triton.cdiv(W, BLOCK_W), triton.cdiv(H, BLOCK_H), N * C)
        ssim_kernel[grid](img1, img2, self.g, out, H, W, self.c1, self.c2, self.win_size, BLOCK_H, BLOCK_W, num_warps=4)
        return out
