import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def focal(x, t, alpha):
    small = tl.exp(-tl.abs(x))
    bce = tl.maximum(x, 0.0) - x * t + tl.log(1.0 + small)
    p = tl.where(x >= 0, 1.0, small) / (1.0 + small)
    miss = p * (1 - t) + (1 - p) * t
    return (alpha * t + (1 - alpha) * (1 - t)) * miss * miss * bce


@triton.jit
def focal_mean_kernel(x_ptr, t_ptr, loss_ptr, n, alpha, BLOCK: tl.constexpr):
    """Each program walks over the input in steps of the whole grid, adds up in registers, and adds once to the result."""
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        t = tl.load(t_ptr + i, mask=i < n, other=0.0)
        total += tl.where(i < n, focal(x, t, alpha), 0.0)
    tl.atomic_add(loss_ptr, tl.sum(total, axis=0) / n, sem="relaxed")


def sm_count(device):
    return torch.cuda.get_device_properties(device).multi_processor_count


class ModelNew(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, logits, target):
        loss = torch.zeros((), device=logits.device, dtype=torch.float32)
        n = logits.numel()
        programs = min(8 * sm_count(logits.device), triton.cdiv(n, 2048))
        focal_mean_kernel[(programs,)](logits, target, loss, n, self.alpha, BLOCK=2048, num_warps=4)
        return loss
