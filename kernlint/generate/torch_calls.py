"""What torch's functions do, as values: each call of a workload read as the elementwise operations and reductions it stands for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlint.generate.layouts import index_of
from kernlint.generate.values import (
    CannotGenerate,
    Unbound,
    Value,
    View,
    broadcast_index,
    element,
    identity,
    lane,
    lanes_of,
    looked_through,
)
from kernlint.interpret import torch_ops
from kernlint.workload import Call, Dtype, Expr, Lane, Size, Step, Tensor, TorchOp, Workload
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift

#: What can be an operand of an elementwise operation.
Operand = Any

#: Torch's names for one operation.
_SAME = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg", "absolute": "abs",
    "clip": "clamp", "fmax": "maximum", "fmin": "minimum", "__and__": "bitwise_and", "<": "lt", "<=": "le", ">": "gt",
    ">=": "ge", "==": "eq", "!=": "ne", "concat": "cat", "concatenate": "cat",
    "mm": "matmul", "bmm": "matmul", "sgn": "sign", "amax": "amax", "amin": "amin", "swish": "silu", "take_along_dim": "gather",
}  # fmt: skip

#: Calls that copy the elements of their one operand.
_COPIES = frozenset(
    "contiguous clone to type type_as float half double bfloat16 int long bool char reshape view flatten copy_ cuda "
    "ravel".split()
)

#: Operations of elements with their number of operands.
ELEMENTWISE = {
    **dict.fromkeys(
        "neg abs exp exp2 log log2 sqrt rsqrt sin cos tanh sigmoid erf floor ceil round sign reciprocal relu square cast isnan isinf "
        "logical_not bitwise_not expm1 log1p trunc".split(),
        1,
    ),
    **dict.fromkeys(
        "add sub mul div maximum minimum lt le gt ge eq ne logical_and logical_or bitwise_and bitwise_or bitwise_xor shift_left "
        "shift_right floor_divide remainder atan2".split(),
        2,
    ),
    "where": 3,
}


#: Torch calls of a reference up to which it is worth writing anew.
_MOST_STEPS = 200


class Reader:
    """Reads the steps of a workload into values; ``sizes`` are numbers for the sizes that are left open."""

    #: What makes the values of functions that are no elementwise operation.
    functions: Mapping[str, Callable[[Writer], Value]]

    def __init__(self, workload: Workload, sizes: Mapping[Atom, float]) -> None:
        self.workload = workload
        self.sizes = sizes
        #: By storage: the value that it holds, and the tensor whose axes are those of the value.
        self.holds: dict[int, tuple[Value, Tensor]] = {}
        self.inputs: dict[int, Value] = {}
        self._begin()
        if len(workload.steps) > _MOST_STEPS:
            raise CannotGenerate(f"the reference makes {len(workload.steps)} torch calls")
        for step in workload.steps:
            self._step(step)

    def _begin(self) -> None:
        """Note what is there before the first step."""
        for name, tensor in self.workload.arguments.items():
            if isinstance(tensor, Tensor):
                self._input(name, tensor)
        for path, tensor in self.workload.held.items():
            if isinstance(tensor, Tensor) and tensor.storage.id not in self.holds:
                self._input(f"self.{path}", tensor)

    def _step(self, step: Step) -> None:
        if not isinstance(step, TorchOp):
            raise CannotGenerate(
                f"the reference has a {_WORDS.get(type(step).__name__, 'step')} that is no torch function"
            )
        self._read(step)

    def _input(self, path: str, tensor: Tensor) -> None:
        if tensor.shape is None or tensor.dtype is None:
            raise CannotGenerate(f"the shape of `{path}` is not known")
        value = Value("input", tensor.shape, tensor.dtype, attributes={"path": path}, name=path.rpartition(".")[2])
        self.inputs[tensor.storage.id] = value
        self.holds[tensor.storage.id] = value, tensor

    def view(self, tensor: Tensor) -> View:
        """``tensor`` as a view of the value that its memory holds."""
        if tensor.storage.id not in self.holds:
            raise CannotGenerate(f"it is not known what `{tensor.name}` holds")
        value, base = self.holds[tensor.storage.id]
        if tensor.name and not value.name and tensor.shape == base.shape:
            object.__setattr__(value, "name", tensor.name)  # the source names a result after it has made it
        return View(value, index_of(base, tensor, self.sizes))

    # -- steps ------------------------------------------------------------------------------------------------------

    def _read(self, step: TorchOp) -> None:
        call = step.call
        if call is None or len(step.writes) > 1:
            raise CannotGenerate(f"torch function {step.name} with arguments that are not known")
        name = call.function
        made: Value | None = None
        if not step.writes or step.writes[0].shape is None or step.writes[0].dtype is None:
            raise CannotGenerate(f"the result of torch function {step.name} is not known")
        out = step.writes[0]
        writer = Writer(self, out, call)
        if name == "setitem":
            self._set(writer, out, call)
            return
        in_place = name.endswith("_") and not name.startswith("_")
        made = writer.made(_SAME.get(name.rstrip("_"), name.rstrip("_")) if in_place else _SAME.get(name, name))
        held = self.holds.get(out.storage.id)
        if held is not None and (held[1].shape, held[1].strides, held[1].offset) != (
            out.shape,
            out.strides,
            out.offset,
        ):
            raise CannotGenerate(f"{name} changes a part of a tensor in place")
        if out.storage.id in self.inputs:
            raise CannotGenerate(f"{name} changes an argument in place")
        self.holds[out.storage.id] = replace_name(made, out), out

    def _set(self, writer: Writer, out: Tensor, call: Call) -> None:
        """An assignment to a rectangular part of a tensor: there the new elements, elsewhere the old ones."""
        if out.storage.id not in self.holds or out.storage.id in self.inputs:
            raise CannotGenerate("an assignment to a part of a tensor that is not known")
        old, base = self.holds[out.storage.id]
        places = index_of(base, out, self.sizes)
        bounds: list[tuple[Expr, Expr, Expr | None]] = []
        back: dict[int, Expr] = {}
        for axis, place in enumerate(places):
            dims = [atom.dim for atom in place.atoms() if isinstance(atom, Lane)]
            if len(dims) > 1 or (dims and place.coefficient(Lane(dims[0])) != 1):
                raise CannotGenerate("an assignment to a part of a tensor that is no rectangle")
            first = place.substitute({Lane(dims[0]): 0}) if dims else place
            extent = (out.shape or ())[dims[0]] if dims else 1
            if dims:
                back[dims[0]] = lane(axis) - first
            if first.value != 0 or lift(extent) != lift((base.shape or ())[axis]):
                bounds.append((first, lane(axis), first + extent))
        given = writer.spread(call.args[1], len(out.shape or ()))
        index = looked_through(given.index, [back.get(d, lift(0)) for d in range(len(out.shape or ()))])
        views = View(given.value, index), View(old, identity(old.shape))
        made = Value("choose", old.shape, old.dtype, views, {"cases": (tuple(bounds), ())})
        self.holds[out.storage.id] = made, base


_WORDS = {"Launch": "kernel launch", "HostSync": "wait for the device", "Repeat": "Python loop", "Event": "host step"}


def replace_name(value: Value, tensor: Tensor) -> Value:
    """``value`` called as the source calls the tensor."""
    if not tensor.name or value.name or value.op == "input":
        return value
    return Value(value.op, value.shape, value.dtype, value.operands, value.attributes, tensor.name)


class Writer:
    """Makes the value of one call, whose result is ``out``."""

    def __init__(self, reader: Reader, out: Tensor, call: Call) -> None:
        assert out.shape is not None and out.dtype is not None
        self.reader = reader
        self.shape: tuple[Size, ...] = out.shape
        self.dtype: Dtype = out.dtype
        self.out = out
        self.args = call.args
        self.kwargs = call.kwargs
        self.call = call

    def made(self, name: str) -> Value:
        if name in _COPIES:
            return self.cast(self.operand(self.args[-1] if name == "copy" else self.args[0]), self.dtype)
        handler = self.reader.functions.get(name)
        if handler is not None:
            return handler(self)
        count = ELEMENTWISE.get(name)
        operands = [*self.args, *(v for v in self.kwargs.values() if isinstance(v, (Tensor, float, int)))]
        if count is None or len(operands) < count:
            raise CannotGenerate(f"torch function {self.call.function}")
        if len(operands) > count:
            raise CannotGenerate(f"torch function {self.call.function} with {len(operands)} arguments")
        return self.map(name, *operands)

    # -- building blocks --------------------------------------------------------------------------------------------

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if len(self.args) > position else default

    def operand(self, given: Operand) -> View:
        """A tensor, value, view or number as a view over its own axes."""
        if isinstance(given, Tensor):
            if given.shape is None:
                raise CannotGenerate("a tensor of unknown shape")
            return self.reader.view(given)
        if isinstance(given, View):
            return given
        if isinstance(given, Value):
            return View(given, identity(given.shape))
        if isinstance(given, bool):
            return View(Value("number", (), dt.BOOL, attributes={"value": given}), ())
        if isinstance(given, (int, Expr)):
            return View(Value("number", (), dt.INT64, attributes={"value": given}), ())
        if isinstance(given, float):
            return View(Value("number", (), dt.FLOAT32, attributes={"value": given}), ())
        raise CannotGenerate(f"torch function {self.call.function} with an argument that is not known")

    @staticmethod
    def shape_of(given: Operand) -> tuple[Size, ...]:
        if isinstance(given, (Tensor, Value)):
            return given.shape or ()
        return ()

    def spread(self, given: Operand, rank: int) -> View:
        """``given`` as it is looked at from ``rank`` axes."""
        view = self.operand(given)
        return View(view.value, looked_through(view.index, broadcast_index(self.shape_of(given), rank)))

    def map(
        self, op: str, *operands: Operand, shape: tuple[Size, ...] | None = None, dtype: Dtype | None = None
    ) -> Value:
        shape = self.shape if shape is None else shape
        views = tuple(self.spread(one, len(shape)) for one in operands)
        return Value(op, shape, dtype or self._type(op, operands), views)

    def _type(self, op: str, operands: Sequence[Operand]) -> Dtype:
        if op in ("lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_not", "isnan", "isinf"):
            return dt.BOOL
        return self.dtype

    def cast(self, view: View, target: Dtype) -> Value:
        """A copy with another element type, over the axes of the result."""
        return Value("cast", self.shape, target, (view,))

    def reduce(self, kind: str, given: Operand, axes: Sequence[int], keep: bool, dtype: Dtype | None = None) -> Value:
        """``given`` reduced over ``axes``."""
        shape = self.shape_of(given)
        left = tuple(1 if d in axes else n for d, n in enumerate(shape) if keep or d not in axes)
        places: list[Expr] = []
        at = 0
        for d, extent in enumerate(shape):
            if d in axes:
                places.append(lane(len(left) + sorted(axes).index(d)))
                at += int(keep)
            else:
                places.append(lane(at) if lift(extent).value != 1 else lift(0))
                at += 1
        view = self.operand(given)
        over = tuple(shape[d] for d in sorted(axes))
        attributes = {"kind": kind, "over": over}
        body = View(view.value, looked_through(view.index, places))
        return _canonical(Value("reduce", left, dtype or self.dtype, (body,), attributes))

    def axes(self, given: Tensor | Value, dim: Any) -> list[int]:
        rank = len(given.shape or ())
        dims = range(rank) if dim is None or dim == () else dim if isinstance(dim, tuple) else (dim,)
        return [self.axis(d, rank) for d in dims]

    def axis(self, dim: Any, rank: int) -> int:
        if not isinstance(dim, int) or not -rank <= dim < max(rank, 1):
            raise CannotGenerate(f"torch function {self.call.function} along an axis that is not known")
        return dim % rank if rank else 0

    def tensor(self, position: int, name: str) -> Tensor:
        given = self.argument(position, name)
        if not isinstance(given, Tensor):
            raise CannotGenerate(f"torch function {self.call.function} with an argument that is not known")
        return given


# -- functions that are several operations -----------------------------------------------------------------------------


def _sum(w: Writer) -> Value:
    x = w.tensor(0, "input")
    dim, keep = w.argument(1, "dim"), bool(w.argument(2, "keepdim", False))
    return w.reduce("sum", x, w.axes(x, dim), keep)


def _mean(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes = w.axes(x, w.argument(1, "dim"))
    total = w.reduce("sum", x, axes, bool(w.argument(2, "keepdim", False)))
    return w.map("div", total, torch_ops.product(tuple((x.shape or ())[d] for d in axes)))


def _extreme(kind: str) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        other = w.argument(1, "dim")
        if isinstance(other, Tensor):
            return w.map(f"{kind}imum", x, other)
        return w.reduce(kind, x, w.axes(x, other), bool(w.argument(2, "keepdim", False)))

    return make


def _variance(root: bool) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        unbiased = w.argument(2, "unbiased", True)
        correction = w.kwargs.get("correction", 1 if unbiased else 0)
        if not isinstance(correction, int):
            raise CannotGenerate("a variance with an unknown correction")
        axes = w.axes(x, w.argument(1, "dim"))
        squares = w.reduce("m2", x, axes, bool(w.argument(3, "keepdim", False)))
        count = lift(torch_ops.product(tuple((x.shape or ())[d] for d in axes))) - correction
        result = w.map("div", squares, ex.simplify(count))
        return w.map("sqrt", result) if root else result

    return make


def _norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    p = w.argument(1, "p", 2)
    if "ord" in w.kwargs:
        p = w.kwargs["ord"]
    keep = bool(w.argument(3, "keepdim", False))
    axes = w.axes(x, w.argument(2, "dim"))
    shape = x.shape or ()
    if p in (2, 2.0, "fro", None):
        squares = w.map("square", x, shape=shape, dtype=_wide(x.dtype))
        return w.map("sqrt", w.reduce("sum", squares, axes, keep))
    if p in (1, 1.0):
        return w.reduce("sum", w.map("abs", x, shape=shape), axes, keep)
    raise CannotGenerate(f"a norm of order {p}")


def _softmax(log: bool) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        axes = [w.axis(w.argument(1, "dim"), len(w.shape))]
        top = w.reduce("max", x, axes, True, _wide(x.dtype))
        total = w.reduce("expsum", x, axes, True, _wide(x.dtype))
        low = w.map("sub", x, top)
        return (
            w.map("sub", low, w.map("log", total, shape=total.shape)) if log else w.map("div", w.map("exp", low), total)
        )

    return make


def _logsumexp(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes, keep = w.axes(x, w.argument(1, "dim")), bool(w.argument(2, "keepdim", False))
    total = w.reduce("expsum", x, axes, keep)
    return w.map("add", w.map("log", total), w.reduce("max", x, axes, keep))


def _wide(dtype: Dtype | None) -> Dtype:
    return dtype if dtype is not None and dtype.is_float and dtype.bits > 16 else dt.FLOAT32


def standardised(w: Writer, x: Tensor | Value, axes: Sequence[int], eps: Any) -> Value:
    """(x - mean) / sqrt(variance + eps) over ``axes``."""
    shape, count = x.shape or (), torch_ops.product(tuple((x.shape or ())[d] for d in axes))
    total = w.reduce("sum", x, axes, True, _wide(x.dtype))
    squares = w.reduce("m2", x, axes, True, _wide(x.dtype))
    small = total.shape
    mean = _called("mean", w.map("div", total, count, shape=small))
    spread = w.map("add", w.map("div", squares, count, shape=small), eps, shape=small)
    rstd = _called("rstd", w.map("rsqrt", spread, shape=small))
    return w.map("mul", w.map("sub", x, mean, shape=shape), rstd, shape=shape)


def _called(name: str, value: Value) -> Value:
    return Value(value.op, value.shape, value.dtype, value.operands, value.attributes, name)


def affine(w: Writer, x: Value, weight: Any, bias: Any) -> Value:
    if isinstance(weight, (Tensor, Value)):
        x = w.map("mul", x, weight)
    return w.map("add", x, bias) if isinstance(bias, (Tensor, Value)) else x


def _trailing(w: Writer, x: Tensor, shape: Any) -> list[int]:
    if not isinstance(shape, tuple):
        shape = (shape,)
    rank = len(x.shape or ())
    return list(range(rank - len(shape), rank))


def _layer_norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes = _trailing(w, x, w.argument(1, "normalized_shape"))
    result = standardised(w, x, axes, w.argument(4, "eps", 1e-5))
    return affine(w, result, w.argument(2, "weight"), w.argument(3, "bias"))


def _rms_norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes = _trailing(w, x, w.argument(1, "normalized_shape"))
    eps = w.argument(3, "eps")
    if eps is None:
        eps = {16: 2.0**-10 if x.dtype == dt.FLOAT16 else 2.0**-7, 32: 2.0**-23, 64: 2.0**-52}[_wide(x.dtype).bits]
    shape = x.shape or ()
    squares = w.reduce("sum", w.map("square", x, shape=shape, dtype=_wide(x.dtype)), axes, True, _wide(x.dtype))
    count = torch_ops.product(tuple(shape[d] for d in axes))
    root = w.map("rsqrt", w.map("add", w.map("div", squares, count, shape=squares.shape), eps, shape=squares.shape),
                 shape=squares.shape)  # fmt: skip
    return affine(w, w.map("mul", x, root), w.argument(2, "weight"), None)


def _group_norm(w: Writer) -> Value:
    x, groups = w.tensor(0, "input"), w.argument(1, "num_groups")
    shape = x.shape or ()
    if not isinstance(groups, (int, Expr)) or len(shape) < 2:
        raise CannotGenerate("a group norm whose groups are not known")
    width = ex.simplify(lift(ex.floordiv(shape[1], groups)))
    inner = (shape[0], groups, width, *shape[2:])
    view = w.operand(x)
    split = [lane(0), lane(1) * width + lane(2), *(lane(d + 1) for d in range(2, len(shape)))]
    grouped = Value("cast", inner, _wide(x.dtype), (View(view.value, looked_through(view.index, split)),))
    axes = list(range(2, len(inner)))
    result = standardised(w, grouped, axes, w.argument(4, "eps", 1e-5))
    back = (
        lane(0),
        lift(ex.floordiv(lane(1), width)),
        lift(ex.mod(lane(1), width)),
        *(lane(d) for d in range(2, len(shape))),
    )
    whole = Value("cast", shape, w.dtype, (View(result, tuple(map(lift, back))),))
    weight, bias = w.argument(2, "weight"), w.argument(3, "bias")
    return affine(w, whole, *(per_channel(w, one, len(shape)) for one in (weight, bias)))


def per_channel(w: Writer, given: Any, rank: int) -> Any:
    """A tensor of one number for each channel, as it is looked at from images."""
    if not isinstance(given, Tensor):
        return given
    view = w.operand(given)
    shape = ((given.shape or (1,))[0], *(1,) * (rank - 2))
    return Value("cast", shape, given.dtype or dt.FLOAT32, (View(view.value, looked_through(view.index, (lane(0),))),))


def _batch_norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    if w.argument(5, "training", False):
        raise CannotGenerate("a batch norm that is being trained")
    rank = len(x.shape or ())
    mean, variance = (per_channel(w, w.tensor(i, n), rank) for i, n in ((1, "running_mean"), (2, "running_var")))
    eps = w.argument(7, "eps", 1e-5)
    root = w.map("rsqrt", w.map("add", variance, eps, shape=variance.shape), shape=variance.shape)
    result = w.map("mul", w.map("sub", x, mean), root)
    weight, bias = (per_channel(w, w.argument(i, n), rank) for i, n in ((3, "weight"), (4, "bias")))
    return affine(w, result, weight, bias)


def _normalize(w: Writer) -> Value:
    x, p = w.tensor(0, "input"), w.argument(1, "p", 2.0)
    if p not in (2, 2.0):
        raise CannotGenerate(f"a norm of order {p}")
    axes = w.axes(x, w.argument(2, "dim", 1))
    squares = w.map("square", x, shape=x.shape, dtype=_wide(x.dtype))
    total = w.reduce("sum", squares, axes, True, _wide(x.dtype))
    length = w.map("sqrt", total, shape=total.shape)
    return w.map("div", x, w.map("maximum", length, w.argument(3, "eps", 1e-12), shape=total.shape))


def reduced_loss(w: Writer, losses: Value) -> Value:
    how = w.kwargs.get("reduction", "mean")
    if how == "none":
        return losses
    total = w.reduce("sum", losses, list(range(len(losses.shape))), False)
    return w.map("div", total, torch_ops.product(losses.shape)) if how == "mean" else total


def _loss(losses: Callable[[Writer, Tensor, Tensor, tuple[Size, ...]], Value]) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x, y = w.tensor(0, "input"), w.tensor(1, "target")
        if x.shape != y.shape or x.shape is None:
            raise CannotGenerate(f"{w.call.function} of tensors of two shapes")
        return reduced_loss(w, losses(w, x, y, x.shape))

    return make


def _cross_entropy(w: Writer) -> Value:
    """Of logits [n, classes] and class numbers [n]."""
    x, target = w.tensor(0, "input"), w.tensor(1, "target")
    shape, smoothing = x.shape or (), w.kwargs.get("label_smoothing", 0.0)
    reduction, ignored = w.kwargs.get("reduction", "mean"), w.kwargs.get("ignore_index", -100)
    if len(shape) != 2 or len(target.shape or ()) != 1 or w.argument(2, "weight") is not None or len(w.args) > 2:
        raise CannotGenerate("a cross entropy of other than class numbers")
    rows = shape[:1]
    top, total = (w.reduce(kind, x, [1], False, dt.FLOAT32) for kind in ("max", "expsum"))
    level = w.map("add", top, w.map("log", total, shape=rows), shape=rows, dtype=dt.FLOAT32)
    counts = w.map("ne", target, ignored, shape=rows)
    known = w.map("where", counts, target, 0, shape=rows, dtype=dt.INT64)
    view = w.operand(x)
    places = looked_through(view.index, [lane(0), element(1)])
    own = Value("pick", rows, dt.FLOAT32, (View(view.value, places), View(known, identity(rows))), {"wraps": False})
    lost = w.map("sub", level, own, shape=rows, dtype=dt.FLOAT32)
    if smoothing:
        mean = w.map("div", w.reduce("sum", x, [1], False, dt.FLOAT32), shape[1], shape=rows, dtype=dt.FLOAT32)
        even = w.map("sub", level, mean, shape=rows, dtype=dt.FLOAT32)
        parts = (w.map("mul", one, f, shape=rows) for one, f in ((lost, 1.0 - smoothing), (even, float(smoothing))))
        lost = w.map("add", *parts, shape=rows, dtype=dt.FLOAT32)
    lost = w.map("where", counts, lost, 0.0, shape=rows, dtype=dt.FLOAT32)
    if reduction == "none":
        return lost
    whole = w.reduce("sum", lost, [0], False, dt.FLOAT32)
    if reduction == "sum":
        return whole
    number = w.reduce("sum", w.map("cast", counts, shape=rows, dtype=dt.FLOAT32), [0], False, dt.FLOAT32)
    return w.map("div", whole, number)


def _squared_error(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
    return w.map("square", w.map("sub", x, y, shape=shape), shape=shape)


def _absolute_error(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
    return w.map("abs", w.map("sub", x, y, shape=shape), shape=shape)


def _huber(scaled: bool) -> Callable[[Writer, Tensor, Tensor, tuple[Size, ...]], Value]:
    def losses(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
        beta = w.kwargs.get("beta" if scaled else "delta", 1.0)
        far = _absolute_error(w, x, y, shape)
        half = w.map("mul", w.map("square", far, shape=shape), 0.5, shape=shape)
        line = w.map("sub", far, w.map("mul", beta, 0.5, shape=()), shape=shape)
        if scaled:
            near = w.map("div", half, beta, shape=shape)
        else:
            near, line = half, w.map("mul", line, beta, shape=shape)
        return w.map("where", w.map("lt", far, beta, shape=shape), near, line, shape=shape)

    return losses


def _clamp(w: Writer) -> Value:
    low, high = w.argument(1, "min"), w.argument(2, "max")
    result: Any = w.args[0]
    result = w.map("maximum", result, low) if low is not None else result
    result = w.map("minimum", result, high) if high is not None else result
    return result if isinstance(result, Value) else w.cast(w.operand(result), w.dtype)


def _bounded(op: str, name: str) -> Callable[[Writer], Value]:
    return lambda w: w.map(op, w.args[0], w.argument(1, name))


def _power(w: Writer) -> Value:
    base, exponent = w.args[0], w.argument(1, "exponent")
    if isinstance(base, (int, float)) and base > 0 and isinstance(exponent, Tensor):
        return w.map("exp", w.map("mul", exponent, math.log(base)))
    if isinstance(base, Tensor) and isinstance(exponent, (int, float)):
        found = _POWERS.get(float(exponent))
        if found is not None:
            return found(w, base)
        if not float(exponent).is_integer():
            # Of a negative base both are not a number.
            return w.map("exp", w.map("mul", w.map("log", base), float(exponent)))
    raise CannotGenerate("a power whose exponent is not known")


_POWERS: dict[float, Callable[[Writer, Tensor], Value]] = {
    1.0: lambda w, x: w.map("cast", x),
    2.0: lambda w, x: w.map("square", x),
    3.0: lambda w, x: w.map("mul", w.map("square", x), x),
    4.0: lambda w, x: w.map("square", w.map("square", x)),
    0.5: lambda w, x: w.map("sqrt", x),
    -0.5: lambda w, x: w.map("rsqrt", x),
    -1.0: lambda w, x: w.map("reciprocal", x),
    -2.0: lambda w, x: w.map("reciprocal", w.map("square", x)),
}


def _gelu(w: Writer) -> Value:
    x = w.args[0]
    half = w.map("mul", x, 0.5)
    if w.kwargs.get("approximate", "none") == "tanh":
        cube = w.map("mul", w.map("mul", w.map("square", x), x), 0.044715)
        inner = w.map("mul", w.map("add", x, cube), math.sqrt(2 / math.pi))
        return w.map("mul", half, w.map("add", w.map("tanh", inner), 1.0))
    return w.map("mul", half, w.map("add", w.map("erf", w.map("mul", x, math.sqrt(0.5))), 1.0))


def _scaled_sum(op: str) -> Callable[[Writer], Value]:
    """add and sub with their ``alpha``."""

    def make(w: Writer) -> Value:
        alpha = w.kwargs.get("alpha", 1)
        second = w.args[1] if len(w.args) > 1 else w.kwargs.get("other")
        if alpha != 1:
            second = w.map("mul", second, alpha)
        return w.map(op, w.args[0], second)

    return make


def _divided(w: Writer) -> Value:
    mode = w.kwargs.get("rounding_mode")
    result = w.map("div", w.args[0], w.argument(1, "other"), dtype=None if mode is None else dt.FLOAT32)
    if mode is None:
        return result
    if not w.dtype.is_float or mode not in ("floor", "trunc"):
        raise CannotGenerate("a division of integers")
    return w.map(mode, result)


def _chain(*steps: tuple[Any, ...]) -> Callable[[Writer], Value]:
    """A function of ``x`` as steps ``(op, operand, ...)``; ``...`` is the result so far, ``"x"`` the argument."""

    def make(w: Writer) -> Value:
        x = w.args[0]
        result: Any = x
        for op, *operands in steps:
            result = w.map(op, *(result if one is ... else x if one == "x" else one for one in operands))
        return result

    return make


def _leaky(w: Writer) -> Value:
    x = w.args[0]
    return w.map("where", w.map("gt", x, 0.0), x, w.map("mul", x, w.argument(1, "negative_slope", 0.01)))


def _elu(w: Writer) -> Value:
    x = w.args[0]
    low = w.map("mul", w.map("sub", w.map("exp", x), 1.0), w.argument(1, "alpha", 1.0))
    return w.map("where", w.map("gt", x, 0.0), x, low)


def _softplus(w: Writer) -> Value:
    x, beta, threshold = w.args[0], w.argument(1, "beta", 1.0), w.argument(2, "threshold", 20.0)
    scaled = w.map("mul", x, beta) if beta not in (1, 1.0) else x
    # log(1 + exp(x)) without overflow: what is above the threshold is x itself.
    soft = w.map("log", w.map("add", w.map("exp", w.map("minimum", scaled, threshold)), 1.0))
    soft = w.map("div", soft, beta) if beta not in (1, 1.0) else soft
    return w.map("where", w.map("gt", scaled, threshold), x, soft)


def _logsigmoid(w: Writer) -> Value:
    x = w.args[0]
    lost = w.map("log", w.map("add", w.map("exp", w.map("neg", w.map("abs", x))), 1.0))
    return w.map("sub", w.map("minimum", x, 0.0), lost)


def _lerp(w: Writer) -> Value:
    start, end, weight = w.args[0], w.argument(1, "end"), w.argument(2, "weight")
    return w.map("add", start, w.map("mul", weight, w.map("sub", end, start)))


def _with_product(op: str) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        value = w.kwargs.get("value", 1)
        product = w.map(op, w.args[1], w.args[2])
        return w.map("add", w.args[0], w.map("mul", product, value) if value != 1 else product)

    return make


def _where(w: Writer) -> Value:
    args = [*w.args, *(w.kwargs[name] for name in ("input", "other") if name in w.kwargs)]
    if len(args) != 3:
        raise CannotGenerate("where with one argument")
    if isinstance(args[0], Tensor) and args[0].dtype != dt.BOOL:  # a method: x.where(condition, other)
        args[0], args[1] = args[1], args[0]
    return w.map("where", *args)


def _masked_fill(w: Writer) -> Value:
    return w.map("where", w.args[1], w.args[2], w.args[0])


def _triangle(lower: bool) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x, diagonal = w.args[0], w.argument(1, "diagonal", 0)
        rank = len(w.shape)
        row, column = (place(w, lane(rank - i)) for i in (2, 1))
        limit = w.map("add", row, diagonal, dtype=dt.INT64)
        return w.map("where", w.map("le" if lower else "ge", column, limit), x, 0.0 if w.dtype.is_float else 0)

    return make


def place(w: Writer, at: Expr) -> Value:
    """The place itself, as an integer."""
    return Value("place", w.shape, dt.INT64, attributes={"at": at})


def _filled(value: Any) -> Callable[[Writer], Value]:
    return lambda w: w.map("cast", value)


def _full(w: Writer) -> Value:
    position = 1 if w.call.function in ("full", "full_like", "fill_") else 2
    return w.map("cast", w.argument(position, "fill_value"))


def _arange(w: Writer) -> Value:
    given = [a for a in w.args if isinstance(a, (int, float, Expr))]
    start = w.kwargs.get("start", 0 if len(given) < 2 else given[0])
    step = w.kwargs.get("step", given[2] if len(given) > 2 else 1)
    if not all(isinstance(one, (int, Expr)) for one in (start, step)):
        raise CannotGenerate("a range of fractions")
    at = place(w, lane(0) * step + start)
    return at if w.dtype.is_integer else w.map("cast", at)


def _cat(w: Writer) -> Value:
    parts = w.args[0] if w.args else w.kwargs.get("tensors")
    if not isinstance(parts, tuple):
        raise CannotGenerate(f"torch function {w.call.function} of what is not known")
    axis = w.axis(w.argument(1, "dim", 0), len(w.shape))
    stacked = w.call.function == "stack"
    cases, views, extents = [], [], []
    start: Size = 0
    for part in parts:
        extent: Size = 1 if stacked else (part.shape or ())[axis]
        end = ex.simplify(lift(start) + extent)
        places = list(identity(w.shape))
        if stacked:
            del places[axis]
        else:
            places[axis] = lane(axis) - start if lift(extent).value != 1 else lift(0)
        view = w.operand(part)
        views.append(View(view.value, looked_through(view.index, places)))
        cases.append(((lift(start), lane(axis), lift(end) if part is not parts[-1] else None),))
        extents.append((start, extent))
        start = end
    attributes = {"cases": tuple(cases), "axis": axis, "extents": tuple(extents)}
    return Value("choose", w.shape, w.dtype, tuple(views), attributes)


def _pad(w: Writer) -> Value:
    x, pads = w.tensor(0, "input"), w.argument(1, "pad")
    mode, value = w.argument(2, "mode", "constant"), w.argument(3, "value", 0)
    if mode != "constant" or not isinstance(pads, tuple):
        raise CannotGenerate(f"padding in mode {mode}")
    shape = x.shape or ()
    places, bounds = list(identity(w.shape)), []
    for i in range(len(pads) // 2):
        axis = len(shape) - 1 - i
        before = pads[2 * i]
        if pads[2 * i] == 0 and pads[2 * i + 1] == 0:
            continue
        places[axis] = lane(axis) - before
        bounds.append((lift(before), lane(axis), lift(before) + shape[axis]))
    view, filler = w.operand(x), w.spread(0.0 if value is None else value, len(w.shape))
    inside = View(view.value, looked_through(view.index, places))
    return Value("choose", w.shape, w.dtype, (inside, filler), {"cases": (tuple(bounds), ())})


def _flip(w: Writer) -> Value:
    x = w.tensor(0, "input")
    dims = w.argument(1, "dims")
    dims = dims if isinstance(dims, tuple) else w.args[1:]
    axes = [w.axis(d, len(w.shape)) for d in dims]
    places = [lift(w.shape[d]) - 1 - lane(d) if d in axes else p for d, p in enumerate(identity(w.shape))]
    view = w.operand(x)
    return w.cast(View(view.value, looked_through(view.index, places)), w.dtype)


def _repeat(w: Writer) -> Value:
    x = w.tensor(0, "input")
    shape = x.shape or ()
    lead = len(w.shape) - len(shape)
    places = [
        lift(ex.mod(lane(lead + d), n)) if n != w.shape[lead + d] else lane(lead + d) for d, n in enumerate(shape)
    ]
    view = w.operand(x)
    return w.cast(View(view.value, looked_through(view.index, places)), w.dtype)


def _repeat_interleave(w: Writer) -> Value:
    x, times = w.tensor(0, "input"), w.argument(1, "repeats")
    axis = w.axis(w.argument(2, "dim"), len(w.shape))
    if not isinstance(times, (int, Expr)):
        raise CannotGenerate("repeats that are not known")
    places = list(identity(w.shape))
    places[axis] = lift(ex.floordiv(lane(axis), times))
    view = w.operand(x)
    return w.cast(View(view.value, looked_through(view.index, places)), w.dtype)


def _picked(w: Writer, table: Tensor, places: Sequence[Expr], indices: Sequence[View], wraps: bool) -> Value:
    view = w.operand(table)
    index = looked_through(view.index, places)
    return Value("pick", w.shape, w.dtype, (View(view.value, index), *indices), {"wraps": wraps})


def _embedding(w: Writer) -> Value:
    ids, table = w.tensor(0, "input"), w.tensor(1, "weight")
    rank = len(ids.shape or ())
    view = w.operand(ids)
    index = View(view.value, looked_through(view.index, [lane(d) for d in range(rank)]))
    return _picked(w, table, [element(1), lane(rank)], [index], False)


def _index_select(w: Writer) -> Value:
    x, ids = w.tensor(0, "input"), w.tensor(2, "index")
    axis = w.axis(w.argument(1, "dim"), len(w.shape))
    places = list(identity(x.shape or ()))
    places[axis] = element(1)
    view = w.operand(ids)
    return _picked(w, x, places, [View(view.value, looked_through(view.index, [lane(axis)]))], False)


def _gather(w: Writer) -> Value:
    method = w.call.function == "take_along_dim"
    x, ids = (w.tensor(0, "input"), w.tensor(1, "indices")) if method else (w.tensor(0, "input"), w.tensor(2, "index"))
    axis = w.axis(w.argument(2 if method else 1, "dim"), len(w.shape))
    places = [lane(d) for d in range(len(x.shape or ()))]
    places[axis] = element(1)
    return _picked(w, x, places, [w.spread(ids, len(w.shape))], False)


def _indexed(w: Writer) -> Value:
    """``x[i, :, j]``: tensors of integers beside whole axes."""
    x, key = w.tensor(0, "input"), w.argument(1, "key")
    shape = x.shape or ()
    parts = list(key) if isinstance(key, tuple) else [key]
    parts += [slice(None)] * (len(shape) - len(parts))
    at = [d for d, part in enumerate(parts) if isinstance(part, Tensor)]
    tensors = [parts[d] for d in at]
    plain = all(isinstance(p, Tensor) or p == slice(None) for p in parts)
    if not plain or any(t.dtype == dt.BOOL for t in tensors) or at != list(range(at[0], at[-1] + 1)):
        raise CannotGenerate("indexing by masks, or by tensors and numbers")
    rank = max(len(t.shape or ()) for t in tensors)
    first, places, views = at[0], [], []
    for axis in range(len(shape)):
        if axis in at:
            places.append(element(1 + at.index(axis)))
            spread = w.spread(parts[axis], rank)
            views.append(View(spread.value, looked_through(spread.index, [lane(first + d) for d in range(rank)])))
        else:
            own = axis if axis < first else axis - len(at) + rank
            places.append(lane(own) if lift(shape[axis]).value != 1 else lift(0))
    return _picked(w, x, places, views, True)


def _product(w: Writer) -> Value:
    a, b = w.tensor(0, "input"), w.tensor(1, "other")
    return _contracted(w, a, b)


def _contracted(w: Writer, a: Tensor, b: Tensor, bias: Any = None) -> Value:
    left, right = a.shape or (), b.shape or ()
    if len(left) < 1 or len(right) < 1:
        raise CannotGenerate("a product of numbers")
    rank, k = len(w.shape), lane(len(w.shape))
    columns = 1 if len(right) > 1 else 0
    rows = 1 if len(left) > 1 else 0
    batch = rank - columns - rows
    first = [lane(batch - (len(left) - 2) + d) if lift(left[d]).value != 1 else lift(0) for d in range(len(left) - 2)]
    second = [
        lane(batch - (len(right) - 2) + d) if lift(right[d]).value != 1 else lift(0) for d in range(len(right) - 2)
    ]
    of_a = [*first, *([lane(batch)] if rows else []), k]
    of_b = [*second, k, lane(rank - 1)] if columns else [k]
    x, y = w.operand(a), w.operand(b)
    views = View(x.value, looked_through(x.index, of_a)), View(y.value, looked_through(y.index, of_b))
    made = _multiplied(w, views, (left[-1],))
    return w.map("add", made, bias) if isinstance(bias, Tensor) else made


#: Elements that are multiplied and summed one by one rather than as a matrix product.
_FEW = 8


def _multiplied(w: Writer, views: tuple[View, View], over: tuple[Size, ...]) -> Value:
    """The product of two views, summed over the lanes behind the axes of the result."""
    rank = len(w.shape)
    extents = [lift(extent).value for extent in over]
    if None in extents or math.prod(extent or 1 for extent in extents) > _FEW:
        if _is_vector(w, views):
            return _summed(w, views, over)
        return Value("product", w.shape, w.dtype, views, {"over": over})
    total: Any = None
    for number in range(math.prod(extent or 1 for extent in extents)):
        at: list[Expr] = []
        rest = number
        for extent in reversed(extents):
            at.insert(0, lift(rest % (extent or 1)))
            rest //= extent or 1
        places = [*(lane(d) for d in range(rank)), *at]
        pair = tuple(View(view.value, looked_through(view.index, places)) for view in views)
        product = Value("mul", w.shape, w.dtype, pair)
        total = product if total is None else w.map("add", total, product)
    assert isinstance(total, Value)
    return total


def _is_vector(w: Writer, views: tuple[View, View]) -> bool:
    """Whether one of the operands has hardly any rows of its own, so that no matrix product is worth it."""
    first, second = (lanes_of(view.index) for view in views)
    for own in (first - second, second - first):
        extents = [lift(w.shape[d]).evaluate(w.reader.sizes) or 1 for d in own if d < len(w.shape)]
        if math.prod(extents) < _FEW:
            return True
    return False


def _summed(w: Writer, views: tuple[View, View], over: tuple[Size, ...]) -> Value:
    space = (*w.shape, *over)
    wide = w.dtype if w.dtype.is_integer else _wide(w.dtype)
    body = Value("mul", space, wide, views)
    return Value(
        "reduce", w.shape, w.dtype, (View(body, tuple(map(lane, range(len(space))))),), {"kind": "sum", "over": over}
    )


def _linear(w: Writer) -> Value:
    x, weight = w.tensor(0, "input"), w.tensor(1, "weight")
    k = lane(len(w.shape))
    a, b = w.operand(x), w.operand(weight)
    of_x = [*(lane(d) for d in range(len(w.shape) - 1)), k]
    views = (
        View(a.value, looked_through(a.index, of_x)),
        View(b.value, looked_through(b.index, [lane(len(w.shape) - 1), k])),
    )
    made = _multiplied(w, views, ((x.shape or ())[-1],))
    bias = w.argument(2, "bias")
    return w.map("add", made, bias) if isinstance(bias, Tensor) else made


def _addmm(w: Writer) -> Value:
    if w.kwargs.get("alpha", 1) != 1 or w.kwargs.get("beta", 1) != 1:
        raise CannotGenerate("addmm with factors")
    return _contracted(w, w.tensor(1, "mat1"), w.tensor(2, "mat2"), w.args[0])


def _einsum(w: Writer) -> Value:
    equation, *operands = w.args
    if len(operands) == 1 and isinstance(operands[0], tuple):
        operands = list(operands[0])
    if not isinstance(equation, str) or "->" not in equation or "." in equation or len(operands) != 2:
        raise CannotGenerate("an einsum of other than two tensors")
    inputs, output = equation.replace(" ", "").split("->")
    terms = inputs.split(",")
    if any(len(set(term)) != len(term) for term in (*terms, output)):
        raise CannotGenerate("an einsum along a diagonal")
    summed = [c for c in dict.fromkeys("".join(terms)) if c not in output]
    letters = [*output, *summed]
    sizes = {c: n for term, t in zip(terms, operands) for c, n in zip(term, t.shape or ())}
    if any(c not in term for term in terms for c in summed):
        raise CannotGenerate("an einsum that sums one operand alone")
    views = []
    for term, tensor in zip(terms, operands):
        view = w.operand(tensor)
        views.append(View(view.value, looked_through(view.index, [lane(letters.index(c)) for c in term])))
    if not summed:
        return Value("mul", w.shape, w.dtype, tuple(views))
    first, second = views
    return _multiplied(w, (first, second), tuple(sizes[c] for c in summed))


def _outer(w: Writer) -> Value:
    views = []
    for d, tensor in enumerate(w.args[:2]):
        view = w.operand(tensor)
        views.append(View(view.value, looked_through(view.index, [lane(d)])))
    return Value("mul", w.shape, w.dtype, tuple(views))


_MOST_TAPS = 32


def _conv(w: Writer) -> Value:
    """A depthwise convolution of few taps as a sum over them; others are a library's business."""
    x, weight = w.tensor(0, "input"), w.tensor(1, "weight")
    rank = len(w.shape) - 2
    stride, padding, dilation = (per_axis(w.argument(i, n, d), rank) for i, n, d in
                                 ((3, "stride", 1), (4, "padding", 0), (5, "dilation", 1)))  # fmt: skip
    groups = w.argument(6, "groups", 1)
    shape, filters = x.shape or (), weight.shape or ()
    depthwise = groups == shape[1] and groups == filters[0] and filters[1] == 1
    extents = [ex.concrete(n) for n in filters[2:]]
    taps = math.prod(n or 0 for n in extents)
    for atom in (atom for extent in filters[2:] for atom in lift(extent).atoms()):
        raise Unbound(str(atom))
    if None in (stride, padding, dilation) or None in extents:
        raise CannotGenerate("a convolution whose geometry is not known")
    assert stride is not None and padding is not None and dilation is not None
    image, kernel = w.operand(x), w.operand(weight)
    if groups == 1:
        return _implicit_product(w, (image, kernel), (shape, filters), (stride, padding, dilation))
    if not depthwise or not 0 < taps <= _MOST_TAPS:
        raise CannotGenerate("a convolution in groups")
    total: Any = None
    for number in range(taps):
        at: list[int] = []
        rest = number
        for n in reversed(extents):
            at.insert(0, rest % (n or 1))
            rest //= n or 1
        places = [lane(2 + d) * stride[d] + at[d] * dilation[d] - padding[d] for d in range(rank)]
        bounds = tuple((lift(padding[d]), places[d] + padding[d], lift(shape[2 + d]) + padding[d]) for d in range(rank)
                       if padding[d] != 0 or at[d] > 0)  # fmt: skip
        look = View(image.value, looked_through(image.index, [lane(0), lane(1), *places]))
        nothing = View(Value("number", (), dt.FLOAT32, attributes={"value": 0.0}), ())
        tap = Value("choose", w.shape, x.dtype or dt.FLOAT32, (look, nothing), {"cases": (bounds, ())})
        factor = View(kernel.value, looked_through(kernel.index, [lane(1), lift(0), *map(lift, at)]))
        product = Value("mul", w.shape, w.dtype, (View(tap, identity(w.shape)), factor))
        total = product if total is None else w.map("add", total, product)
    bias = w.argument(2, "bias")
    return w.map("add", total, per_channel(w, bias, rank + 2)) if isinstance(bias, Tensor) else total


