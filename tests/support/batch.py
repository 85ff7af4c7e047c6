"""Small programs for batches: each with its PyTorch reference."""

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, 2.0 * tl.maximum(x, 0.0), mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""

REFERENCE = """
import torch

N = 16777216


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.0


def get_inputs():
    return [torch.randn(N, device="cuda")]


def get_init_inputs():
    return []
"""

#: Torch does the work, and a kernel copies a hundredth of the result onto itself.
LAZY = KERNEL.replace(
    "        y = torch.empty_like(x)\n        scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)\n",
    "        y = torch.relu(x) * 2.0\n        n = x.numel() // 100\n"
    "        scale_kernel[(triton.cdiv(n, 1024),)](x, torch.empty_like(x), n, BLOCK=1024)\n",
)

#: Only a small part of the result is computed.
PARTIAL = KERNEL.replace("(triton.cdiv(x.numel(), 1024),)", "(triton.cdiv(x.numel() // 100, 1024),)")

#: `tl.arange` of what is no power of two: surely refused.
WRONG = KERNEL.replace("BLOCK=1024", "BLOCK=1000")

BROKEN = KERNEL.replace("def forward(self, x):", "def forward(self, x:")

WITHOUT_KERNEL = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"
