import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def maxsim(q_ptr, d_ptr, len_ptr, out_ptr, LQ, LD, DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_D: tl.constexpr):
    pair = tl.program_id(0).to(tl.int64)
    length = tl.load(len_ptr + pair)
    qi = tl.arange(0, BLOCK_Q)
    di = tl.arange(0, BLOCK_D)
    c = tl.arange(0, DIM)
    q = tl.load(q_ptr + pair * LQ * DIM + qi[:, None] * DIM + c[None, :], mask=qi[:, None] < LQ, other=0.0)
    best = tl.full((BLOCK_Q,), -1e4, dtype=tl.float32)
    docs = d_ptr + pair * LD * DIM + di[:, None] * DIM + c[None, :]
    for start in range(0, LD, BLOCK_D):
        inside = start + di < length
        d = tl.load(docs + start * DIM, mask=inside[:, None], other=0.0)
        sim = tl.where(inside[None, :], tl.dot(q, tl.trans(d)), -1e4)
        best = tl.maximum(best, tl.max(sim, axis=1))
    tl.store(out_ptr + pair, tl.sum(tl.where(qi < LQ, best, 0.0), axis=0))


class LateInteraction:
    """Scores of query-document pairs."""

    block_d = 64

    def __call__(self, queries, docs, lengths):
        n, lq, dim = queries.shape
        out = torch.empty(n, device=queries.device, dtype=torch.float32)
        block_q = max(16, triton.next_power_of_2(lq))
        maxsim[(n,)](queries, docs, lengths, out, lq, docs.shape[1], DIM=dim, BLOCK_Q=block_q, BLOCK_D=self.block_d)
        return out


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = LateInteraction()

    def forward(self, queries, docs, lengths):
        return self.score(queries, docs, lengths)