def _implicit_product(
    w: Writer,
    operands: tuple[View, View],
    shapes: tuple[tuple[Size, ...], tuple[Size, ...]],
    geometry: tuple[list[int], ...],
) -> Value:
    """A convolution as a product of pixels by filters, summed over channels and taps."""
    (image, kernel), (shape, filters), (stride, padding, dilation) = operands, shapes, geometry
    rank = len(w.shape) - 2
    channel, taps = lane(rank + 2), [lane(rank + 3 + d) for d in range(rank)]
    if all(lift(n).value == 1 for n in filters[2:]):
        taps = [lift(0)] * rank
    places = [lane(2 + d) * stride[d] + taps[d] * dilation[d] - padding[d] for d in range(rank)]
    over = (filters[1], *(filters[2:] if taps[0].value is None else ()))
    look = View(image.value, looked_through(image.index, [lane(0), channel, *places]))
    if any(padding):
        # Seen from the space of the product: result axes, then the summed ones.
        space = (*w.shape, *over)
        bounds = tuple((lift(padding[d]), places[d] + padding[d], lift(shape[2 + d]) + padding[d]) for d in range(rank))
        nothing = View(Value("number", (), dt.FLOAT32, attributes={"value": 0.0}), ())
        padded = Value("choose", space, image.value.dtype, (look, nothing), {"cases": (bounds, ())})
        look = View(padded, tuple(lane(d) for d in range(len(space))))
    factor = View(kernel.value, looked_through(kernel.index, [lane(1), channel, *taps]))
    made = _multiplied(w, (look, factor), over)
    bias = w.argument(2, "bias")
    return w.map("add", made, per_channel(w, bias, rank + 2)) if isinstance(bias, Tensor) else made


