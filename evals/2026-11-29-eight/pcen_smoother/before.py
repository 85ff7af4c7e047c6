import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def _compress(e, m, alpha, delta, root, eps):
    gain = tl.exp(-alpha * tl.log(m + eps))
    return tl.exp(root * tl.log(e * gain + delta)) - tl.exp(root * tl.log(delta))


@triton.jit
def pcen_fwd(
    mel, out,
    stride_b, stride_t,
    T, F,
    smooth, alpha, delta, root, eps,
    BF: tl.constexpr,
):
    b = tl.program_id(0)
    f = tl.program_id(1) * BF + tl.arange(0, BF)
    ok = f < F
    src = mel + b.to(tl.int64) * stride_b + f
    dst = out + b.to(tl.int64) * stride_b + f
    delta = delta + tl.zeros((BF,), tl.float32)

    m = tl.load(src, mask=ok, other=1.0)
    for t in range(0, T):
        e = tl.load(src + t * stride_t, mask=ok, other=1.0)
        m = m + smooth * (e - m)
        tl.store(dst + t * stride_t, _compress(e, m, alpha, delta, root, eps), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, smooth, alpha, delta, root, eps):
        super().__init__()
        self.args = (smooth, alpha, delta, root, eps)

    def forward(self, mel):
        mel = mel.contiguous()
        B, T, F = mel.shape
        out = torch.empty_like(mel)
        BF = 32
        grid = (B, triton.cdiv(F, BF))
        pcen_fwd[grid](mel, out, mel.stride(0), mel.stride(1), T, F, *self.args, BF=BF, num_warps=1)
        return out
