import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def route_kernel(
    logits_ptr, weight_ptr, expert_ptr, tokens, E: tl.constexpr, BLOCK_E: tl.constexpr, K: tl.constexpr, BLOCK_T: tl.constexpr
):
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    e = tl.arange(0, BLOCK_E)
    k = tl.arange(0, K)
    ok = t < tokens
    left = tl.load(logits_ptr + t[:, None] * E + e[None, :], mask=ok[:, None] & (e < E)[None, :], other=float("-inf"))
    best = tl.zeros((BLOCK_T, K), tl.float32)
    chosen = tl.zeros((BLOCK_T, K), tl.int32)
    for i in tl.static_range(K):
        top, which = tl.max(left, axis=1, return_indices=True)
        best = tl.where(k[None, :] == i, top[:, None], best)
        chosen = tl.where(k[None, :] == i, which[:, None], chosen)
        left = tl.where(e[None, :] == which[:, None], float("-inf"), left)
    p = tl.exp(best - tl.max(best, axis=1)[:, None])
    p = p / tl.sum(p, axis=1)[:, None]
    where = t[:, None] * K + k[None, :]
    tl.store(weight_ptr + where, p, mask=ok[:, None])
    tl.store(expert_ptr + where, chosen, mask=ok[:, None])


class ModelNew(nn.Module):
    def __init__(self, top_k):
        super().__init__()
        self.top_k = top_k

    def forward(self, logits):
        tokens, experts = logits.shape
        weight = torch.empty((tokens, self.top_k), device=logits.device, dtype=torch.float32)
        expert = torch.empty((tokens, self.top_k), device=logits.device, dtype=torch.int32)
        grid = lambda meta: (triton.cdiv(tokens, meta["BLOCK_T"]),)
        route_kernel[grid](
            logits, weight, expert, tokens,
            E=experts, BLOCK_E=triton.next_power_of_2(experts), K=self.top_k, BLOCK_T=32, num_warps=4,
        )
        return weight, expert
