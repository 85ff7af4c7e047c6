"""Adam step with block-wise 8-bit states: dequantise, update, requantise in one kernel."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

QBLOCK = 256


def dynamic_map(signed):
    data = [0.0, 1.0]
    for i in range(7):
        b = torch.linspace(0.1, 1.0, 2 ** (i if signed else i + 1) + 1)
        mid = ((b[:-1] + b[1:]) / 2 * 10.0 ** (i - 6)).tolist()
        data += mid + ([-v for v in mid] if signed else [])
    return torch.tensor(sorted(data), dtype=torch.float32)


@triton.jit
def nearest_code(x, bound_ptr):
    # number of midpoints below x, by bisection of the 255 sorted midpoints
    code = tl.zeros(x.shape, dtype=tl.int32)
    for k in tl.static_range(8):
        mid = code + (128 >> k)
        b = tl.load(bound_ptr + mid - 1)
        code = tl.where(x > b, mid, code)
    return code


@triton.jit
def adam8_kernel(p_ptr, g_ptr, mc_ptr, mm_ptr, vc_ptr, vm_ptr,
                 po_ptr, mco_ptr, mmo_ptr, vco_ptr, vmo_ptr,
                 code_m_ptr, bound_m_ptr, code_v_ptr, bound_v_ptr,
                 n, n_blocks, lr, beta1, beta2, eps, decay, c1, c2,
                 QB: tl.constexpr, ROWS: tl.constexpr):
    blk = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    bmask = blk < n_blocks
    offs = blk[:, None] * QB + tl.arange(0, QB)[None, :]
    mask = offs < n

    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    mc = tl.load(mc_ptr + offs, mask=mask, other=0).to(tl.int32)
    vc = tl.load(vc_ptr + offs, mask=mask, other=0).to(tl.int32)
    m_max = tl.load(mm_ptr + blk, mask=bmask, other=0.0)
    v_max = tl.load(vm_ptr + blk, mask=bmask, other=0.0)

    m = tl.load(code_m_ptr + mc) * m_max[:, None]
    v = tl.load(code_v_ptr + vc) * v_max[:, None]
    m = m * beta1 + (1.0 - beta1) * g
    v = v * beta2 + (1.0 - beta2) * g * g
    p = p * decay - lr * (m / c1) / (tl.sqrt(v / c2) + eps)
    tl.store(po_ptr + offs, p, mask=mask)

    m = tl.where(mask, m, 0.0)
    v = tl.where(mask, v, 0.0)
    m_max = tl.maximum(tl.max(tl.abs(m), axis=1), 1e-20)
    v_max = tl.maximum(tl.max(v, axis=1), 1e-20)
    tl.store(mmo_ptr + blk, m_max, mask=bmask)
    tl.store(vmo_ptr + blk, v_max, mask=bmask)
    mc = nearest_code(m / m_max[:, None], bound_m_ptr)
    vc = nearest_code(v / v_max[:, None], bound_v_ptr)
    tl.store(mco_ptr + offs, mc.to(tl.uint8), mask=mask)
    tl.store(vco_ptr + offs, vc.to(tl.uint8), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, lr, beta1, beta2, eps, weight_decay):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.eps, self.weight_decay = lr, beta1, beta2, eps, weight_decay
        for name, signed in (("m", True), ("v", False)):
            q = dynamic_map(signed)
            self.register_buffer(f"code_{name}", q)
            self.register_buffer(f"bound_{name}", (q[1:] + q[:-1]) / 2)

    def forward(self, p, g, m_code, m_max, v_code, v_max, step):
        n = p.numel()
        nb = triton.cdiv(n, QBLOCK)
        po, mco, mmo = torch.empty_like(p), torch.empty_like(m_code), torch.empty_like(m_max)
        vco, vmo = torch.empty_like(v_code), torch.empty_like(v_max)
        adam8_kernel[(triton.cdiv(nb, 4),)](
            p, g, m_code, m_max, v_code, v_max, po, mco, mmo, vco, vmo,
            self.code_m, self.bound_m, self.code_v, self.bound_v,
            n, nb, self.lr, self.beta1, self.beta2, self.eps, 1 - self.lr * self.weight_decay,
            1 - self.beta1 ** step, 1 - self.beta2 ** step, QB=QBLOCK, ROWS=4, num_warps=4)
        return po, mco, mmo, vco, vmo
