import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def energy_kernel(
    audio_ptr, partial_ptr,
    audio_row_stride, n_samples, chunk, n_chunks,
    BLOCK_SIZE: tl.constexpr,
):
    part = tl.program_id(axis=0)
    row = tl.program_id(axis=1)
    audio_row = audio_ptr + row.to(tl.int64) * audio_row_stride
    first = part * chunk
    last = tl.minimum(first + chunk, n_samples)
    cols = tl.arange(0, BLOCK_SIZE)
    acc = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(first, last, BLOCK_SIZE):
        idx = start + cols
        x = tl.load(audio_row + idx, mask=idx < last, other=0.0)
        acc += x * x
    tl.store(partial_ptr + row * n_chunks + part, tl.sum(acc, axis=0))


@triton.jit
def apply_gain_kernel(
    audio_ptr, out_ptr, partial_ptr,
    audio_row_stride, out_row_stride,
    n_samples, n_chunks, target,
    BLOCK_SIZE: tl.constexpr,
    CHUNKS_POW2: tl.constexpr,
):
    row = tl.program_id(axis=1)
    parts = tl.arange(0, CHUNKS_POW2)
    energy = tl.sum(tl.load(partial_ptr + row * n_chunks + parts, mask=parts < n_chunks, other=0.0), axis=0)
    gain = target / tl.sqrt(energy / n_samples + 1e-8)

    idx = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = idx < n_samples
    x = tl.load(audio_ptr + row.to(tl.int64) * audio_row_stride + idx, mask=mask, other=0.0)
    y = tl.minimum(tl.maximum(x * gain, -1.0), 1.0)
    tl.store(out_ptr + row.to(tl.int64) * out_row_stride + idx, y, mask=mask)


def normalize_loudness(audio: torch.Tensor, target: float) -> torch.Tensor:
    n_clips, n_samples = audio.shape
    out = torch.empty_like(audio)
    BLOCK_SIZE = min(4096, triton.next_power_of_2(n_samples))
    # enough programs for the whole chip, at most 256 partial sums a clip
    wanted = min(256, triton.cdiv(1056, n_clips))
    n_chunks = max(1, min(wanted, triton.cdiv(n_samples, BLOCK_SIZE)))
    chunk = triton.cdiv(triton.cdiv(n_samples, n_chunks), BLOCK_SIZE) * BLOCK_SIZE
    n_chunks = triton.cdiv(n_samples, chunk)
    partial = torch.empty(n_clips, n_chunks, device=audio.device, dtype=torch.float32)
    energy_kernel[(n_chunks, n_clips)](
        audio, partial,
        audio.stride(0), n_samples, chunk, n_chunks,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=8,
    )
    apply_gain_kernel[(triton.cdiv(n_samples, BLOCK_SIZE), n_clips)](
        audio, out, partial,
        audio.stride(0), out.stride(0),
        n_samples, n_chunks, target,
        BLOCK_SIZE=BLOCK_SIZE,
        CHUNKS_POW2=triton.next_power_of_2(n_chunks),
        num_warps=8,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, target_rms):
        super().__init__()
        self.target_rms = target_rms

    def forward(self, audio):
        return normalize_loudness(audio.contiguous(), self.target_rms)
