import functools

import torch
import torch.nn as nn
import triton
import triton.language as tl


@functools.lru_cache
def multiprocessors(index):
    return torch.cuda.get_device_properties(index).multi_processor_count


@triton.jit
def tile_of(tile, num_m, num_n, GROUP_M: tl.constexpr):
    per_group = GROUP_M * num_n
    group = tile // per_group
    first = group * GROUP_M
    height = tl.minimum(num_m - first, GROUP_M)
    return first + (tile % per_group) % height, (tile % per_group) // height


@triton.jit
def persistent_linear(
    x_ptr, w_ptr, b_ptr, y_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr,
):
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    ks = tl.arange(0, BK)
    for tile in range(tl.program_id(0), num_m * num_n, tl.num_programs(0)):
        pid_m, pid_n = tile_of(tile, num_m, num_n, GROUP_M)
        rows = pid_m * BM + tl.arange(0, BM)
        cols = pid_n * BN + tl.arange(0, BN)
        x_tile = x_ptr + (rows % M)[:, None] * K + ks[None, :]
        w_tile = w_ptr + (cols % N)[None, :] * K + ks[:, None]
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            x = tl.load(x_tile + k, mask=ks[None, :] < K - k, other=0.0)
            w = tl.load(w_tile + k, mask=ks[:, None] < K - k, other=0.0)
            acc = tl.dot(x, w, acc)
        acc += tl.load(b_ptr + cols, mask=cols < N, other=0.0)[None, :]
        acc = tl.maximum(acc, 0.0)
        inside = (rows < M)[:, None] & (cols < N)[None, :]
        tl.store(y_ptr + rows[:, None] * N + cols[None, :], (acc * acc).to(tl.float16), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(out_dim, in_dim) * in_dim**-0.5).half())
        self.bias = nn.Parameter((torch.randn(out_dim) * 0.1).half())

    def forward(self, x):
        (m, k), n = x.shape, self.weight.shape[0]
        y = torch.empty((m, n), device=x.device, dtype=x.dtype)
        tiles = triton.cdiv(m, 128) * triton.cdiv(n, 128)
        programs = min(multiprocessors(x.device.index) if x.is_cuda else 4, tiles)
        persistent_linear[(programs,)](
            x, self.weight, self.bias, y, m, n, k, BM=128, BN=128, BK=64, GROUP_M=8, num_warps=8, num_stages=3
        )
        return y
