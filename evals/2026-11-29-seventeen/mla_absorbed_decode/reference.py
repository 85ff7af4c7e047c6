import torch
import torch.nn as nn

BATCH = 4
HEADS = 16
CTX = 4096
KV_RANK = 512
ROPE = 64


class Model(nn.Module):
    """Absorbed multi-head latent attention for one decoded token per sequence."""

    def __init__(self, kv_rank, rope_dim):
        super().__init__()
        self.kv_rank = kv_rank
        self.rope_dim = rope_dim
        self.sm_scale = (kv_rank + rope_dim) ** -0.5

    def forward(self, q, kv_cache, seq_lens):
        # q: [B, H, R + P]   kv_cache: [B, S, R + P]   seq_lens: [B]
        kv = kv_cache.float()
        s = torch.matmul(q.float(), kv.transpose(1, 2)) * self.sm_scale
        pos = torch.arange(kv_cache.shape[1], device=q.device)
        s = s.masked_fill(pos[None, None, :] >= seq_lens[:, None, None], float("-inf"))
        p = torch.softmax(s, dim=-1)
        return torch.matmul(p, kv[..., : self.kv_rank]).to(q.dtype)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randn(BATCH, HEADS, KV_RANK + ROPE, device=dev).half()
    kv = torch.randn(BATCH, CTX, KV_RANK + ROPE, device=dev).half()
    lens = torch.randint(CTX - CTX // 8, CTX + 1, (BATCH,), device=dev, dtype=torch.int32)
    return [q, kv, lens]


def get_init_inputs():
    return [KV_RANK, ROPE]
