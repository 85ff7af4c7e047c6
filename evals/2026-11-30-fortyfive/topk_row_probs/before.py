import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def topk_probs_kernel(
    logits_ptr, temp_ptr, probs_ptr, tokens_ptr, vocab,
    TOP_K: tl.constexpr, K_PAD: tl.constexpr, BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    logits_ptr += row.to(tl.int64) * vocab
    offs_k = tl.arange(0, K_PAD)
    values = tl.full([K_PAD], -float("inf"), dtype=tl.float32)
    tokens = tl.zeros([K_PAD], dtype=tl.int32)

    # the order is (value descending, token ascending): each round looks for what comes right after the last winner
    last_value = float("inf")
    last_token = -1
    for i in range(TOP_K):
        best = tl.full([BLOCK], -float("inf"), dtype=tl.float32)
        best_tok = tl.full([BLOCK], 2147483647, dtype=tl.int32)
        for start in range(0, vocab, BLOCK):
            offs = start + tl.arange(0, BLOCK)
            x = tl.load(logits_ptr + offs, mask=offs < vocab, other=-float("inf"))
            open_ = (x < last_value) | ((x == last_value) & (offs > last_token))
            better = open_ & (x > best)
            best = tl.where(better, x, best)
            best_tok = tl.where(better, offs, best_tok)
        last_value = tl.max(best, axis=0)
        last_token = tl.min(tl.where(best == last_value, best_tok, 2147483647), axis=0)
        values = tl.where(offs_k == i, last_value, values)
        tokens = tl.where(offs_k == i, last_token, tokens)

    k_mask = offs_k < TOP_K
    scaled = values / tl.load(temp_ptr + row)
    e = tl.exp(scaled - tl.max(scaled, axis=0))
    e = tl.where(k_mask, e, 0.0)
    tl.store(probs_ptr + row * TOP_K + offs_k, e / tl.sum(e, axis=0), mask=k_mask)
    tl.store(tokens_ptr + row * TOP_K + offs_k, tokens.to(tl.int64), mask=k_mask)


class ModelNew(nn.Module):
    def __init__(self, top_k):
        super().__init__()
        self.top_k = top_k

    def forward(self, logits, temperature):
        batch, vocab = logits.shape
        probs = torch.empty((batch, self.top_k), dtype=torch.float32, device=logits.device)
        tokens = torch.empty((batch, self.top_k), dtype=torch.int64, device=logits.device)
        topk_probs_kernel[(batch,)](
            logits, temperature, probs, tokens, vocab,
            TOP_K=self.top_k, K_PAD=triton.next_power_of_2(self.top_k), BLOCK=8192,
            num_warps=16,
        )
        return probs, tokens
