import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _ncdf(x):
    return 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def greeks_kernel(spot_ptr, strike_ptr, tenor_ptr, vol_ptr,
                  price_ptr, delta_ptr, gamma_ptr, vega_ptr, theta_ptr,
                  n, rate, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < n
    spot = tl.load(spot_ptr + offs, mask=live, other=1.0)
    strike = tl.load(strike_ptr + offs, mask=live, other=1.0)
    tenor = tl.load(tenor_ptr + offs, mask=live, other=1.0)
    vol = tl.load(vol_ptr + offs, mask=live, other=1.0)

    root = tl.sqrt(tenor)
    sd = vol * root
    d1 = (tl.log(spot / strike) + (rate + 0.5 * vol * vol) * tenor) / sd
    d2 = d1 - sd
    disc = strike * tl.exp(-rate * tenor)
    pdf = tl.exp(-0.5 * d1 * d1) * 0.3989422804014327
    delta = _ncdf(d1)
    n2 = _ncdf(d2)

    tl.store(price_ptr + offs, spot * delta - disc * n2, mask=live)
    tl.store(delta_ptr + offs, delta, mask=live)
    tl.store(gamma_ptr + offs, pdf / (spot * sd), mask=live)
    tl.store(vega_ptr + offs, spot * pdf * root, mask=live)
    tl.store(theta_ptr + offs, -0.5 * spot * pdf * vol / root - rate * disc * n2, mask=live)


class ModelNew(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, spot, strike, tenor, vol):
        n = spot.numel()
        price, delta, gamma, vega, theta = (torch.empty_like(spot) for _ in range(5))
        BLOCK = 512
        greeks_kernel[(triton.cdiv(n, BLOCK),)](spot, strike, tenor, vol,
                                                price, delta, gamma, vega, theta,
                                                n, self.rate, BLOCK=BLOCK, num_warps=4)
        return price, delta, gamma, vega, theta
