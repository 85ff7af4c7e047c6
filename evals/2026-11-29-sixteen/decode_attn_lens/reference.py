import math
import torch
import torch.nn as nn

BATCH = 1
HEADS = 16
MAX_SEQ = 65536
HEAD_DIM = 128
UNUSED = 77


class Model(nn.Module):
    """One decoding step of attention over a padded KV cache."""

    def __init__(self):
        super().__init__()

    def forward(self, q, k_cache, v_cache, seq_lens):
        # q [B, H, D]; caches [B, H, S, D]; seq_lens [B]
        scale = 1.0 / math.sqrt(q.shape[-1])
        scores = torch.matmul(k_cache.float(), q.float().unsqueeze(-1)).squeeze(-1) * scale
        pos = torch.arange(k_cache.shape[2], device=q.device)
        scores = scores.masked_fill(pos[None, None, :] >= seq_lens[:, None, None], float("-inf"))
        p = torch.softmax(scores, dim=-1)
        return torch.matmul(p.unsqueeze(-2), v_cache.float()).squeeze(-2).to(q.dtype)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randn(BATCH, HEADS, HEAD_DIM, device=device, dtype=torch.float16)
    k_cache = torch.randn(BATCH, HEADS, MAX_SEQ, HEAD_DIM, device=device, dtype=torch.float16)
    v_cache = torch.randn(BATCH, HEADS, MAX_SEQ, HEAD_DIM, device=device, dtype=torch.float16)
    seq_lens = MAX_SEQ - UNUSED - torch.arange(BATCH, device=device, dtype=torch.int32)
    return [q, k_cache, v_cache, seq_lens]


def get_init_inputs():
    return []
