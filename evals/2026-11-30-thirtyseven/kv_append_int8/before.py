import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def to_int8(x, scale):
    y = x * (1.0 / scale)[:, None]
    y = tl.where(y >= 0, tl.floor(y + 0.5), -tl.floor(0.5 - y))
    return tl.minimum(tl.maximum(y, -127.0), 127.0).to(tl.int8)


@triton.jit
def append_kernel(k_ptr, v_ptr, pos_ptr, slot_ptr, cos_ptr, sin_ptr, kc_ptr, vc_ptr, ks_ptr, vs_ptr,
                  HK: tl.constexpr, BLOCK_H: tl.constexpr, HALF: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    h = tl.arange(0, BLOCK_H)
    d = tl.arange(0, HALF)
    h_ok = h < HK
    mask = h_ok[:, None]
    offs = h[:, None] * (2 * HALF) + d[None, :]
    src = t * HK * (2 * HALF) + offs

    k1 = tl.load(k_ptr + src, mask=mask, other=0.0).to(tl.float32)
    k2 = tl.load(k_ptr + src + HALF, mask=mask, other=0.0).to(tl.float32)
    v1 = tl.load(v_ptr + src, mask=mask, other=0.0).to(tl.float32)
    v2 = tl.load(v_ptr + src + HALF, mask=mask, other=0.0).to(tl.float32)
    pos = tl.load(pos_ptr + t)
    slot = tl.load(slot_ptr + t)
    # one angle row for all heads of the token
    c = tl.load(cos_ptr + pos * HALF + d)[None, :]
    s = tl.load(sin_ptr + pos * HALF + d)[None, :]
    r1 = k1 * c - k2 * s
    r2 = k2 * c + k1 * s

    k_top = tl.max(tl.maximum(tl.abs(r1), tl.abs(r2)), axis=1)
    v_top = tl.max(tl.maximum(tl.abs(v1), tl.abs(v2)), axis=1)
    k_scale = tl.maximum(k_top, 1e-6) / 127.0
    v_scale = tl.maximum(v_top, 1e-6) / 127.0

    dst = slot * HK * (2 * HALF) + offs
    tl.store(kc_ptr + dst, to_int8(r1, k_scale), mask=mask)
    tl.store(kc_ptr + dst + HALF, to_int8(r2, k_scale), mask=mask)
    tl.store(vc_ptr + dst, to_int8(v1, v_scale), mask=mask)
    tl.store(vc_ptr + dst + HALF, to_int8(v2, v_scale), mask=mask)
    tl.store(ks_ptr + slot * HK + h, k_scale, mask=h_ok)
    tl.store(vs_ptr + slot * HK + h, v_scale, mask=h_ok)


class ModelNew(nn.Module):
    def __init__(self, max_pos, d):
        super().__init__()
        inv = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        angle = torch.arange(max_pos, dtype=torch.float64)[:, None] * inv[None, :]
        self.register_buffer("cos", angle.cos().to(torch.float32))
        self.register_buffer("sin", angle.sin().to(torch.float32))

    def forward(self, k, v, positions, slots, k_cache, v_cache, k_scale, v_scale):
        T, HK, D = k.shape
        # D is a power of two in every model served
        append_kernel[(T,)](k, v, positions, slots, self.cos, self.sin, k_cache, v_cache, k_scale, v_scale,
                            HK=HK, BLOCK_H=triton.next_power_of_2(HK), HALF=D // 2, num_warps=2)
        return k_cache, v_cache, k_scale, v_scale
