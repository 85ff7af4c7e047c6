"""Small programs beside their references, for tests of what is made of them."""

from __future__ import annotations

import textwrap

_REFERENCE = """
import torch
import torch.nn as nn
import torch.nn.functional as F

{constants}


class Model(nn.Module):
    def __init__(self{parameters}):
        super().__init__()
{init}

    def forward(self, {arguments}):
{forward}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return [{given}]
"""

_PROGRAM = """
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def slow_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self{parameters}):
        super().__init__()
{init}

    def forward(self, {arguments}):
        # One element for each program.
        slow_kernel[({first}.numel(),)]({first}, {first}.numel(), BLOCK=1)
        return {first}
"""


def program(
    forward: str, inputs: str, constants: str, arguments: str, init: str = "pass", parameters: str = "", given: str = ""
) -> tuple[str, str]:
    """(a program that launches a kernel, the reference that it claims to replace), both with the constructor ``init``."""
    words = {
        "constants": textwrap.dedent(constants).strip(),
        "parameters": f", {parameters}" if parameters else "",
        "init": textwrap.indent(textwrap.dedent(init).strip(), " " * 8),
        "arguments": arguments,
        "forward": textwrap.indent(textwrap.dedent(forward).strip(), " " * 8),
        "inputs": inputs,
        "given": given,
        "first": arguments.split(",")[0],
    }
    return _PROGRAM.format(**words), _REFERENCE.format(**words)
