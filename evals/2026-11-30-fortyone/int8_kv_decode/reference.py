import math
import torch
import torch.nn as nn

B = 4
HQ = 32
HKV = 8
S = 8192
D = 128


class Model(nn.Module):
    """One decode step of grouped-query attention over an int8 KV cache with a scale per cached token."""

    def __init__(self, hq, hkv, d):
        super().__init__()
        self.hq, self.hkv, self.d = hq, hkv, d

    def forward(self, q, k_cache, k_scale, v_cache, v_scale, lens):
        b, _, d = q.shape
        g = self.hq // self.hkv
        k = k_cache.float() * k_scale.float()[..., None]
        v = v_cache.float() * v_scale.float()[..., None]
        qg = q.float().view(b, self.hkv, g, d)
        s = torch.einsum("bhgd,bhsd->bhgs", qg, k) / math.sqrt(d)
        live = torch.arange(k.shape[2], device=q.device)[None, :] < lens[:, None]
        s = s.masked_fill(~live[:, None, None, :], float("-inf"))
        o = torch.einsum("bhgs,bhsd->bhgd", s.softmax(-1), v)
        return o.reshape(b, self.hq, d).to(q.dtype)


def get_inputs():
    q = torch.randn(B, HQ, D).half()
    k = torch.randint(-127, 128, (B, HKV, S, D), dtype=torch.int8)
    v = torch.randint(-127, 128, (B, HKV, S, D), dtype=torch.int8)
    ks = (torch.rand(B, HKV, S) * 0.01 + 0.005).half()
    vs = (torch.rand(B, HKV, S) * 0.01 + 0.005).half()
    lens = S - torch.arange(B, dtype=torch.int32) * (S // 32)
    return [q, k, ks, v, vs, lens]


def get_init_inputs():
    return [HQ, HKV, D]
