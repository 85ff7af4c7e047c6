"""What tracing has shown that reading got wrong: each beside what torch does."""

from __future__ import annotations

import pytest

from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import HostSync, TorchOp, Workload

PROGRAM = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl

@triton.jit
def k(x, MODE: tl.constexpr):
    tl.store(x, 0.0)

MODES = {torch.float16: 1, torch.float32: 2}

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, x, y, ids):
        z = EXPRESSION
        k[(1,)](z, MODE=MODES[x.dtype])
        return z

def get_inputs():
    return [torch.randn(4, 6, 8, 8), torch.randn(4, 8, 6, 8), torch.randint(0, 6, (4,))]
"""


def followed(expression: str) -> Workload:
    (workload,) = Program(parse_module(PROGRAM.replace("EXPRESSION", expression), "k.py")).workloads()
    return workload


def work(expression: str) -> list[tuple[str, tuple[object, ...] | None]]:
    ops = [step for step in followed(expression).steps if isinstance(step, TorchOp) and step.kind != "alloc"]
    return [(op.kind, op.writes[0].shape) for op in ops]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x @ x", [("matmul", (4, 6, 8, 8))]),
        ("x @ x.transpose(-1, -2)", [("matmul", (4, 6, 8, 8))]),
        # Heads that lie behind the sequence are no batch of matrices: torch copies them first.
        ("x @ y.transpose(1, 2)", [("transpose", (24, 8, 8)), ("matmul", (4, 6, 8, 8))]),
        ("x @ x[:, :1]", [("copy", (24, 8, 8)), ("matmul", (4, 6, 8, 8))]),
        ("torch.einsum('bhqd,bkhd->bhqk', x, y)", [("transpose", (24, 8, 8)), ("matmul", (4, 6, 8, 8))]),
        ("torch.einsum('bhqd,bhkd->bhqk', x, x)", [("matmul", (4, 6, 8, 8))]),
        ("2.0 / x", [("elementwise", (4, 6, 8, 8))] * 2),
        ("x / 2.0", [("elementwise", (4, 6, 8, 8))]),
        ("F.cross_entropy(x[:, :, 0, 0], ids)", [("softmax", (4, 6)), ("gather", ())]),
        ("F.pixel_shuffle(torch.relu(x[:, :4]), 2)", [("elementwise", (4, 4, 8, 8)), ("transpose", (4, 1, 16, 16))]),
        ("F.max_pool2d(x, 3, 1, 0, 2)", [("reduce", (4, 6, 4, 4))]),
        ("F.max_pool2d(x, 3, 2, ceil_mode=True)", [("reduce", (4, 6, 4, 4))]),
        ("F.avg_pool2d(x, 3, 2)", [("reduce", (4, 6, 3, 3))]),
        ("self.drop(x)", [("elementwise", (4, 6, 8, 8))]),
        ("x if self.training else x * 2", []),
    ],
)
def test_operations(expression, expected):
    assert work(expression) == expected


def test_a_table_by_types_is_read():
    assert followed("x").launches()[0].constexprs == {"MODE": 2}


def test_a_convolution_of_images_with_channels_last_keeps_them():
    nhwc = "F.conv2d(y.permute(0, 3, 1, 2), x[:8, :, :3, :3].repeat(2, 2, 1, 1)[:, :8])"
    launch = followed(f"{nhwc}.permute(0, 2, 3, 1).contiguous()").launches()[0]
    assert not [step for step in followed(f"{nhwc}.permute(0, 2, 3, 1).contiguous()").steps
                if isinstance(step, TorchOp) and step.name == "contiguous"]  # fmt: skip
    assert launch.tensor("x").is_contiguous


@pytest.mark.parametrize("expression", ["x if x.sum() > 0 else x", "x.abs() if (x > 0).all() else x"])
def test_a_tensor_in_a_condition_is_waited_for(expression):
    syncs = [step for step in followed(expression).steps if isinstance(step, HostSync)]
    assert [sync.what for sync in syncs] == ["the value of a tensor in a condition"]


@pytest.mark.parametrize("start", ["[]", "[x[:, 0]]"])
def test_a_list_keeps_what_was_in_it_before_a_loop(start):
    body = PROGRAM.replace(
        "        z = EXPRESSION\n",
        f"        parts = {start}\n        for i in range(1, 40):\n            parts.append(torch.relu(x[:, i % 6]))\n"
        "        z = torch.stack(parts)\n        for _ in range(ids.item()):\n            torch.relu(x)\n",
    )
    (workload,) = Program(parse_module(body, "k.py")).workloads()
    stack = next(step for step in workload.steps if isinstance(step, TorchOp) and step.kind == "cat")
    assert stack.writes[0].shape == ((39 if start == "[]" else 40), 4, 8, 8)