def per_axis(value: Any, rank: int) -> list[int] | None:
    values = list(value) if isinstance(value, tuple) else [value] * rank
    return values if len(values) == rank and all(isinstance(one, int) for one in values) else None


def _canonical(made: Value) -> Value:
    """Sums of squared deviations from the mean, and of exponentials of what lies below the maximum, under their own kinds: for these
    partial results of several programs can be put together."""
    if made.attributes["kind"] != "sum":
        return made
    (body,) = made.operands
    over = made.attributes["over"]
    term = _without_casts(body)
    if term.value.op == "square" or (term.value.op == "mul" and _twice(term.value)):
        inner = _without_casts(_through(term, term.value.operands[0]))
        if inner.value.op == "sub":
            x, mean = (_without_casts(_through(inner, one)) for one in inner.value.operands)
            if mean.value.op == "div" and _is_count(mean.value.operands[1], over):
                total = _without_casts(_through(mean, mean.value.operands[0]))
                if _reduces(total, "sum", x, over, len(made.shape)):
                    return _kind(made, "m2", x)
    if term.value.op == "exp":
        inner = _without_casts(_through(term, term.value.operands[0]))
        if inner.value.op == "sub":
            x, top = (_without_casts(_through(inner, one)) for one in inner.value.operands)
            if _reduces(top, "max", x, over, len(made.shape)):
                return _kind(made, "expsum", x)
    return made


