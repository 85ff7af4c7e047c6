import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_cdf(x):
    return 0.5 * (1.0 + tl.math.erf(x * 0.7071067811865476))


@triton.jit
def greeks_kernel(
    spot_ptr, strike_ptr, tenor_ptr, vol_ptr, call_ptr,
    price_ptr, delta_ptr, vega_ptr,
    n, rate,
    BLOCK: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    s = tl.load(spot_ptr + offs, mask=mask, other=1.0)
    k = tl.load(strike_ptr + offs, mask=mask, other=1.0)
    t = tl.load(tenor_ptr + offs, mask=mask, other=1.0)
    v = tl.load(vol_ptr + offs, mask=mask, other=1.0)
    is_call = tl.load(call_ptr + offs, mask=mask, other=0) != 0

    sqrt_t = tl.sqrt(t)
    d1 = (tl.log(s / k) + (rate + 0.5 * v * v) * t) / (v * sqrt_t)
    d2 = d1 - v * sqrt_t
    disc_k = k * tl.exp(-rate * t)
    nd1 = norm_cdf(d1)
    nd2 = norm_cdf(d2)

    call = s * nd1 - disc_k * nd2
    price = tl.where(is_call, call, call - s + disc_k)
    delta = tl.where(is_call, nd1, nd1 - 1.0)
    vega = s * sqrt_t * tl.exp(-0.5 * d1 * d1) * 0.3989422804014327

    tl.store(price_ptr + offs, price, mask=mask)
    tl.store(delta_ptr + offs, delta, mask=mask)
    tl.store(vega_ptr + offs, vega, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, spot, strike, tenor, vol, is_call):
        n = spot.numel()
        price = torch.empty_like(spot)
        delta = torch.empty_like(spot)
        vega = torch.empty_like(spot)
        BLOCK = 512
        greeks_kernel[(triton.cdiv(n, BLOCK),)](
            spot, strike, tenor, vol, is_call, price, delta, vega,
            n, self.rate, BLOCK=BLOCK, num_warps=4,
        )
        return price, delta, vega
