"""ColBERT MaxSim reranking in Triton: token similarities on tensor cores, then the masked max and the weighted sum."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def token_sims_kernel(
    q_ptr, docs_ptr, sims_ptr, n_rows, query_len, dim,
    BLOCK_M: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # all document tokens as one tall matrix [n_docs * doc_len, dim] times query^T
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    qs = tl.arange(0, BLOCK_Q)
    ds = tl.arange(0, BLOCK_D)
    row_mask = rows < n_rows
    doc = tl.load(
        docs_ptr + rows[:, None] * dim + ds[None, :], mask=row_mask[:, None] & (ds < dim)[None, :], other=0.0,
    )
    q_t = tl.load(
        q_ptr + qs[None, :] * dim + ds[:, None], mask=(qs < query_len)[None, :] & (ds < dim)[:, None], other=0.0,
    )
    sims = tl.dot(doc, q_t)
    tl.store(
        sims_ptr + rows[:, None] * query_len + qs[None, :], sims,
        mask=row_mask[:, None] & (qs < query_len)[None, :],
    )


@triton.jit
def max_sum_kernel(
    sims_ptr, lens_ptr, w_ptr, score_ptr, doc_len, query_len,
    BLOCK_L: tl.constexpr, BLOCK_Q: tl.constexpr,
):
    d = tl.program_id(0)
    length = tl.load(lens_ptr + d)
    qs = tl.arange(0, BLOCK_Q)
    q_mask = qs < query_len
    js = tl.arange(0, BLOCK_L)
    base = sims_ptr + d.to(tl.int64) * doc_len * query_len
    sims = tl.load(
        base + js[:, None] * query_len + qs[None, :],
        mask=(js < length)[:, None] & q_mask[None, :], other=float("-inf"),
    )
    best = tl.where(q_mask, tl.max(sims, axis=0), 0.0)
    w = tl.load(w_ptr + qs, mask=q_mask, other=0.0)
    tl.store(score_ptr + d, tl.sum(best * w, axis=0))


class ModelNew(nn.Module):
    def __init__(self, query_len):
        super().__init__()
        self.term_weight = nn.Parameter(torch.ones(query_len))

    def forward(self, query, docs, doc_lens):
        query, docs = query.contiguous(), docs.contiguous()
        n_docs, doc_len, dim = docs.shape
        query_len = query.shape[0]
        n_rows = n_docs * doc_len
        sims = torch.empty(n_docs, doc_len, query_len, device=docs.device, dtype=torch.float32)
        scores = torch.empty(n_docs, device=docs.device, dtype=torch.float32)
        BLOCK_Q = max(16, triton.next_power_of_2(query_len))
        BLOCK_D = max(16, triton.next_power_of_2(dim))
        BLOCK_M = 128
        token_sims_kernel[(triton.cdiv(n_rows, BLOCK_M),)](
            query, docs, sims, n_rows, query_len, dim,
            BLOCK_M=BLOCK_M, BLOCK_Q=BLOCK_Q, BLOCK_D=BLOCK_D, num_warps=4,
        )
        max_sum_kernel[(n_docs,)](
            sims, doc_lens, self.term_weight, scores, doc_len, query_len,
            BLOCK_L=triton.next_power_of_2(doc_len), BLOCK_Q=BLOCK_Q, num_warps=4,
        )
        return scores
