import torch
import torch.nn as nn

BATCH = 64
PAGES = 128
PAGE = 16
HEADS = 32
KV_HEADS = 8
DIM = 128


class Model(nn.Module):
    """Decoding with a paged cache: one query token a sequence, grouped heads. block_table[b] names the pages of sequence
    b in order; of its PAGES * PAGE slots the first lengths[b] count."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, q, k_cache, v_cache, block_table, lengths):
        b, h, d = q.shape
        k = k_cache[block_table].flatten(1, 2).float()
        v = v_cache[block_table].flatten(1, 2).float()
        grouped = q.float().view(b, k.shape[2], -1, d)
        scores = torch.einsum("bhgd,bshd->bhgs", grouped, k) * self.scale
        outside = torch.arange(k.shape[1], device=q.device)[None, :] >= lengths[:, None]
        p = torch.softmax(scores.masked_fill(outside[:, None, None, :], float("-inf")), dim=-1)
        return torch.einsum("bhgs,bshd->bhgd", p, v).reshape(b, h, d).to(q.dtype)


def get_inputs():
    q = torch.randn(BATCH, HEADS, DIM).half()
    k = torch.randn(BATCH * PAGES, PAGE, KV_HEADS, DIM).half()
    v = torch.randn(BATCH * PAGES, PAGE, KV_HEADS, DIM).half()
    table = torch.randperm(BATCH * PAGES).view(BATCH, PAGES).to(torch.int32)
    lengths = torch.randint(PAGES * PAGE - PAGE, PAGES * PAGE + 1, (BATCH,), dtype=torch.int32)
    return [q, k, v, table, lengths]


def get_init_inputs():
    return [DIM**-0.5]
