"""Torch's elementwise calls as the Triton kernel that would do the same, so that both kinds of step fuse alike."""

from __future__ import annotations

from collections.abc import Mapping

from kernlint.headroom.graph import SPECIAL
from kernlint.rules.proofs.element_indexing import broadcast_offset
from kernlint.workload import (
    Compute,
    Dtype,
    Expr,
    Kernel,
    Lane,
    Launch,
    Load,
    Node,
    ProgramId,
    Step,
    Store,
    Tensor,
    TorchOp,
)
from kernlint.workload.expr import ceildiv, lift

#: Elements of a program of the equivalent kernel; immaterial once it is fused into another's tile.
BLOCK = 1024

#: Calls priced as elementwise that move elements about, draw random numbers or end in one value.
_NOT_POINTWISE = frozenset({"outer", "rot90", "glu", "polar", "isin", "equal", "dropout"})

#: What Triton calls the arithmetic, where torch has another name for it or for what takes most of the time. A power is not among
#: them: that of 2 is a product.
_TRITON: Mapping[str, str] = {
    **dict.fromkeys(("div", "true_divide", "divide", "reciprocal"), "/"), **dict.fromkeys(("silu", "sigmoid"), "sigmoid"),
    **dict.fromkeys(("gelu", "erf", "erfc"), "erf"), **dict.fromkeys(("softplus", "logsigmoid", "log"), "log"),
    **dict.fromkeys(("elu", "selu", "celu", "exp"), "exp"), **dict.fromkeys(("add", "sub"), "+"), "mul": "*",
    **{name: name for name in "exp2 log2 log10 log1p expm1 sqrt rsqrt sin cos atan tanh where".split()},
}  # fmt: skip


def is_pointwise(op: TorchOp) -> bool:
    """Whether each element of what ``op`` makes depends on the matching elements of what it reads alone."""
    return (
        op.kind in ("elementwise", "cast")
        and op.name not in _NOT_POINTWISE
        and len(op.writes) == 1
        and all(t.dtype is not None and t.shape is not None and t.strides is not None for t in (*op.reads, *op.writes))
    )


def arithmetic(op: TorchOp, elements: int, dtype: Dtype) -> Compute:
    """The arithmetic of ``op`` on ``elements`` values."""
    name = op.name.rstrip("_")
    kind = "cast" if op.kind == "cast" else "special" if name in SPECIAL else "arith"
    source = op.reads[0].dtype if op.reads else None
    return Compute(kind, elements, dtype, op.span, op=str(source or "") if kind == "cast" else _TRITON.get(name, ""))


def as_launch(step: Step) -> Launch | None:
    """``step`` if it is a launch; the launch that would replace it if it is a pointwise torch call; else None."""
    if isinstance(step, Launch):
        return step
    if not isinstance(step, TorchOp) or not is_pointwise(step):
        return None
    (out,) = step.writes
    count = out.elements
    assert out.shape is not None
    assert out.dtype is not None
    assert count is not None
    index = Expr.atom(ProgramId(0)) * BLOCK + Expr.atom(Lane(0))
    mask = ((index, lift(count)),)
    loads: list[Load] = []
    arguments: dict[str, Tensor] = {}
    for tensor in step.reads:
        offset = broadcast_offset(tensor, out.shape, index)
        if offset is None or tensor.dtype is None:
            return None
        name = f"in{len(loads)}"
        shape, bounds = ((BLOCK,), mask) if Lane(0) in offset.atoms() else ((), None)
        loads.append(Load(len(loads) + 1, name, tensor.dtype, shape, offset, bounds, step.span))
        arguments[name] = tensor
    target = broadcast_offset(out, out.shape, index)
    if target is None:
        return None
    arguments["out"] = out
    depends = frozenset(load.id for load in loads)
    body: tuple[Node, ...] = (
        *loads, arithmetic(step, BLOCK, out.dtype),
        Store(len(loads) + 1, "out", out.dtype, (BLOCK,), target, mask, step.span, depends),
    )  # fmt: skip
    kernel = Kernel(step.name, body, step.span, step.span, step.span.file, dims=1)
    return Launch(kernel, (ceildiv(count, BLOCK),), arguments, {}, 4, 3, step.span, step.function)
