import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lncc_kernel(fixed_ptr, moving_ptr, out_ptr, D, H, W, inv_n, eps,
                R: tl.constexpr, BLOCK: tl.constexpr):
    # one program: BLOCK voxels of one slice, window sums kept in registers
    z = tl.program_id(1)
    b = tl.program_id(2)
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = idx < H * W
    y = idx // W
    x = idx % W
    base = b * D * H * W

    s_i = tl.zeros([BLOCK], tl.float32)
    s_j = tl.zeros([BLOCK], tl.float32)
    s_ii = tl.zeros([BLOCK], tl.float32)
    s_jj = tl.zeros([BLOCK], tl.float32)
    s_ij = tl.zeros([BLOCK], tl.float32)

    z_lo = tl.maximum(z - R, 0)
    z_hi = tl.minimum(z + R + 1, D)
    for zz in range(z_lo, z_hi):
        for dy in range(-R, R + 1):
            yy = y + dy
            row_ok = inside & (yy >= 0) & (yy < H)
            row = base + (zz * H + yy) * W
            for dx in tl.static_range(-R, R + 1):
                xx = x + dx
                ok = row_ok & (xx >= 0) & (xx < W)
                vi = tl.load(fixed_ptr + row + xx, mask=ok, other=0.0).to(tl.float32)
                vj = tl.load(moving_ptr + row + xx, mask=ok, other=0.0).to(tl.float32)
                s_i += vi
                s_j += vj
                s_ii += vi * vi
                s_jj += vj * vj
                s_ij += vi * vj

    mi = s_i * inv_n
    mj = s_j * inv_n
    cross = s_ij * inv_n - mi * mj
    var_i = s_ii * inv_n - mi * mi
    var_j = s_jj * inv_n - mj * mj
    cc = cross * cross / (var_i * var_j + eps)
    tl.store(out_ptr + base + z * H * W + idx, cc, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, radius, eps):
        super().__init__()
        self.radius = radius
        self.eps = eps

    def forward(self, fixed, moving):
        fixed = fixed.contiguous()
        moving = moving.contiguous()
        B, D, H, W = fixed.shape
        out = torch.empty((B, D, H, W), device=fixed.device, dtype=torch.float32)
        BLOCK = 256
        grid = (triton.cdiv(H * W, BLOCK), D, B)
        lncc_kernel[grid](fixed, moving, out, D, H, W, 1.0 / (2 * self.radius + 1) ** 3, self.eps,
                          R=self.radius, BLOCK=BLOCK, num_warps=8)
        return out
