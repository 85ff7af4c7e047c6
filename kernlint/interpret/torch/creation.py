"""Functions that make tensors of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.torch import copies
from kernlint.interpret.torch.arguments import dtype_given, note_sizes, on_cpu, shape_given
from kernlint.interpret.torch.expected import drawn, filled, listed
from kernlint.interpret.torch.shapes import is_dense
from kernlint.interpret.values import OpenFloat, ReadValue, Unknown, is_huge
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, Size, Tensor, concrete
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.tensor import Expected

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState
    from kernlint.syntax.tree import Module


#: Rows of a triangle of which the places are counted.
_MOST_ROWS = 1 << 16


def _filled(h: HostState, name: str, result: Tensor, node: cst.CSTNode, random: bool = False) -> Tensor:
    """``result``, filled on the device by the function ``name``, unless it is left as it is."""
    bare = result.storage.origin == "empty" or (bool(h.edits.unfilled) and h.span(node) in h.edits.unfilled)
    h.torch_op(name, "alloc" if bare else "random" if random else "fill", (), (result,), node)
    return result


def _is_unplaced(h: HostState, kwargs: Kwargs) -> bool:
    """Whether nothing says where a call puts what it makes: it is in the memory of the host then."""
    if "device" in kwargs or not h.sinks:
        return False
    return h.module is None or not h.module.once(_sets_default_device)


#: What says where tensors are made that nothing is said of.
_DEFAULTS = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})


def _sets_default_device(module: Module) -> bool:
    around = [item.item for node in module.of(cst.With) for item in node.items]
    placed = [one for one in module.calls.get("torch.device", ()) if one in around]
    return bool(module.calls.keys() & _DEFAULTS or placed)


def _fill_of(kind: str, args: Args, kwargs: Kwargs) -> Any:
    """The number that ``zeros``, ``ones`` or ``full`` fills a tensor with; None of others."""
    return argument(args, kwargs, 1, "fill_value") if kind == "full" else {"zeros": 0, "ones": 1}.get(kind)


def _create(origin: str, kind: str, random: bool = False) -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        values = args
        default = h.float_type
        fill = _fill_of(kind, args, kwargs)
        if kind == "full":
            values = args[:1]
            default = dt.BOOL if isinstance(fill, bool) else dt.INT64 if isinstance(fill, (int, Expr)) else default
        elif kind == "randint":
            given = [*args, kwargs.get("size")]
            values = [a for a in given if isinstance(a, (tuple, list))] or [Unknown("size")]
            default = dt.INT64
        if "size" in kwargs and kind != "randint":
            values = [kwargs["size"]]
        shape = shape_given(values)
        result = h.allocate(dtype_given(kwargs, default), shape, origin, node)
        note_sizes(h, result, values)
        if _is_unplaced(h, kwargs):
            h.unplaced.add(result.storage.id)
        result = h.host_tensor(result) if on_cpu(kwargs) else _filled(h, kind, result, node, random)
        return h.expect(result, drawn(args, kwargs) if kind == "randint" else filled(fill))

    return handler


def _create_like(origin: str, kind: str, random: bool = False) -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0] if args else kwargs.get("input")
        if x is None:
            h.lacks_tensor(node)
        if not isinstance(x, Tensor):
            return Unknown(kind)
        result = h.made_like(x, h.allocate(dtype_given(kwargs, x.dtype), x.shape, origin, node))
        dense = x.strides is not None and x.is_contiguous is False and is_dense(x)
        if dense and x.strides is not None and kwargs.get("memory_format") != "contiguous_format":
            result = replace(result, strides=x.strides)  # preserve_format
        hosted = on_cpu(kwargs) or (h.is_hosted(x) and "device" not in kwargs)
        result = h.host_tensor(result) if hosted else _filled(h, kind, result, node, random)
        return h.expect(result, filled(_fill_of(kind.removesuffix("_like"), args, kwargs)))

    return handler


def _new(origin: str, kind: str) -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0]
        values = args[1:] if kind != "new_full" else args[1:2]
        shape = shape_given([kwargs["size"]] if "size" in kwargs else values)
        result = h.allocate(dtype_given(kwargs, x.dtype if isinstance(x, Tensor) else None), shape, origin, node)
        note_sizes(h, result, [kwargs["size"]] if "size" in kwargs else values)
        hosted = on_cpu(kwargs) or (isinstance(x, Tensor) and h.is_hosted(x) and "device" not in kwargs)
        result = h.host_tensor(result) if hosted else _filled(h, kind, result, node)
        return h.expect(result, filled(_fill_of(kind.removeprefix("new_"), args[1:], kwargs)))

    return handler


def _empty_strided(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    shape, strides = shape_given(args[:1]), shape_given([argument(args, kwargs, 1, "stride")])
    result = h.allocate(dtype_given(kwargs, h.float_type), shape, "empty", node)
    h.torch_op("empty_strided", "alloc", (), (result,), node)
    return replace(result, strides=strides) if strides is not None else result


def _arange(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    given = [*args, *(kwargs[name] for name in ("start", "end", "step")[len(args) :] if name in kwargs)]
    bounds: list[Any] = [a for a in given if isinstance(a, (int, float, Expr))]
    if not bounds or ("step" in kwargs and len(bounds) < 3):
        return h.allocate(dtype_given(kwargs, dt.INT64), None, "filled", node)
    start, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds[:2], bounds[2] if len(bounds) > 2 else 1)
    integer = all(isinstance(b, (int, Expr)) for b in (start, end, step))
    count: Size | None = None
    if integer:
        count = ex.ceildiv(ex.lift(end) - start, step)
    elif all(isinstance(b, (int, float)) for b in (start, end, step)) and step:
        count = max(0, -int(-(end - start) // step))
    each = concrete(step) if integer else None
    rising = Expected(step=each, counted=each in (1, -1), ordered=True)
    dtype = dtype_given(kwargs, dt.INT64 if integer else h.float_type)
    result = h.allocate(dtype, (count,) if count is not None else None, "filled", node)
    if on_cpu(kwargs):
        return h.expect(h.host_tensor(result), rising)
    h.torch_op("arange", "fill", (), (result,), node)
    return h.expect(result, rising)


def _triangle(upper: bool) -> Handler:
    """``tril_indices(rows, columns, offset)``: the places of a triangle, as two rows."""

    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        rows, columns, offset = (argument(args, kwargs, i, name) for i, name in enumerate(("row", "col", "offset")))
        offset = 0 if offset is None else offset
        shape = None
        if isinstance(rows, int) and isinstance(columns, int) and isinstance(offset, int) and 0 <= rows <= _MOST_ROWS:
            below = sum(min(columns, max(0, row + offset + (not upper))) for row in range(rows))
            shape = (2, rows * columns - below if upper else below)
        made = h.allocate(dtype_given(kwargs, dt.INT64), shape, "filled", node)
        return _filled(h, "triu_indices" if upper else "tril_indices", made, node)

    return handler


def _type_of_numbers(h: HostState, data: Any) -> Dtype | None:
    """The type of a tensor of the numbers in ``data``: a float among them makes floats of all; None where that hangs on one that is not
    known."""
    numbers = [data]
    while any(isinstance(one, (list, tuple)) for one in numbers):
        numbers = [part for one in numbers for part in (one if isinstance(one, (list, tuple)) else [one])]
    if not numbers or any(isinstance(one, (float, OpenFloat)) for one in numbers):
        return h.float_type
    if not all(isinstance(one, (int, Expr)) for one in numbers):
        return None
    return dt.BOOL if all(isinstance(one, bool) for one in numbers) else dt.INT64


def _tensor(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    given = argument(args, kwargs, 0, "data")
    data = Unknown("huge list") if is_huge(given) else given
    if isinstance(data, Tensor):
        return copies.TABLE["to"](h, [h.shared(data, node) if h.is_array(data) else data], kwargs, node)
    shape: list[Size | None] = []
    inner = data
    while isinstance(inner, (list, tuple)):
        shape.append(h.list_length(inner))
        inner = inner[0] if inner else 0
    default = _type_of_numbers(h, data)
    told = not isinstance(data, Unknown) or isinstance(data, (OpenFloat, ReadValue))
    known = tuple(extent for extent in shape if extent is not None)
    whole = known if told and len(known) == len(shape) else None
    result = h.allocate(dtype_given(kwargs, default), whole, "constant", node)
    device = kwargs.get("device")
    if device is None or on_cpu(kwargs):
        if h.detailed:
            h.torch_op("tensor", "fill", (), (result,), node)
            if isinstance(data, (int, float)) and result.dtype in (dt.FLOAT32, dt.FLOAT64):
                h.host_numbers[result.storage.id] = float(data)
        return h.expect(h.host_tensor(result) if h.sinks else result, listed(data))
    if isinstance(data, (list, tuple)) and result.numel != 0:
        # Pageable memory: the copy waits for all work that is queued, and the host for the copy.
        h.sync("copies a host list to the device", node)
    h.torch_op("tensor", "fill", (), (result,), node)
    return h.expect(result, listed(data))


@takes("input", "data", operands=1, options=True)
def _new_tensor(h: HostState, node: cst.CSTNode, x: Tensor, data: Any, options: Kwargs) -> Any:
    there = {"dtype": x.dtype or Unknown("dtype"), "device": "cpu" if h.is_hosted(x) else "cuda"}
    return _tensor(h, [data], {**there, **options}, node)


def _constructed(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``torch.Tensor(3, 4)`` of sizes, ``torch.Tensor([1, 2])`` of numbers: floats in any case."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        return _tensor(h, args, {**kwargs, "dtype": h.float_type or Unknown("dtype")}, node)
    sized = bool(args) and all(isinstance(size, (int, Expr)) for size in args)
    return _create("empty", "empty")(h, args, {}, node) if sized else Unknown("torch.Tensor")


def _normal(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """Random numbers around those of a tensor, or as many as are asked for."""
    like = next((one for one in (*args, *kwargs.values()) if isinstance(one, Tensor)), None)
    if like is not None:
        return _create_like("input", "randn_like", True)(h, [like], kwargs, node)
    return _create("input", "randn", True)(h, [argument(args, kwargs, 2, "size")], kwargs, node)


def _window(name: str) -> Handler:
    """The weights of a window over a signal, such as Hann's."""

    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        return _create("filled", name)(h, [argument(args, kwargs, 0, "window_length")], kwargs, node)

    return handler


