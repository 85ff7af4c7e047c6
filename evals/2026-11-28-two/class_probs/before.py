import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def temp_softmax_kernel(logits_ptr, probs_ptr, n_classes, inv_temp, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < n_classes
    z = tl.load(logits_ptr + row * n_classes + col, mask=mask, other=-float("inf")).to(tl.float32)
    z = z * inv_temp
    z = z - tl.max(z, axis=0)
    p = tl.exp(z)
    p = p / tl.sum(p, axis=0)
    tl.store(probs_ptr + row * n_classes + col, p.to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features, classes, temperature):
        super().__init__()
        self.fc = nn.Linear(features, classes).half()
        self.temperature = temperature

    def forward(self, x):
        logits = self.fc(x)
        n, classes = logits.shape
        probs = torch.empty_like(logits)
        temp_softmax_kernel[(n,)](
            logits, probs, classes, 1.0 / self.temperature,
            BLOCK=triton.next_power_of_2(classes), num_warps=4,
        )
        return probs
