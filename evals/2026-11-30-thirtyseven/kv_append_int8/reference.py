import torch
import torch.nn as nn

T = 4096
HK = 8
D = 128
SLOTS = 16384
MAX_POS = 8192


class Model(nn.Module):
    """Writes new tokens' keys (after rotary embedding) and values into a slot-mapped int8 cache with one float32 scale
    for each token and head. The caches are updated in place and returned."""

    def __init__(self, max_pos, d):
        super().__init__()
        inv = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        angle = torch.arange(max_pos, dtype=torch.float64)[:, None] * inv[None, :]
        self.register_buffer("cos", angle.cos().to(torch.float32))
        self.register_buffer("sin", angle.sin().to(torch.float32))

    def forward(self, k, v, positions, slots, k_cache, v_cache, k_scale, v_scale):
        pos = positions.long()
        c, s = self.cos[pos][:, None, :], self.sin[pos][:, None, :]
        k1, k2 = k.float().chunk(2, dim=-1)
        kr = torch.cat([k1 * c - k2 * s, k2 * c + k1 * s], dim=-1)
        for x, cache, scales in ((kr, k_cache, k_scale), (v.float(), v_cache, v_scale)):
            scale = x.abs().amax(dim=-1).clamp_min(1e-6) / 127.0
            q = torch.round(x / scale[..., None]).clamp(-127, 127).to(torch.int8)
            cache[slots] = q
            scales[slots] = scale
        return k_cache, v_cache, k_scale, v_scale


def get_inputs():
    k = torch.randn(T, HK, D).to(torch.bfloat16)
    v = torch.randn(T, HK, D).to(torch.bfloat16)
    positions = torch.randint(0, MAX_POS, (T,), dtype=torch.int32)
    slots = torch.randperm(SLOTS)[:T]
    caches = [torch.zeros(SLOTS, HK, D, dtype=torch.int8) for _ in range(2)]
    scales = [torch.zeros(SLOTS, HK) for _ in range(2)]
    return [k, v, positions, slots, *caches, *scales]


def get_init_inputs():
    return [MAX_POS, D]