#: Windows by the name of whom or what they are called after.
_WINDOWS = ("hann", "hamming", "blackman", "bartlett", "kaiser")

TABLE: dict[str, Handler] = {
    "empty": _create("empty", "empty"),
    **{name: _create("filled", name) for name in ("zeros", "ones", "full")},
    **{name: _create("input", name, True) for name in ("rand", "randn", "randint")},
    "empty_like": _create_like("empty", "empty_like"),
    **{name: _create_like("filled", name) for name in ("zeros_like", "ones_like", "full_like")},
    **{name: _create_like("input", name, True) for name in ("rand_like", "randn_like")},
    "new_empty": _new("empty", "new_empty"),
    **{name: _new("filled", name) for name in ("new_zeros", "new_ones", "new_full")},
    "empty_strided": _empty_strided,
    "arange": _arange,
    "tril_indices": _triangle(upper=False),
    "triu_indices": _triangle(upper=True),
    "linspace": lambda h, a, k, n: _create("filled", "linspace")(h, [argument(a, k, 2, "steps")], k, n),
    **{f"{name}_window": _window(f"{name}_window") for name in _WINDOWS},
    "randperm": lambda h, a, k, n: _create("input", "randperm", True)(h, a, {"dtype": dt.INT64, **k}, n),
    "eye": lambda h, a, k, n: _create("filled", "eye")(h, [a[0], a[1] if len(a) > 1 else a[0]], k, n),
    **dict.fromkeys(("tensor", "as_tensor", "asarray", "scalar_tensor"), _tensor),
    "new_tensor": _new_tensor,
    "Tensor": _constructed,
    "normal": _normal,
    "from_numpy": lambda h, a, k, n: (
        h.shared(a[0], n) if h.is_array(a[0]) else h.host_tensor(h.allocate(None, None, "constant", n))
    ),
}
