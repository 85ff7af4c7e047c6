"""Hashed n-gram bag encoder: gather, idf-weighted mean and L2 normalization in one kernel."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bag_encode_kernel(
    terms_ptr, n_terms_ptr, table_ptr, idf_ptr, out_ptr, max_terms, dim,
    BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr,
):
    doc = tl.program_id(0).to(tl.int64)
    n = tl.load(n_terms_ptr + doc)
    ts = tl.arange(0, BLOCK_T)
    ds = tl.arange(0, BLOCK_D)
    ids = tl.load(terms_ptr + doc * max_terms + ts, mask=ts < max_terms, other=0)
    t_mask = ts < n
    d_mask = ds < dim
    # all rows of the document are requested at once, each a contiguous run of dim elements
    rows = tl.load(
        table_ptr + ids[:, None] * dim + ds[None, :],
        mask=t_mask[:, None] & d_mask[None, :], other=0.0,
    )
    w = tl.load(idf_ptr + ids, mask=t_mask, other=0.0)
    vec = tl.sum(rows.to(tl.float32) * w[:, None], axis=0) / tl.sum(w, axis=0)
    norm = tl.sqrt(tl.sum(vec * vec, axis=0))
    vec = vec / tl.maximum(norm, 1e-6)
    tl.store(out_ptr + doc * dim + ds, vec.to(out_ptr.dtype.element_ty), mask=d_mask)


class ModelNew(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Parameter((torch.randn(vocab, dim) * 0.1).bfloat16())
        self.register_buffer("idf", torch.ones(vocab))

    def forward(self, terms, n_terms):
        terms = terms.contiguous()
        n_docs, max_terms = terms.shape
        dim = self.table.shape[1]
        out = torch.empty(n_docs, dim, device=terms.device, dtype=self.table.dtype)
        bag_encode_kernel[(n_docs,)](
            terms, n_terms, self.table, self.idf, out, max_terms, dim,
            BLOCK_T=triton.next_power_of_2(max_terms),
            BLOCK_D=triton.next_power_of_2(dim),
            num_warps=4,
        )
        return out
