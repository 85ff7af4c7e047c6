import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quant_groups_kernel(
    w_ptr, q_ptr, s_ptr,
    n_groups,
    stride_wk, stride_wn,
    stride_qk, stride_qn,
    stride_sg, stride_sn,
    GROUP_SIZE: tl.constexpr,
    GROUPS: tl.constexpr,
):
    col = tl.program_id(0)
    g = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    k = g[:, None] * GROUP_SIZE + tl.arange(0, GROUP_SIZE)[None, :]
    mask = (g < n_groups)[:, None]

    w = tl.load(w_ptr + k * stride_wk + col * stride_wn, mask=mask, other=0.0).to(tl.float32)
    amax = tl.max(tl.abs(w), axis=1)
    scale = tl.maximum(amax, 1e-6) / 127.0
    q = tl.floor(w / scale[:, None] + 0.5)
    q = tl.minimum(tl.maximum(q, -127.0), 127.0)

    tl.store(q_ptr + k * stride_qk + col * stride_qn, q.to(tl.int8), mask=mask)
    tl.store(s_ptr + g * stride_sg + col * stride_sn, scale.to(tl.float16), mask=g < n_groups)


def quantize_weight(w, group_size):
    k, n = w.shape
    n_groups = k // group_size
    q = torch.empty((k, n), dtype=torch.int8, device=w.device)
    s = torch.empty((n_groups, n), dtype=torch.float16, device=w.device)
    groups = 8
    quant_groups_kernel[(n, triton.cdiv(n_groups, groups))](
        w, q, s, n_groups,
        w.stride(0), w.stride(1), q.stride(0), q.stride(1), s.stride(0), s.stride(1),
        GROUP_SIZE=group_size, GROUPS=groups,
    )
    return q, s


class ModelNew(nn.Module):
    def __init__(self, group_size):
        super().__init__()
        self.group_size = group_size

    def forward(self, w):
        return quantize_weight(w, self.group_size)
