"""Products of matrices, and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, takes
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.elementwise import elementwise
from kernlint.interpret.torch.shapes import (
    broadcast,
    expanded_to,
    is_dense,
    permuted,
    product,
    transposed,
    unsqueezed,
    view_strides,
)
from kernlint.interpret.values import Unknown
from kernlint.workload import Dtype, Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState


def matmul(
    h: HostState,
    name: str,
    a: Tensor,
    b: Tensor,
    node: cst.CSTNode,
    extra: tuple[Tensor, ...] = (),
    dtype: Dtype | None = None,
) -> Any:
    """``a @ b`` with torch's broadcasting over leading axes; ``extra`` are further operands, such as a bias. Operands have one type."""
    result_type = dtype or a.dtype or b.dtype
    if a.shape is None or b.shape is None or not a.shape or not b.shape:
        return h.result_of(name, "matmul", (a, b, *extra), result_type, None, node, flops=None)
    m: Size = a.shape[-2] if len(a.shape) > 1 else 1
    k: Size = a.shape[-1]
    n: Size = b.shape[-1] if len(b.shape) > 1 else 1
    batch = broadcast(a.shape[:-2], b.shape[:-2]) or ()
    shape = batch + ((m,) if len(a.shape) > 1 else ()) + ((n,) if len(b.shape) > 1 else ())
    if len(b.shape) <= 2 and batch:
        m, batch = ex.simplify(ex.lift(m) * product(batch)), ()  # one GEMM over all rows
    if len(batch) > 1:
        for x in (a, b):
            _as_batch(h, expanded_to(x, (*batch, *(x.shape or ())[-2:])), (len(batch), 1, 1), node)
    result = h.allocate(result_type, shape, "result", node)
    sizes = {"batch": ex.concrete(product(batch)), "m": ex.concrete(m), "n": ex.concrete(n), "k": ex.concrete(k)}
    known = {key: value for key, value in sizes.items() if value is not None}
    flops = 2 * known["batch"] * known["m"] * known["n"] * known["k"] if len(known) == 4 else None
    h.torch_op(name, "matmul", (a, b, *extra), (result,), node, flops=flops, dims=known)
    return result


def _as_batch(h: HostState, x: Tensor, groups: tuple[int, int, int], node: cst.CSTNode) -> None:
    """Record the copy that torch makes of an operand whose axes, in ``groups`` of so many, are to be those of a batch of
    matrices, where they do not lie in memory like that."""
    if x.shape is None or x.strides is None or any(ex.concrete(n) is None for n in (*x.shape, *x.strides)):
        return
    shape, at = [], 0
    for count in groups:
        shape.append(product(x.shape[at : at + count]))
        at += count
    if view_strides(x, tuple(shape)) is None:
        h.result_of("reshape", "transpose" if is_dense(x) else "copy", (x,), x.dtype, tuple(shape), node)


def _matmul(name: str) -> Handler:
    # The type of the result comes last, behind scales and a bias where there are any.
    between = ("scale_a", "scale_b", "bias", "scale_result") if name == "_scaled_mm" else ()

    @takes("input", "other|mat2", *between, "out_dtype", operands=2)
    def handler(h: HostState, node: cst.CSTNode, a: Tensor, b: Tensor, *rest: Any) -> Any:
        dtype = dt.INT32 if name == "_int_mm" else rest[-1]
        return matmul(h, name, a, b, node, dtype=dtype if isinstance(dtype, Dtype) else None)

    return handler


@takes("input", "mat1|batch1", "mat2|batch2")
def _addmm(h: HostState, node: cst.CSTNode, bias: Any, a: Any, b: Any) -> Any:
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return Unknown("addmm")
    return matmul(h, "addmm", a, b, node, tensors_in([bias]))


@takes("input", "weight", "bias", operands=2)
def _linear(h: HostState, node: cst.CSTNode, x: Tensor, weight: Tensor, bias: Any) -> Any:
    """x [..., k] times weight [n, k] transposed, plus bias [n]."""
    return matmul(h, "linear", x, transposed(weight, -2, -1), node, tensors_in([bias]))


