import math
import torch
import torch.nn as nn

BATCH = 32
HEADS = 128
RANK = 512
ROPE = 64
CONTEXT = 8192
PAGE = 64


class Model(nn.Module):
    """One decode step of latent attention: all heads share one cached latent (RANK) plus one rotary key (ROPE) per token."""

    def __init__(self, rank, rope, qk_dim):
        super().__init__()
        self.rank = rank
        self.rope = rope
        self.softmax_scale = 1.0 / math.sqrt(qk_dim)

    def forward(self, q_latent, q_rope, cache, block_table, seq_lens):
        batch = q_latent.shape[0]
        page = cache.shape[1]
        out = torch.empty_like(q_latent)
        tokens = torch.arange(block_table.shape[1] * page, device=cache.device)
        for b in range(batch):
            kv = cache[block_table[b].long()].reshape(-1, self.rank + self.rope).float()
            q = torch.cat([q_latent[b], q_rope[b]], dim=-1).float()
            scores = (q @ kv.t()) * self.softmax_scale
            scores = scores.masked_fill(tokens[None, :] >= seq_lens[b], float("-inf"))
            out[b] = (scores.softmax(-1) @ kv[:, : self.rank]).to(out.dtype)
        return out


def get_inputs():
    pages_per_seq = (CONTEXT + PAGE - 1) // PAGE
    q_latent = torch.randn(BATCH, HEADS, RANK).to(torch.float16)
    q_rope = torch.randn(BATCH, HEADS, ROPE).to(torch.float16)
    cache = torch.randn(BATCH * pages_per_seq, PAGE, RANK + ROPE).to(torch.float16)
    block_table = torch.randperm(BATCH * pages_per_seq).reshape(BATCH, pages_per_seq).to(torch.int32)
    seq_lens = (CONTEXT - torch.randint(0, PAGE, (BATCH,))).to(torch.int32)
    return [q_latent, q_rope, cache, block_table, seq_lens]


def get_init_inputs():
    return [RANK, ROPE, 192]
