import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_cdf(x):
    return 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def bsm_kernel(
    spot_ptr, strike_ptr, vol_ptr, expiry_ptr,
    rate_ptr, dividend_ptr,
    price_ptr, delta_ptr, vega_ptr,
    n,
    BLOCK: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n

    # market data shared by the whole book
    r = tl.load(rate_ptr)
    q = tl.load(dividend_ptr)

    s = tl.load(spot_ptr + offs, mask=mask, other=1.0)
    k = tl.load(strike_ptr + offs, mask=mask, other=1.0)
    v = tl.load(vol_ptr + offs, mask=mask, other=1.0)
    t = tl.load(expiry_ptr + offs, mask=mask, other=1.0)

    sqrt_t = tl.sqrt(t)
    vol_t = v * sqrt_t
    d1 = (tl.log(s / k) + (r - q + 0.5 * v * v) * t) / vol_t
    d2 = d1 - vol_t

    disc = tl.exp(-r * t)
    growth = tl.exp(-q * t)
    cdf1 = norm_cdf(d1)
    cdf2 = norm_cdf(d2)
    pdf1 = tl.exp(-0.5 * d1 * d1) * 0.3989422804014327

    tl.store(price_ptr + offs, s * growth * cdf1 - k * disc * cdf2, mask=mask)
    tl.store(delta_ptr + offs, growth * cdf1, mask=mask)
    tl.store(vega_ptr + offs, s * growth * pdf1 * sqrt_t, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, rate, dividend):
        super().__init__()
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64))
        self.register_buffer("dividend", torch.tensor(dividend, dtype=torch.float64))

    def forward(self, spot, strike, vol, expiry):
        n = spot.numel()
        price = torch.empty_like(spot)
        delta = torch.empty_like(spot)
        vega = torch.empty_like(spot)
        BLOCK = 512
        bsm_kernel[(triton.cdiv(n, BLOCK),)](
            spot.contiguous(), strike.contiguous(), vol.contiguous(), expiry.contiguous(),
            self.rate, self.dividend,
            price, delta, vega,
            n, BLOCK=BLOCK, num_warps=4,
        )
        return price, delta, vega