def einsum_letters(equation: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """The letters of the operands of an einsum and those of its result; axes behind dots get numbers. Raises :class:`ValueError` for what
    is no such equation."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    texts = inputs.split(",")
    if len(texts) != len(ranks):
        raise ValueError("operands without letters")

    def letters(text: str, count: int) -> list[str]:
        before, dots, behind = text.partition("...")
        return [*before, *(str(number) for number in range(count, 0, -1)), *behind] if dots else list(before)

    dotted = [rank - len(text) + 3 if "..." in text else 0 for text, rank in zip(texts, ranks)]
    terms = [letters(text, count) for text, count in zip(texts, dotted)]
    if any(len(term) != rank for term, rank in zip(terms, ranks)):
        raise ValueError("axes without letters")
    if arrow:
        return terms, letters(output, max(dotted))
    every = [c for term in terms for c in term]
    free = sorted(c for c in set(every) if every.count(c) == 1 and not c.isdigit())
    return terms, [*(str(number) for number in range(max(dotted), 0, -1)), *free]


def _einsum(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    tensors = tensors_in(args[1:])
    dtype = next((t.dtype for t in tensors if t.dtype is not None), None)
    if not isinstance(args[0], str) or any(t.shape is None for t in tensors):
        return h.result_of("einsum", "matmul", tensors, dtype, None, node, flops=None)
    terms, output = einsum_letters(args[0], [len(t.shape or ()) for t in tensors])
    sizes: dict[str, Size] = {}
    for term, t in zip(terms, tensors):
        for letter, extent in zip(term, t.shape or ()):
            sizes[letter] = extent if sizes.get(letter, 1) == 1 else sizes[letter]
    result = h.allocate(dtype, tuple(sizes[c] for c in output), "result", node)
    known = {letter: number for letter, extent in sizes.items() if (number := ex.concrete(extent)) is not None}
    if len(tensors) != 2 or len(known) != len(sizes):
        flops = 2 * math.prod(known.values()) if len(known) == len(sizes) else None
        h.torch_op("einsum", "matmul" if len(tensors) > 1 else "reduce", tensors, (result,), node, flops=flops)
        return result
    groups = {"batch": 1, "m": 1, "n": 1, "k": 1}
    for letter, number in known.items():
        first, second, kept = letter in terms[0], letter in terms[1], letter in output
        key = "k" if not kept else "batch" if first and second else "m" if first else "n"
        groups[key] *= number
    for term, x in zip(terms, tensors):
        # As ATen orders them: a batch of matrices, one with the summed axes last, the other with them in the middle.
        batch, own = (
            [c for c in output if c in term and all(c in one for one in terms) is shared] for shared in (True, False)
        )
        summed = sorted({c for c in term if c not in output and all(c in one for one in terms)})
        ordered = [batch, own, summed] if term is terms[0] else [batch, summed, own]
        letters = [letter for group in ordered for letter in group]
        if len(letters) == len(set(term)) == len(term):
            order = tuple(term.index(letter) for letter in letters)
            _as_batch(h, permuted(x, order), (len(batch), len(ordered[1]), len(ordered[2])), node)
    flops = 2 * groups["batch"] * groups["m"] * groups["n"] * groups["k"]
    h.torch_op("einsum", "matmul", tensors, (result,), node, flops=flops, dims=groups)
    return result


@takes("query", "key", "value", "attn_mask", "dropout_p", "is_causal", operands=3)
def _attention(
    h: HostState, node: cst.CSTNode, q: Tensor, k: Tensor, v: Tensor, mask: Any, dropped: Any, causal: Any
) -> Any:
    shape = (*q.shape[:-1], v.shape[-1]) if q.shape and v.shape else None
    halves = causal is True
    flops = None
    dims: dict[str, int] = {"causal": int(halves)}
    if q.shape and k.shape and v.shape:
        sizes = [ex.concrete(e) for e in (product(q.shape[:-2]), q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1])]
        if None not in sizes:
            batch, m, n, d, dv = (s for s in sizes if s is not None)
            flops = 2 * batch * m * n * (d + dv) // (2 if halves else 1)
            dims.update(batch=batch, m=m, n=n, k=d)
    name = "scaled_dot_product_attention"
    return h.result_of(name, "attention", (q, k, v), q.dtype or k.dtype or v.dtype, shape, node, flops=flops, dims=dims)


@takes("input", "vec2", operands=2)
def _outer(h: HostState, node: cst.CSTNode, a: Tensor, b: Tensor) -> Any:
    return elementwise(h, "outer", [unsqueezed(a, 1), unsqueezed(b, 0)], node)


@takes("x1", "x2", operands=2)
def _cdist(h: HostState, node: cst.CSTNode, a: Tensor, b: Tensor) -> Any:
    shape, flops = None, None
    if a.shape is not None and b.shape is not None and len(a.shape) > 1 and len(b.shape) > 1:
        batch = broadcast(a.shape[:-2], b.shape[:-2])
        shape = None if batch is None else (*batch, a.shape[-2], b.shape[-2])
        count = None if shape is None else ex.concrete(product((*shape, a.shape[-1])))
        flops = None if count is None else 3 * count
    return h.result_of("cdist", "elementwise", (a, b), a.dtype, shape, node, flops=flops)


def _as_einsum(h: HostState, equation: str, tensors: list[Any], node: cst.CSTNode) -> Any:
    """What is a sum of products of letters, as the function that says so."""
    args = [equation, *tensors]
    with h.inside("einsum", args, {}):
        return _einsum(h, args, {}, node)


@takes("a", "b", "dims", operands=2, dims=2)
def _tensordot(h: HostState, node: cst.CSTNode, a: Tensor, b: Tensor, dims: Any) -> Any:
    if a.shape is None or b.shape is None:
        return Unknown("tensordot")
    m, n = len(a.shape), len(b.shape)
    pairs = (list(range(m - dims, m)), list(range(dims))) if isinstance(dims, int) else dims
    first, second = ([axis % rank for axis in part] for part, rank in zip(pairs, (m, n)))
    letters = "abcdefghijklmnopqrstuvwxyz"
    left, right = list(letters[:m]), list(letters[m : m + n])
    for i, j in zip(first, second, strict=True):
        right[j] = left[i]
    kept = [c for d, c in enumerate(left) if d not in first] + [c for d, c in enumerate(right) if d not in second]
    return _as_einsum(h, f"{''.join(left)},{''.join(right)}->{''.join(kept)}", [a, b], node)


@takes("input1", "input2", "weight", "bias", operands=3)
def _bilinear(h: HostState, node: cst.CSTNode, x: Tensor, y: Tensor, weight: Tensor, bias: Any) -> Any:
    made = _as_einsum(h, "...i,oij,...j->...o", [x, weight, y], node)
    return elementwise(h, "add", [made, bias], node) if isinstance(bias, Tensor) else made


TABLE: dict[str, Handler] = {
    "tensordot": _tensordot,
    "bilinear": _bilinear,
    **{name: _matmul(name) for name in ("matmul", "mm", "bmm", "mv", "dot", "_int_mm", "_scaled_mm")},
    **dict.fromkeys(("addmm", "baddbmm"), _addmm),
    "linear": _linear,
    "einsum": _einsum,
    **dict.fromkeys(("outer", "ger"), _outer),
    "scaled_dot_product_attention": _attention,
    "cdist": _cdist,
}
