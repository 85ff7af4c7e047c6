"""What messages call steps, tensors and sizes."""

from __future__ import annotations

from collections.abc import Sequence

from kernlint.rules.finding import tensor_name
from kernlint.workload import Launch, Size, Tensor, TorchOp, concrete


def step_name(step: Launch | TorchOp) -> str:
    """What to call a step: the kernel, or the torch call."""
    return f"`{step.kernel.name}`" if isinstance(step, Launch) else f"torch `{step.name}` (line {step.span.line})"


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def described(tensor: Tensor) -> tuple[str, str]:
    """(name, shape with dtype) of a tensor, for a message."""
    shape = ", ".join(map(size_text, tensor.shape or ()))
    return tensor_name(tensor, "an intermediate"), f"[{shape}] {tensor.dtype}"


def size_text(size: Size) -> str:
    """A size for a message: the number, or the expression while it is open."""
    number = concrete(size)
    return str(size if number is None else number)
