import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def energy_kernel(wav_ptr, part_ptr, T, n_chunks, ITERS: tl.constexpr, BLOCK: tl.constexpr):
    chunk = tl.program_id(0)
    clip = tl.program_id(1)
    base = wav_ptr + clip.to(tl.int64) * T
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in tl.static_range(ITERS):
        offs = (chunk * ITERS + i) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(base + offs, mask=offs < T, other=0.0)
        acc += x * x
    tl.store(part_ptr + clip * n_chunks + chunk, tl.sum(acc, axis=0))


@triton.jit
def apply_gain_kernel(wav_ptr, part_ptr, out_ptr, T, n_chunks, target, eps,
                      CHUNKS: tl.constexpr, ITERS: tl.constexpr, BLOCK: tl.constexpr):
    # walk from the end: the tail of the signal is what the first kernel touched last
    chunk = n_chunks - 1 - tl.program_id(0)
    clip = tl.num_programs(1) - 1 - tl.program_id(1)

    c = tl.arange(0, CHUNKS)
    energy = tl.sum(tl.load(part_ptr + clip * n_chunks + c, mask=c < n_chunks, other=0.0), axis=0)
    gain = target / (tl.sqrt(energy / T) + eps)

    row = clip.to(tl.int64) * T
    for i in tl.static_range(ITERS):
        offs = (chunk * ITERS + i) * BLOCK + tl.arange(0, BLOCK)
        m = offs < T
        x = tl.load(wav_ptr + row + offs, mask=m, other=0.0, eviction_policy="evict_first")
        y = tl.minimum(tl.maximum(x * gain, -1.0), 1.0)
        tl.store(out_ptr + row + offs, y, mask=m, eviction_policy="evict_first")


def normalize_loudness(wav, target, eps):
    wav = wav.contiguous()
    clips, T = wav.shape
    BLOCK, ITERS = 2048, 8
    n_chunks = triton.cdiv(T, BLOCK * ITERS)
    parts = torch.empty((clips, n_chunks), device=wav.device, dtype=torch.float32)
    out = torch.empty_like(wav)
    grid = (n_chunks, clips)
    energy_kernel[grid](wav, parts, T, n_chunks, ITERS=ITERS, BLOCK=BLOCK, num_warps=4)
    apply_gain_kernel[grid](wav, parts, out, T, n_chunks, target, eps,
                            CHUNKS=triton.next_power_of_2(n_chunks), ITERS=ITERS, BLOCK=BLOCK, num_warps=4)
    return out


class ModelNew(nn.Module):
    def __init__(self, target_rms: float, eps: float = 1e-6):
        super().__init__()
        self.target_rms = target_rms
        self.eps = eps

    def forward(self, wav):
        return normalize_loudness(wav, self.target_rms, self.eps)
