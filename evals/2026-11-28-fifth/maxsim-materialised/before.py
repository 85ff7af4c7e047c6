import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def token_similarity(q_ptr, d_ptr, sim_ptr, LQ, LD, DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_D: tl.constexpr):
    pair = tl.program_id(2).to(tl.int64)
    qi = tl.program_id(1) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    di = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    c = tl.arange(0, DIM)
    q = tl.load(q_ptr + pair * LQ * DIM + qi[:, None] * DIM + c[None, :], mask=qi[:, None] < LQ, other=0.0)
    d = tl.load(d_ptr + pair * LD * DIM + di[:, None] * DIM + c[None, :], mask=di[:, None] < LD, other=0.0)
    sim = tl.dot(q, tl.trans(d))
    out = sim_ptr + pair * LQ * LD + qi[:, None] * LD + di[None, :]
    tl.store(out, sim, mask=(qi[:, None] < LQ) & (di[None, :] < LD))


class LateInteraction:
    """Scores of query-document pairs."""

    block_q = 32
    block_d = 64

    def similarities(self, queries, docs):
        n, lq, dim = queries.shape
        ld = docs.shape[1]
        sim = torch.empty((n, lq, ld), device=queries.device, dtype=torch.float32)
        grid = (triton.cdiv(ld, self.block_d), triton.cdiv(lq, self.block_q), n)
        token_similarity[grid](queries, docs, sim, lq, ld, DIM=dim, BLOCK_Q=self.block_q, BLOCK_D=self.block_d)
        return sim

    def __call__(self, queries, docs, lengths):
        sim = self.similarities(queries, docs)
        outside = torch.arange(docs.shape[1], device=docs.device)[None, :] >= lengths[:, None]
        sim.masked_fill_(outside[:, None, :], -1e4)
        return sim.amax(dim=-1).sum(dim=-1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = LateInteraction()

    def forward(self, queries, docs, lengths):
        return self.score(queries, docs, lengths)
