"""ColBERT MaxSim reranking in Triton: one program per document, the similarities never leave the registers."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def maxsim_kernel(
    q_ptr, docs_ptr, lens_ptr, w_ptr, score_ptr, doc_len, query_len, dim,
    BLOCK_L: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_D: tl.constexpr,
):
    d = tl.program_id(0)
    length = tl.load(lens_ptr + d)
    qs = tl.arange(0, BLOCK_Q)
    ds = tl.arange(0, BLOCK_D)
    q_mask = qs < query_len
    d_mask = ds < dim
    q_t = tl.load(q_ptr + qs[None, :] * dim + ds[:, None], mask=q_mask[None, :] & d_mask[:, None], other=0.0)
    base = docs_ptr + d.to(tl.int64) * doc_len * dim
    best = tl.full([BLOCK_Q], float("-inf"), dtype=tl.float32)
    for start in range(0, doc_len, BLOCK_L):
        js = start + tl.arange(0, BLOCK_L)
        valid = js < length
        doc = tl.load(base + js[:, None] * dim + ds[None, :], mask=valid[:, None] & d_mask[None, :], other=0.0)
        sims = tl.dot(doc, q_t)
        sims = tl.where(valid[:, None], sims, float("-inf"))
        best = tl.maximum(best, tl.max(sims, axis=0))
    w = tl.load(w_ptr + qs, mask=q_mask, other=0.0)
    tl.store(score_ptr + d, tl.sum(tl.where(q_mask, best, 0.0) * w, axis=0))


class ModelNew(nn.Module):
    def __init__(self, query_len):
        super().__init__()
        self.term_weight = nn.Parameter(torch.ones(query_len))

    def forward(self, query, docs, doc_lens):
        query, docs = query.contiguous(), docs.contiguous()
        n_docs, doc_len, dim = docs.shape
        query_len = query.shape[0]
        scores = torch.empty(n_docs, device=docs.device, dtype=torch.float32)
        maxsim_kernel[(n_docs,)](
            query, docs, doc_lens, self.term_weight, scores, doc_len, query_len, dim,
            BLOCK_L=min(128, max(16, triton.next_power_of_2(doc_len))),
            BLOCK_Q=max(16, triton.next_power_of_2(query_len)),
            BLOCK_D=max(16, triton.next_power_of_2(dim)), num_warps=4, num_stages=2,
        )
        return scores
