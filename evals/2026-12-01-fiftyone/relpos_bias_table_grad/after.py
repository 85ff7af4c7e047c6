import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_table_grad_kernel(ds_ptr, index_ptr, out_ptr, W, H, SS, WINDOWS: tl.constexpr, BLOCK: tl.constexpr):
    h = tl.program_id(0) % H
    w0 = (tl.program_id(0) // H) * WINDOWS
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < SS
    idx = tl.load(index_ptr + offs, mask=mask, other=0)
    g = tl.zeros([BLOCK], dtype=tl.float32)
    base = ds_ptr + (w0.to(tl.int64) * H + h) * SS
    for i in tl.static_range(WINDOWS):
        limit = tl.where(w0 + i < W, SS, 0)
        g += tl.load(base + i * H * SS + offs, mask=offs < limit, other=0.0).to(tl.float32)
    tl.atomic_add(out_ptr + idx * H + h, g, mask=mask, sem="relaxed")


class ModelNew(nn.Module):
    def __init__(self, ws, heads):
        super().__init__()
        self.ws = ws
        self.heads = heads
        c = torch.stack(torch.meshgrid(torch.arange(ws), torch.arange(ws), indexing="ij")).flatten(1)
        rel = c[:, :, None] - c[:, None, :] + (ws - 1)
        self.register_buffer("index", (rel[0] * (2 * ws - 1) + rel[1]).flatten().to(torch.int32))

    def forward(self, dscore):
        dscore = dscore.contiguous()
        W, H, S, _ = dscore.shape
        out = torch.zeros((2 * self.ws - 1) ** 2, H, device=dscore.device, dtype=torch.float32)
        BLOCK = 512
        WINDOWS = 32
        grid = (triton.cdiv(W, WINDOWS) * H, triton.cdiv(S * S, BLOCK))
        bias_table_grad_kernel[grid](dscore, self.index, out, W, H, S * S, WINDOWS=WINDOWS, BLOCK=BLOCK, num_warps=4)
        return out
