import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def block_histogram_kernel(ids_ptr, hist_ptr, N, E: tl.constexpr, EP: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    e = tl.arange(0, EP)
    ids = tl.load(ids_ptr + i, mask=i < N, other=-1)
    hist = tl.sum((ids[:, None] == e[None, :]).to(tl.int32), axis=0)
    tl.store(hist_ptr + pid * E + e, hist, mask=e < E)


@triton.jit
def scan_blocks_kernel(hist_ptr, base_ptr, total_ptr, NB, E: tl.constexpr, NBP: tl.constexpr):
    # one program for each expert: its count in all earlier blocks
    e = tl.program_id(0)
    b = tl.arange(0, NBP)
    h = tl.load(hist_ptr + b * E + e, mask=b < NB, other=0)
    tl.store(base_ptr + b * E + e, tl.cumsum(h, axis=0) - h, mask=b < NB)
    tl.store(total_ptr + e, tl.sum(h, axis=0))


@triton.jit
def dispatch_rank_kernel(ids_ptr, base_ptr, total_ptr, order_ptr, dest_ptr, offsets_ptr, N,
                         E: tl.constexpr, EP: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    e = tl.arange(0, EP)
    ids = tl.load(ids_ptr + i, mask=i < N, other=-1)
    total = tl.load(total_ptr + e, mask=e < E, other=0)
    last = tl.cumsum(total, axis=0)
    if pid == 0:
        tl.store(offsets_ptr + e, last - total, mask=e < E)
        tl.store(offsets_ptr + E, tl.sum(total, axis=0))
    start = last - total + tl.load(base_ptr + pid * E + e, mask=e < E, other=0)
    hot = (ids[:, None] == e[None, :]).to(tl.int32)
    local = tl.cumsum(hot, axis=0) - hot
    rank = tl.sum(hot * (local + start[None, :]), axis=1)
    tl.store(dest_ptr + i, rank, mask=i < N)
    tl.store(order_ptr + rank, i, mask=i < N)


class ModelNew(nn.Module):
    def __init__(self, num_experts):
        super().__init__()
        self.num_experts = num_experts

    def forward(self, topk_ids):
        n, e = topk_ids.numel(), self.num_experts
        dev = topk_ids.device
        ep = triton.next_power_of_2(e)
        block = 64 if n <= 16384 else 256
        nb = triton.cdiv(n, block)
        order = torch.empty(n, dtype=torch.int32, device=dev)
        dest = torch.empty(n, dtype=torch.int32, device=dev)
        offsets = torch.empty(e + 1, dtype=torch.int32, device=dev)
        hist = torch.empty((nb, e), dtype=torch.int32, device=dev)
        base = torch.empty((nb, e), dtype=torch.int32, device=dev)
        total = torch.empty(e, dtype=torch.int32, device=dev)
        block_histogram_kernel[(nb,)](topk_ids, hist, n, E=e, EP=ep, BLOCK=block, num_warps=4)
        scan_blocks_kernel[(e,)](hist, base, total, nb, E=e, NBP=triton.next_power_of_2(nb), num_warps=4)
        dispatch_rank_kernel[(nb,)](topk_ids, base, total, order, dest, offsets, n, E=e, EP=ep, BLOCK=block, num_warps=8)
        return order, dest, offsets
