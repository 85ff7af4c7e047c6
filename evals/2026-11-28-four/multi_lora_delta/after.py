import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def locate_tile(seg_ptr, pid, adapters, BLOCK_M: tl.constexpr, BLOCK_E: tl.constexpr):
    # tile number -> (adapter, first token, end token); adapter == adapters: nothing to do
    ids = tl.arange(0, BLOCK_E)
    begin = tl.load(seg_ptr + ids, mask=ids < adapters, other=0)
    end = tl.load(seg_ptr + ids + 1, mask=ids < adapters, other=0)
    tiles = (end - begin + BLOCK_M - 1) // BLOCK_M
    last = tl.cumsum(tiles, 0)
    adapter = tl.sum(((last <= pid) & (ids < adapters)).to(tl.int32), 0)
    mine = ids == adapter
    first_tile = tl.sum(tl.where(mine, last - tiles, 0), 0)
    first = tl.sum(tl.where(mine, begin, 0), 0) + (pid - first_tile) * BLOCK_M
    stop = tl.sum(tl.where(mine, end, 0), 0)
    return adapter, first, stop


@triton.jit
def lora_shrink_kernel(
    x_ptr, a_ptr, h_ptr, seg_ptr,
    adapters, hidden, rank,
    stride_xm, stride_ae, stride_ar, stride_hm,
    BLOCK_M: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_E: tl.constexpr,
):
    adapter, first, stop = locate_tile(seg_ptr, tl.program_id(0), adapters, BLOCK_M, BLOCK_E)
    if adapter < adapters:
        rm = first + tl.arange(0, BLOCK_M)
        rr = tl.arange(0, BLOCK_R)
        a_base = a_ptr + adapter.to(tl.int64) * stride_ae
        acc = tl.zeros((BLOCK_M, BLOCK_R), dtype=tl.float32)
        for k0 in range(0, hidden, BLOCK_K):
            rk = k0 + tl.arange(0, BLOCK_K)
            x = tl.load(x_ptr + rm[:, None] * stride_xm + rk[None, :],
                        mask=(rm[:, None] < stop) & (rk[None, :] < hidden), other=0.0)
            a = tl.load(a_base + rr[None, :] * stride_ar + rk[:, None],
                        mask=(rr[None, :] < rank) & (rk[:, None] < hidden), other=0.0)
            acc += tl.dot(x, a)
        tl.store(h_ptr + rm[:, None] * stride_hm + rr[None, :], acc.to(tl.float16),
                 mask=(rm[:, None] < stop) & (rr[None, :] < rank))


@triton.jit
def lora_expand_kernel(
    h_ptr, b_ptr, base_ptr, y_ptr, seg_ptr,
    adapters, n_out, rank, scaling,
    stride_hm, stride_be, stride_bn, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_E: tl.constexpr,
):
    adapter, first, stop = locate_tile(seg_ptr, tl.program_id(0), adapters, BLOCK_M, BLOCK_E)
    if adapter < adapters:
        pid_n = tl.program_id(1)
        rm = first + tl.arange(0, BLOCK_M)
        rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        rr = tl.arange(0, BLOCK_R)
        h = tl.load(h_ptr + rm[:, None] * stride_hm + rr[None, :],
                    mask=(rm[:, None] < stop) & (rr[None, :] < rank), other=0.0)
        b = tl.load(b_ptr + adapter.to(tl.int64) * stride_be + rn[None, :] * stride_bn + rr[:, None],
                    mask=(rn[None, :] < n_out) & (rr[:, None] < rank), other=0.0)
        delta = tl.dot(h, b)
        offs = rm[:, None] * stride_ym + rn[None, :]
        mask = (rm[:, None] < stop) & (rn[None, :] < n_out)
        base = tl.load(base_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + offs, (base + scaling * delta).to(tl.float16), mask=mask)


def apply_adapters(x, base, seg_offsets, lora_a, lora_b, scaling):
    n_tokens, hidden = x.shape
    adapters, rank, _ = lora_a.shape
    n_out = lora_b.shape[1]
    y = torch.empty_like(base)
    h = torch.empty((n_tokens, rank), device=x.device, dtype=x.dtype)
    BLOCK_M, BLOCK_N, BLOCK_K = 32, 128, 128
    BLOCK_R = max(16, triton.next_power_of_2(rank))
    BLOCK_E = triton.next_power_of_2(adapters)

    # every segment may end in one partly filled tile
    max_tiles = triton.cdiv(n_tokens, BLOCK_M) + adapters
    lora_shrink_kernel[(max_tiles,)](
        x, lora_a, h, seg_offsets,
        adapters, hidden, rank,
        x.stride(0), lora_a.stride(0), lora_a.stride(1), h.stride(0),
        BLOCK_M=BLOCK_M, BLOCK_R=BLOCK_R, BLOCK_K=BLOCK_K, BLOCK_E=BLOCK_E,
        num_warps=4, num_stages=3,
    )
    lora_expand_kernel[(max_tiles, triton.cdiv(n_out, BLOCK_N))](
        h, lora_b, base, y, seg_offsets,
        adapters, n_out, rank, scaling,
        h.stride(0), lora_b.stride(0), lora_b.stride(1), y.stride(0),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_R=BLOCK_R, BLOCK_E=BLOCK_E,
        num_warps=4,
    )
    return y


class ModelNew(nn.Module):
    def __init__(self, adapters, hidden, out, rank):
        super().__init__()
        self.lora_a = nn.Parameter((torch.randn(adapters, rank, hidden) * 0.02).half())
        self.lora_b = nn.Parameter((torch.randn(adapters, out, rank) * 0.1).half())
        self.scaling = 2.0

    def forward(self, x, base, seg_offsets):
        return apply_adapters(x, base, seg_offsets, self.lora_a, self.lora_b, self.scaling)
