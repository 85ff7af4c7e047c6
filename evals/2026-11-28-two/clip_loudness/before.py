import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loudness_kernel(
    audio_ptr, out_ptr,
    audio_row_stride, out_row_stride,
    n_samples, target,
    BLOCK_SIZE: tl.constexpr,
):
    row = tl.program_id(axis=0)
    audio_row = audio_ptr + row.to(tl.int64) * audio_row_stride
    out_row = out_ptr + row.to(tl.int64) * out_row_stride
    cols = tl.arange(0, BLOCK_SIZE)

    # energy of the clip
    acc = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, n_samples, BLOCK_SIZE):
        idx = start + cols
        x = tl.load(audio_row + idx, mask=idx < n_samples, other=0.0)
        acc += x * x
    rms = tl.sqrt(tl.sum(acc, axis=0) / n_samples + 1e-8)
    gain = target / rms

    # apply gain and limiter
    for start in range(0, n_samples, BLOCK_SIZE):
        idx = start + cols
        mask = idx < n_samples
        x = tl.load(audio_row + idx, mask=mask, other=0.0)
        y = x * gain
        y = tl.minimum(tl.maximum(y, -1.0), 1.0)
        tl.store(out_row + idx, y, mask=mask)


def normalize_loudness(audio: torch.Tensor, target: float) -> torch.Tensor:
    n_clips, n_samples = audio.shape
    out = torch.empty_like(audio)
    BLOCK_SIZE = min(4096, triton.next_power_of_2(n_samples))
    loudness_kernel[(n_clips,)](
        audio, out,
        audio.stride(0), out.stride(0),
        n_samples, target,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=8,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, target_rms):
        super().__init__()
        self.target_rms = target_rms

    def forward(self, audio):
        return normalize_loudness(audio.contiguous(), self.target_rms)
