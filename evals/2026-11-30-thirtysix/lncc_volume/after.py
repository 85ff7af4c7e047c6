import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def box_x_kernel(fixed_ptr, moving_ptr, sums_ptr, D, H, W, field,
                 R: tl.constexpr, BLOCK: tl.constexpr):
    # the five window moments, summed along x only
    z = tl.program_id(1)
    b = tl.program_id(2)
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = idx < H * W
    x = idx % W
    at = (b * D + z) * H * W + idx
    s_i = tl.zeros([BLOCK], tl.float32)
    s_j = tl.zeros([BLOCK], tl.float32)
    s_ii = tl.zeros([BLOCK], tl.float32)
    s_jj = tl.zeros([BLOCK], tl.float32)
    s_ij = tl.zeros([BLOCK], tl.float32)
    for dx in tl.static_range(-R, R + 1):
        ok = inside & (x + dx >= 0) & (x + dx < W)
        vi = tl.load(fixed_ptr + at + dx, mask=ok, other=0.0).to(tl.float32)
        vj = tl.load(moving_ptr + at + dx, mask=ok, other=0.0).to(tl.float32)
        s_i += vi
        s_j += vj
        s_ii += vi * vi
        s_jj += vj * vj
        s_ij += vi * vj
    tl.store(sums_ptr + at, s_i, mask=inside)
    tl.store(sums_ptr + field + at, s_j, mask=inside)
    tl.store(sums_ptr + 2 * field + at, s_ii, mask=inside)
    tl.store(sums_ptr + 3 * field + at, s_jj, mask=inside)
    tl.store(sums_ptr + 4 * field + at, s_ij, mask=inside)


@triton.jit
def box_y_kernel(src_ptr, dst_ptr, H, W, R: tl.constexpr, BLOCK: tl.constexpr):
    slice_id = tl.program_id(1)
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = idx < H * W
    y = idx // W
    at = slice_id * H * W + idx
    acc = tl.zeros([BLOCK], tl.float32)
    for dy in tl.static_range(-R, R + 1):
        ok = inside & (y + dy >= 0) & (y + dy < H)
        acc += tl.load(src_ptr + at + dy * W, mask=ok, other=0.0)
    tl.store(dst_ptr + at, acc, mask=inside)


@triton.jit
def box_z_lncc_kernel(sums_ptr, out_ptr, D, H, W, field, inv_n, eps,
                      R: tl.constexpr, BLOCK: tl.constexpr):
    z = tl.program_id(1)
    b = tl.program_id(2)
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = idx < H * W
    at = (b * D + z) * H * W + idx
    s_i = tl.zeros([BLOCK], tl.float32)
    s_j = tl.zeros([BLOCK], tl.float32)
    s_ii = tl.zeros([BLOCK], tl.float32)
    s_jj = tl.zeros([BLOCK], tl.float32)
    s_ij = tl.zeros([BLOCK], tl.float32)
    for zz in range(tl.maximum(z - R, 0), tl.minimum(z + R + 1, D)):
        p = sums_ptr + (b * D + zz) * H * W + idx
        s_i += tl.load(p, mask=inside, other=0.0)
        s_j += tl.load(p + field, mask=inside, other=0.0)
        s_ii += tl.load(p + 2 * field, mask=inside, other=0.0)
        s_jj += tl.load(p + 3 * field, mask=inside, other=0.0)
        s_ij += tl.load(p + 4 * field, mask=inside, other=0.0)
    mi = s_i * inv_n
    mj = s_j * inv_n
    cross = s_ij * inv_n - mi * mj
    var_i = s_ii * inv_n - mi * mi
    var_j = s_jj * inv_n - mj * mj
    tl.store(out_ptr + at, cross * cross / (var_i * var_j + eps), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, radius, eps):
        super().__init__()
        self.radius = radius
        self.eps = eps

    def forward(self, fixed, moving):
        fixed = fixed.contiguous()
        moving = moving.contiguous()
        B, D, H, W = fixed.shape
        R = self.radius
        out = torch.empty((B, D, H, W), device=fixed.device, dtype=torch.float32)
        sx = torch.empty((5, B, D, H, W), device=fixed.device, dtype=torch.float32)
        sxy = torch.empty_like(sx)
        BLOCK = 256
        blocks = triton.cdiv(H * W, BLOCK)
        field = B * D * H * W
        box_x_kernel[(blocks, D, B)](fixed, moving, sx, D, H, W, field, R=R, BLOCK=BLOCK)
        box_y_kernel[(blocks, 5 * B * D)](sx, sxy, H, W, R=R, BLOCK=BLOCK)
        box_z_lncc_kernel[(blocks, D, B)](sxy, out, D, H, W, field, 1.0 / (2 * R + 1) ** 3, self.eps,
                                          R=R, BLOCK=BLOCK)
        return out
