import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def domain_stats_kernel(
    loss_ptr, domain_ptr, total_ptr, count_ptr, n_tokens, num_domains,
    BLOCK_SIZE: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK_SIZE
    ids = tl.arange(0, BLOCK_D)
    total = tl.zeros([BLOCK_D], dtype=tl.float32)
    count = tl.zeros([BLOCK_D], dtype=tl.float32)

    for start in range(pid * BLOCK_SIZE, n_tokens, step):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        in_range = offsets < n_tokens
        loss = tl.load(loss_ptr + offsets, mask=in_range, other=0.0)
        domain = tl.load(domain_ptr + offsets, mask=in_range, other=-1)
        match = domain[:, None] == ids[None, :]
        total += tl.sum(tl.where(match, loss[:, None], 0.0), axis=0)
        count += tl.sum(match.to(tl.float32), axis=0)

    keep = ids < num_domains
    tl.atomic_add(total_ptr + ids, total, mask=keep, sem="relaxed")
    tl.atomic_add(count_ptr + ids, count, mask=keep, sem="relaxed")


class ModelNew(nn.Module):
    def __init__(self, num_domains):
        super().__init__()
        self.num_domains = num_domains

    def forward(self, loss, domain):
        n = loss.numel()
        stats = torch.zeros((2, self.num_domains), device=loss.device, dtype=torch.float32)
        total, count = stats[0], stats[1]
        BLOCK_SIZE = 512
        grid = (min(triton.cdiv(n, BLOCK_SIZE), 1024),)
        domain_stats_kernel[grid](
            loss, domain, total, count, n, self.num_domains,
            BLOCK_SIZE=BLOCK_SIZE, BLOCK_D=triton.next_power_of_2(self.num_domains), num_warps=4,
        )
        return total / count.clamp(min=1.0), count
