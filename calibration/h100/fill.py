"""What the buffers of the benchmark hold: noise, and indices in the orders that programs meet them in."""

from __future__ import annotations

import torch
from case import Buffer

#: Indices that are nearly sorted stray from their place by at most so many elements to either side.
STRAY = 128
#: Distinct values of an index of few.
FEW = 16
#: Elements from one strided index to the next: never in the same 128-byte line, whatever the type.
STRIDE = 129


def filled(buffer: Buffer, device: str) -> torch.Tensor:
    """A flat tensor of what ``buffer`` says."""
    dtype, n, below = getattr(torch, buffer.dtype), buffer.numel, buffer.below
    if not below:
        if dtype.is_floating_point:
            return torch.randn(n, device=device).to(dtype)
        return torch.randint(-127 if dtype.is_signed else 0, 128, (n,), device=device, dtype=dtype)
    order = buffer.order
    if order == "segments":
        return torch.arange(n, device=device, dtype=dtype) * below
    if order == "stride":
        return (torch.arange(n, device=device) * STRIDE % below).to(dtype)
    if order == "permuted":
        return (torch.randperm(n, device=device) % below).to(dtype)
    if order == "few":
        values = min(FEW, below)
        return torch.randint(0, values, (n,), device=device, dtype=dtype) * (below // values)
    if order == "near":
        place = torch.arange(n, device=device) * below // n
        return (place + torch.randint(-STRAY, STRAY, (n,), device=device)).clamp(0, below - 1).to(dtype)
    random = torch.randint(0, below, (n,), device=device, dtype=dtype)
    return random.sort().values if order == "sorted" else random
