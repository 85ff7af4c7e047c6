"""Elementwise functions: casts, functions of one number, the larger of two, choices, random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, takes
from kernlint.interpret.triton import masked_lanes, numerics, widths
from kernlint.interpret.triton.tiles import align, broadcast
from kernlint.interpret.triton.values import Block, PointerType
from kernlint.interpret.values import Function, Jit, Unknown
from kernlint.records import replace
from kernlint.workload import Cast, Dtype, Expr, ProgramId
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.access import Pad
from kernlint.workload.kernel import ANY_TENSOR, BEHIND_ADDRESSES

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


UNARY: dict[str, str] = {
    **dict.fromkeys(
        "exp exp2 log log2 log10 log1p expm1 sqrt rsqrt sqrt_rn sin cos tan tanh sinh cosh asin acos atan atan2 sigmoid erf "
        "erfc erfinv pow div_rn fdiv rcp fast_expf fast_dividef lgamma gamma cbrt acosh asinh atanh fast_logf fast_sinf "
        "fast_cosf fast_powf tgamma rcbrt".split(),
        "special",
    ),
    **dict.fromkeys(
        "abs floor ceil round rint trunc isnan isinf isfinite isfinited finitef llrint nearbyint sign signbit popc clz "
        "umulhi mul_hi fmod ffs fabs mul_rn add_rn sub_rn fmin fmax copysign".split(),
        "arith",
    ),
}


def cast(k: KernelEvaluator, value: Block | None, target: Any, node: cst.CSTNode, bitcast: bool = False) -> Any:
    """``value.to(target)``; keeps the memory layout and records the change of type."""
    if value is None:
        return Unknown("cast")
    if isinstance(target, PointerType) and not value.base:
        # Loaded from a table of addresses: each element is a place of its own, of a known type.
        k.give_up(BEHIND_ADDRESSES)
        return Block(target.element, value.shape, expr=Expr.constant(0), base=ANY_TENSOR, loads=value.loads)
    if value.base and not isinstance(target, Dtype):
        return replace(value, dtype=getattr(target, "element", value.dtype))
    if not isinstance(target, Dtype):
        return replace(value, dtype=None)
    if value.base:  # an address as a number, which somebody asks for
        kept = value.dtype or target
        return replace(value, casts=(*value.casts, Cast(kept, target, k.span(node), k.symbol)))
    value = replace(value, form=numerics.of_cast(value, target))
    if value.dtype == target:
        return value
    expr = value.expr if target.is_integer and not bitcast else None
    if expr is None and target.is_integer and not bitcast and value.product is None:
        # A loaded value of unknown type: cast to an index, it is one, and it is itself where it was one before.
        expr = value.shadow
    casts = value.casts
    if value.dtype is not None and value.constant is None:
        casts = (*value.casts, Cast(value.dtype, target, k.span(node), k.symbol))
    result = replace(value, dtype=target, expr=expr, casts=casts, bounds=value.bounds if target == dt.BOOL else None)
    if not target.is_float and numerics.spoilt_by(value) is not None:
        result = replace(result, form=None)  # an integer is no NaN
    if widths.is_wide(result):
        result = replace(result, narrow=widths.widened(value), product=None, shadow=None)
    elif target.is_float:
        result = replace(result, product=None, shadow=None)
    k.compute("cast", "bitcast" if bitcast else str(value.dtype or ""), result, node)
    return result


@takes("element_ty")
def _pointer_type(k: KernelEvaluator, node: cst.CSTNode, element: Any) -> Any:
    return PointerType(element if isinstance(element, Dtype) else None)


@takes("input", "dtype", "fp_downcast_rounding", "bitcast")
def _cast(k: KernelEvaluator, node: cst.CSTNode, value: Any, dtype: Any, rounding: Any, bitcast: Any) -> Any:
    return cast(k, k.lift(value), dtype, node, bool(bitcast))


def unary(k: KernelEvaluator, kind: str, args: Args, node: cst.CSTNode, name: str = "") -> Any:
    value = k.lift(args[0]) if args else None
    if value is None:
        return Unknown("operand")
    dtype = value.dtype
    if kind == "special" and dtype is not None and not dtype.is_float:
        dtype = dt.FLOAT32
    blocks = [b for b in (k.lift(a) for a in args) if b is not None]
    result = value.computed(
        dtype=dtype,
        loads=frozenset().union(*(b.loads for b in blocks)),
        carried=frozenset().union(*(b.carried for b in blocks)),
    )
    for other in blocks[1:]:
        result = replace(result, shape=broadcast(result.shape, other.shape) or result.shape)
    result = k.judged(numerics.of_unary(name, value), result, node)
    if len(blocks) == 1:
        growth = numerics.growth_of_unary(name, value)
        result = replace(
            result,
            pads=masked_lanes.mapped(name, value.pads),
            nonnegative=name in masked_lanes.NONNEGATIVE,
            growth=growth,
        )
    power = args[1] if name in _POWERS and len(args) == 2 else None
    if isinstance(power, (int, float)) and power == int(power) and 1 <= power <= _SMALL_POWER:
        # The compiler knows the exponent, and multiplies.
        k.compute("arith", "*", result, node)
    else:
        k.compute(kind, name, result, node)
    return result


#: Powers, and the largest exponent that is made of a multiplication or two.
_POWERS = frozenset({"pow", "fast_powf"})


_SMALL_POWER = 4


def _extreme(op: str) -> Handler:
    def handler(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        lifted = [k.lift(a) for a in args]
        blocks = [b for b in lifted if b is not None]
        if len(blocks) < len(lifted) or not blocks:
            return Unknown(op)
        shape: tuple[int, ...] = ()
        for b in blocks:
            shape = broadcast(shape, b.shape) or shape
        exprs = [e for b in blocks if (e := align(b, shape).expr) is not None]
        loads = frozenset().union(*(b.loads for b in blocks))
        if len(exprs) == len(blocks):
            pick = ex.minimum if op == "min" else ex.maximum
            return Block(blocks[0].dtype, shape, ex.lift(pick(*exprs)), loads=loads)
        result: Any = blocks[0]
        nonnegative = [b.nonnegative or (b.constant is not None and b.constant >= 0) for b in blocks]
        weak = [not isinstance(a, Block) for a in args]
        for i, b in enumerate(blocks[1:], 1):
            result = k.elementwise(op, result, b, node, (all(weak[:i]), weak[i]))
            if not isinstance(result, Block):
                return result
        form = numerics.of_maximum(blocks) if op == "max" else None
        least = any(nonnegative) if op == "max" else all(nonnegative)
        for clamped in filter(None, map(numerics.cancelled, blocks)) if least else ():
            k.confirm(clamped, certain=False)
        return result.computed(pads=result.pads, nonnegative=least, form=form)

    return handler


@takes("condition", "x", "y")
def _where(k: KernelEvaluator, node: cst.CSTNode, test: Any, a: Any, b: Any) -> Any:
    condition, x, y = k.lift(test), k.lift(a), k.lift(b)
    if x is None or y is None:
        return Unknown("where")
    result = k.elementwise("where", x, y, node, (not isinstance(a, Block), not isinstance(b, Block)))
    if not isinstance(result, Block):
        return result
    if condition is not None:
        k.chooses(node, condition, x, y)
        shape = broadcast(condition.shape, result.shape) or result.shape
        result = replace(
            result, shape=shape, loads=result.loads | condition.loads, carried=result.carried | condition.carried
        )
    expr = None
    if x.expr is not None and y.expr is not None and not x.base:
        expr = k.chosen_index(x.expr, y.expr)
    if x.base:
        return replace(result, base=x.base, expr=k.unknown_index(), dtype=x.dtype)
    for arm in (x, y):
        if arm.form is not None and arm.form.fault is not None:
            k.faults.pop(arm.form.fault, None)  # it does not get through
    both = all(b.nonnegative or (b.constant is not None and b.constant >= 0) for b in (x, y))
    masked = y.constant is not None and y.constant <= numerics.MASKED_OUT
    return result.computed(
        growth=x.growth if masked and x.growth == "data" else "",
        expr=expr,
        pads=_chosen(condition, x, y, result.shape),
        nonnegative=both,
        form=numerics.of_where(k.perhaps_empty(condition), x, y),
    )


def _chosen(condition: Block | None, x: Block, y: Block, shape: tuple[int, ...]) -> tuple[Pad, ...]:
    if condition is not None:
        condition = align(condition, shape)
    return masked_lanes.chosen(condition, align(x, shape), align(y, shape))


@takes("x", "y", "z", operands=3)
def _fma(k: KernelEvaluator, node: cst.CSTNode, a: Block, b: Block, c: Block) -> Any:
    product = k.elementwise("*", a, b, node)
    return k.elementwise("+", product, c, node, op="fma") if isinstance(product, Block) else product


@takes("x")
def _clamp(k: KernelEvaluator, node: cst.CSTNode, value: Any) -> Any:
    return unary(k, "arith", [value], node, "clamp")


@takes("x")
def _softmax(k: KernelEvaluator, node: cst.CSTNode, value: Any) -> Any:
    return unary(k, "special", [value], node, "softmax")


def _random(name: str) -> Handler:
    @takes("seed", "offset")
    def handler(k: KernelEvaluator, node: cst.CSTNode, first: Any, second: Any) -> Any:
        seed, offset = k.lift(first), k.lift(second)
        if seed is not None and seed.base and not seed.casts:
            text = f"the seed is the address of `{seed.base}`, not what is stored there"
            k.fault("seed-address", node, text, name=seed.base)
        elif (
            seed is not None and offset is not None and offset.expr is not None and not offset.loads and not seed.loads
        ):
            several = [axis for axis, extent in enumerate(k.grid) if (ex.concrete(extent) or 0) > 1]
            if several and not any(isinstance(a, (ProgramId, ex.Opaque)) for a in _atoms(seed) | _atoms(offset)):
                text = "neither seed nor offset depends on the program, so all of them draw alike"
                k.fault("shared-random-numbers", node, text)
        shape = offset.shape if offset is not None else ()
        if offset is not None:
            k.random += widths.widened(offset)
        result = Block(dt.FLOAT32, shape, loads=offset.loads if offset is not None else frozenset())
        # Four normal numbers take a logarithm, a root, a sine and a cosine twice.
        for _ in range(2 if name == "randn4x" else 1):
            k.compute("special", name.removesuffix("4x"), result, node)
        if name.startswith("randint"):
            result = replace(result, dtype=dt.INT32)
        return (result,) * 4 if name.endswith("4x") else result

    return handler


def _atoms(value: Block) -> set[ex.Atom]:
    return set(value.expr.atoms()) if value.expr is not None else set()


def _map_elementwise(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    function = args[0]
    if isinstance(function, Jit):
        function = function.function
    return k.invoke(function, args[1:], {}) if isinstance(function, Function) else Unknown("map_elementwise")


@takes("asm", "constraints", "args", "dtype", args=())
def _inline_asm(k: KernelEvaluator, node: cst.CSTNode, asm: Any, constraints: Any, inputs: Any, dtype: Any) -> Any:
    blocks = [b for b in (k.lift(v) for v in inputs) if b is not None] if isinstance(inputs, (tuple, list)) else []
    loads = frozenset().union(*(b.loads for b in blocks))
    shape = blocks[0].shape if blocks else ()
    if isinstance(dtype, (tuple, list)):
        return tuple(Block(d if isinstance(d, Dtype) else None, shape, loads=loads) for d in dtype)
    return Block(dtype if isinstance(dtype, Dtype) else None, shape, loads=loads)


TABLE: dict[str, Handler] = {
    **dict.fromkeys(("cast", "to"), _cast),
    "pointer_type": _pointer_type,
    "minimum": _extreme("min"),
    "maximum": _extreme("max"),
    "where": _where,
    "fma": _fma,
    "clamp": _clamp,
    "softmax": _softmax,
    **{name: _random(name) for name in ("rand", "randn", "randint", "rand4x", "randn4x", "randint4x")},
    "map_elementwise": _map_elementwise,
    "inline_asm_elementwise": _inline_asm,
}
