"""Verification step of tree speculative decoding: T draft tokens of each sequence attend to the KV cache and to their ancestors in the draft tree."""
import torch
import torch.nn as nn

B = 4
T = 8
HQ = 32
HKV = 8
D = 128
S = 8192


class Model(nn.Module):
    def __init__(self, n_draft):
        super().__init__()
        tree = torch.zeros(n_draft, n_draft, dtype=torch.int8)
        for i in range(n_draft):
            j = i
            while True:
                tree[i, j] = 1
                if j == 0:
                    break
                j = (j - 1) // 2
        self.register_buffer("tree", tree)

    def forward(self, q, k_cache, v_cache, ctx_lens):
        b, t, hq, d = q.shape
        s, hkv = k_cache.shape[1], k_cache.shape[2]
        k = k_cache.float().repeat_interleave(hq // hkv, dim=2)
        v = v_cache.float().repeat_interleave(hq // hkv, dim=2)
        scores = torch.einsum("bthd,bshd->bhts", q.float(), k) * d ** -0.5
        pos = torch.arange(s, device=q.device)[None, :] - ctx_lens[:, None]
        in_ctx = (pos < 0)[:, None, :]
        in_draft = ((pos >= 0) & (pos < t))[:, None, :]
        anc = self.tree.bool()[:, pos.clamp(0, t - 1)].permute(1, 0, 2)
        keep = in_ctx | (in_draft & anc)
        p = scores.masked_fill(~keep[:, None], float("-inf")).softmax(-1)
        return torch.einsum("bhts,bshd->bthd", p, v).to(q.dtype)


def get_inputs():
    q = torch.randn(B, T, HQ, D, dtype=torch.float16)
    k = torch.randn(B, S, HKV, D, dtype=torch.float16)
    v = torch.randn(B, S, HKV, D, dtype=torch.float16)
    lens = torch.randint(3 * S // 4, S - T + 1, (B,), dtype=torch.int32)
    return [q, k, v, lens]


def get_init_inputs():
    return [T]