def _kind(made: Value, kind: str, body: View) -> Value:
    return Value("reduce", made.shape, made.dtype, (body,), {**made.attributes, "kind": kind})


def _through(outer: View, inner: View) -> View:
    """``inner``, an operand of the value of ``outer``, as it is looked at from where ``outer`` is."""
    return View(inner.value, looked_through(inner.index, outer.index))


def _without_casts(view: View) -> View:
    """``view`` without conversions that lose nothing."""
    while view.value.op == "cast" and view.value.dtype.is_float and not _loses(view.value):
        view = _through(view, view.value.operands[0])
    return view


def _loses(cast: Value) -> bool:
    source = cast.operands[0].value.dtype
    return source.bits > cast.dtype.bits or not source.is_float


def _twice(value: Value) -> bool:
    first, second = value.operands
    return first.value is second.value and first.index == second.index


def _is_count(view: View, over: Sequence[Size]) -> bool:
    return view.value.op == "number" and view.value.attributes["value"] == torch_ops.product(tuple(over))


def _reduces(view: View, kind: str, x: View, over: Sequence[Size], rank: int) -> bool:
    """Whether ``view``, looked at from the body of a reduction to ``rank`` axes, is what that reduction makes of ``x``."""
    value = view.value
    if value.op != "reduce" or value.attributes["kind"] != kind or value.attributes["over"] != over:
        return False
    # The lanes of its result are where it is looked at, those that it reduces over the ones of the body here.
    lanes = [*view.index, *(lane(rank + i) for i in range(len(over)))]
    body = _without_casts(View(value.operands[0].value, looked_through(value.operands[0].index, lanes)))
    return body.value is x.value and body.index == x.index


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "sum": _sum,
    "mean": _mean,
    "amax": _extreme("max"),
    "amin": _extreme("min"),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "var": _variance(False),
    "std": _variance(True),
    "norm": _norm,
    "vector_norm": _norm,
    "softmax": _softmax(False),
    "log_softmax": _softmax(True),
    "logsumexp": _logsumexp,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "batch_norm": _batch_norm,
    "normalize": _normalize,
    "cross_entropy": _cross_entropy,
    "mse_loss": _loss(_squared_error),
    "l1_loss": _loss(_absolute_error),
    "smooth_l1_loss": _loss(_huber(True)),
    "huber_loss": _loss(_huber(False)),
    "clamp": _clamp,
    "clamp_min": _bounded("maximum", "min"),
    "clamp_max": _bounded("minimum", "max"),
    "pow": _power,
    "gelu": _gelu,
    "add": _scaled_sum("add"),
    "sub": _scaled_sum("sub"),
    "rsub": lambda w: w.map("sub", w.args[1], w.args[0]),
    "div": _divided,
    "silu": _chain(("sigmoid", "x"), ("mul", "x", ...)),
    "hardtanh": lambda w: w.map("minimum", w.map("maximum", w.args[0], w.argument(1, "min_val", -1.0)),
                                w.argument(2, "max_val", 1.0)),
    "relu6": _chain(("maximum", "x", 0.0), ("minimum", ..., 6.0)),
    "hardsigmoid": _chain(("add", "x", 3.0), ("maximum", ..., 0.0), ("minimum", ..., 6.0), ("div", ..., 6.0)),
    "hardswish": _chain(("add", "x", 3.0), ("maximum", ..., 0.0), ("minimum", ..., 6.0), ("div", ..., 6.0), ("mul", "x", ...)),
    "softsign": _chain(("abs", "x"), ("add", ..., 1.0), ("div", "x", ...)),
    "leaky_relu": _leaky,
    "elu": _elu,
    "softplus": _softplus,
    "logsigmoid": _logsigmoid,
    "lerp": _lerp,
    "addcmul": _with_product("mul"),
    "addcdiv": _with_product("div"),
    "where": _where,
    "masked_fill": _masked_fill,
    "tril": _triangle(True),
    "triu": _triangle(False),
    "zeros": _filled(0), "zeros_like": _filled(0), "new_zeros": _filled(0), "zero": _filled(0),
    # What nobody has written yet may hold anything: zeros are as good.
    **dict.fromkeys(("empty", "empty_like", "new_empty"), _filled(0)),
    "ones": _filled(1), "ones_like": _filled(1), "new_ones": _filled(1),
    "full": _full, "full_like": _full, "new_full": _full, "fill": _full,
    "arange": _arange,
    "cat": _cat,
    "stack": _cat,
    "pad": _pad,
    "flip": _flip,
    "repeat": _repeat,
    "tile": _repeat,
    "repeat_interleave": _repeat_interleave,
    "embedding": _embedding,
    "index_select": _index_select,
    "gather": _gather,
    "index": _indexed,
    "matmul": _product,
    "_int_mm": _product,
    "linear": _linear,
    "addmm": _addmm,
    "einsum": _einsum,
    "outer": _outer,
    "conv1d": _conv,
    "conv2d": _conv,
}  # fmt: skip

Reader.functions = FUNCTIONS
