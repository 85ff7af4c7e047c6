"""The products that Triton turns into a ``tl.dot`` of its own.

``sum(x[:, :, None] * y[None, :, :], axis=1)`` becomes a dot in the combine pass (``lib/Dialect/Triton/Transforms/
Combine.cpp``), provided that nothing stands between the expansion of an operand and the product: an upcast there leaves
M x K x N terms to be made one by one on the FMA units (``broadcast_product`` and ``upcast_product``: 17 and 150 us).
"""

from __future__ import annotations

from kernlint.records import replace
from kernlint.workload import Compute, Dot, Kernel, Load, Loop, Node, Operand, Reduce, Span
from kernlint.workload import dtype as dtypes
from kernlint.workload.kernel import rewrite

_LEAST = 16


def with_combined_dots(kernel: Kernel) -> Kernel:
    """``kernel`` with each such reduction, and the product before it, replaced by the dot it becomes."""
    if kernel.dots():
        return kernel

    if not any(len(node.shape) == 3 for node in kernel.nodes(Reduce)):
        return kernel
    combined = replace(kernel, body=rewrite(kernel.body, lambda n: _loop(n) if isinstance(n, Loop) else n))
    return combined if combined.dots() else kernel


def _loop(loop: Loop) -> Loop:
    body: list[Node] = []
    for index, node in enumerate(loop.body):
        dot = _dot(node, loop.body[:index]) if isinstance(node, Reduce) else None
        if dot is None:
            body.append(node)
            continue
        terms = dot.m * dot.n * dot.k
        body = [other for other in body if not (isinstance(other, Compute) and other.elements == terms)]
        body.append(dot)
    return replace(loop, body=tuple(body))


def _dot(node: Reduce, before: tuple[Node, ...]) -> Dot | None:
    if node.op != "sum" or len(node.shape) != 3 or node.axis != 1 or min(node.shape) < _LEAST:
        return None
    m, k, n = node.shape
    wide = [other for other in before if isinstance(other, Compute) and other.elements == m * k * n]
    if len(wide) > 1:
        return None  # more than a product of the two, such as the square of a difference
    a = _operand(before, (m, k), 1, None)
    b = _operand(before, (k, n), 0, a)
    if a is None or b is None:
        return None
    return Dot(-1, m, n, k, a, b, dtypes.FLOAT32, "tf32", True, node.span)


def _operand(
    before: tuple[Node, ...], shape: tuple[int, int], contracted: int, other: Operand | None
) -> Operand | None:
    """The first operand of this shape that is fp32 where it is loaded or cast on the spot, and is not ``other``."""
    for position, node in enumerate(before):
        if not isinstance(node, Load) or node.shape != shape or (other is not None and node.id == other.load):
            continue
        cast = before[position + 1] if position + 1 < len(before) else None
        upcast = isinstance(cast, Compute) and cast.kind == "cast" and _inside(node.span, cast.span)
        if node.dtype != dtypes.FLOAT32 and not upcast:
            continue
        strides = (node.stride(contracted), node.stride(1 - contracted))
        return Operand(dtypes.FLOAT32, frozenset({node.id}), (), True, *strides, node.span, node.id)
    return None


def _inside(inner: Span, outer: Span) -> bool:
    first, last = (inner.line, inner.column), (inner.end_line, inner.end_column)
    return (outer.line, outer.column) <= first and last <= (outer.end_line, outer.end_column)
