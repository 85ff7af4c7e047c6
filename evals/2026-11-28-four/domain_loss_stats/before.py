import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def domain_stats_kernel(loss_ptr, domain_ptr, total_ptr, count_ptr, n_tokens, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    in_range = offsets < n_tokens

    loss = tl.load(loss_ptr + offsets, mask=in_range, other=0.0)
    domain = tl.load(domain_ptr + offsets, mask=in_range, other=-1)
    valid = domain >= 0

    ones = tl.full([BLOCK_SIZE], 1.0, dtype=tl.float32)
    tl.atomic_add(total_ptr + domain, loss, mask=valid, sem="relaxed")
    tl.atomic_add(count_ptr + domain, ones, mask=valid, sem="relaxed")


class ModelNew(nn.Module):
    def __init__(self, num_domains):
        super().__init__()
        self.num_domains = num_domains

    def forward(self, loss, domain):
        n = loss.numel()
        stats = torch.zeros((2, self.num_domains), device=loss.device, dtype=torch.float32)
        total, count = stats[0], stats[1]
        BLOCK_SIZE = 1024
        grid = (triton.cdiv(n, BLOCK_SIZE),)
        domain_stats_kernel[grid](loss, domain, total, count, n, BLOCK_SIZE=BLOCK_SIZE, num_warps=4)
        return total / count.clamp(min=1.0), count
