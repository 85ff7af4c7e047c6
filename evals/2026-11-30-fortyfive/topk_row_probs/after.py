import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chunk_topk_kernel(logits_ptr, keys_ptr, vocab, chunks, K_PAD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    chunk = tl.program_id(0)
    offs = chunk * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + row.to(tl.int64) * vocab + offs, mask=offs < vocab, other=-float("inf"))
    # sortable key: ordered float bits above, inverted token below (so that ties prefer the lower token)
    bits = x.to(tl.int32, bitcast=True)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    key = (ordered.to(tl.int64) << 32) | (0x7FFFFFFF - offs).to(tl.int64)
    best = tl.topk(key, K_PAD)
    tl.store(keys_ptr + (row * chunks + chunk) * K_PAD + tl.arange(0, K_PAD), best)


@triton.jit
def merge_topk_kernel(
    keys_ptr, temp_ptr, probs_ptr, tokens_ptr, count,
    TOP_K: tl.constexpr, K_PAD: tl.constexpr, BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    lowest = -9223372036854775808
    key = tl.load(keys_ptr + row.to(tl.int64) * count + offs, mask=offs < count, other=lowest)
    best = tl.topk(key, K_PAD)

    offs_k = tl.arange(0, K_PAD)
    k_mask = offs_k < TOP_K
    tokens = 0x7FFFFFFF - (best & 0x7FFFFFFF)
    ordered = (best >> 32).to(tl.int32)
    values = (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
    scaled = tl.where(k_mask, values / tl.load(temp_ptr + row), -float("inf"))
    e = tl.exp(scaled - tl.max(scaled, axis=0))
    tl.store(probs_ptr + row * TOP_K + offs_k, e / tl.sum(e, axis=0), mask=k_mask)
    tl.store(tokens_ptr + row * TOP_K + offs_k, tokens, mask=k_mask)


class ModelNew(nn.Module):
    def __init__(self, top_k):
        super().__init__()
        self.top_k = top_k

    def forward(self, logits, temperature):
        batch, vocab = logits.shape
        probs = torch.empty((batch, self.top_k), dtype=torch.float32, device=logits.device)
        tokens = torch.empty((batch, self.top_k), dtype=torch.int64, device=logits.device)
        K_PAD = triton.next_power_of_2(self.top_k)
        BLOCK = max(2048, K_PAD)
        chunks = triton.cdiv(vocab, BLOCK)
        keys = torch.empty((batch, chunks * K_PAD), dtype=torch.int64, device=logits.device)
        chunk_topk_kernel[(chunks, batch)](logits, keys, vocab, chunks, K_PAD=K_PAD, BLOCK=BLOCK, num_warps=4)
        merge_topk_kernel[(batch,)](
            keys, temperature, probs, tokens, chunks * K_PAD,
            TOP_K=self.top_k, K_PAD=K_PAD, BLOCK=triton.next_power_of_2(chunks * K_PAD),
            num_warps=8,
        )
        return probs, tokens
