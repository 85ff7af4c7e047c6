"""What each torch function and tensor method does: shape, dtype and strides of the result, and the device work it
costs.

A table by last name: ``torch.softmax``, ``F.softmax`` and ``x.softmax`` are one operation. Views cost nothing; what
allocates, copies or computes is recorded as a :class:`~kernlint.workload.TorchOp`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs
from kernlint.interpret.torch import (
    copies,
    creation,
    elementwise,
    indexing,
    products,
    queries,
    reductions,
    views,
    windows,
)
from kernlint.interpret.torch.arguments import ELSEWHERE, device_of, note_read_sizes, tensors_in
from kernlint.interpret.torch.shapes import transposed
from kernlint.interpret.values import Builtin, Unknown
from kernlint.workload import Tensor

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState


#: What a handler raises on arguments that do not fit.
_MISFIT = (IndexError, AttributeError, TypeError, ValueError, AssertionError)


TABLE: dict[str, Handler] = {
    name: handler
    for part in (creation, views, indexing, copies, elementwise, reductions, products, windows, queries)
    for name, handler in part.TABLE.items()
}


def torch_function(h: HostState, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """The result of ``torch.name(*args, **kwargs)`` or ``F.name``."""
    if "inplace" in elementwise.ACTIVATION_SETTINGS.get(name, ()):
        given = {**dict(zip(elementwise.ACTIVATION_SETTINGS[name], args[1:])), **kwargs}
        name, args, kwargs = name + "_" * (given.pop("inplace", False) is True), args[:1], given
    handler = TABLE.get(name)
    if handler is None and name.endswith("_") and not name.startswith("_"):
        handler = partial(_inplace, name=name)
    if handler is None:
        handler = _by_family(name)
    if handler is None:
        return unknown_function(h, name, args, kwargs, node)
    try:
        with h.inside(name, args, kwargs):
            return handler(h, args, kwargs, node)
    except _MISFIT:
        # The program passes what this function does not take (or what was not followed): its own error, not ours.
        h.unknown(f"arguments of torch function {name}")
        return Unknown(f"torch.{name}")
    finally:
        h.overwritten(tensors_in([kwargs.get("out")]))


def unknown_function(h: HostState, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Unknown:
    """What a function gives of which nothing is known: it may write to what it is given, and share its memory."""
    reads = tensors_in([*args, *kwargs.values()])
    if reads:
        h.torch_op(name, "unknown", reads, (), node, flops=None)
        h.overwritten(reads)
        if h.perhaps_number(reads[0]):
            h.escape(reads)  # a method of some other object, perhaps one that keeps what it is given
        h.unknown(f"torch function {name}")
    return Unknown(f"torch.{name}")


def tensor_attribute(h: HostState, x: Tensor, name: str, node: cst.CSTNode) -> Any:
    """``x.name`` for a tensor: a property, or a method to call."""
    if name == "shape":
        return h.shape(x)
    if name == "dtype":
        return x.dtype if x.dtype is not None else h.dtype_of(x)
    if name == "device":
        return device_of("cpu") if h.is_hosted(x) else ELSEWHERE if h.other_vendor() else device_of("cuda")
    if name in ("T", "mT", "H", "mH"):
        shape = h.rank(x, 2)
        return transposed(shape, -2, -1) if name != "T" or len(shape.shape or ()) == 2 else views.axes_reversed(shape)
    if name == "ndim":
        return len(x.shape) if x.shape is not None else Unknown("rank")
    if name == "is_cuda" and h.is_hosted(x):
        return False
    if name in ("is_cuda", "requires_grad", "is_sparse", "is_quantized", "is_leaf"):
        return {"is_cuda": True, "requires_grad": h.differentiated}.get(name, False)
    if name in ("data", "real"):
        return x
    if name == "itemsize":
        return x.dtype.bytes if x.dtype is not None else Unknown("dtype")
    if name in ("nbytes",):
        return x.nbytes if x.nbytes is not None else Unknown("nbytes")
    # A method and a function of one name that do different things.
    called = "unfolded_view" if name == "unfold" else name
    return Builtin(name, lambda args, kwargs, n: torch_function(h, called, [x, *args], kwargs, n))


def _inplace(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode, name: str) -> Any:
    x = args[0] if args else None
    if not isinstance(x, Tensor):
        return Unknown(name)
    if name == "resize_":
        note_read_sizes(h, x, args[1:])
    if name in ("zero_", "fill_", "fill_diagonal_"):
        filled = torch_function(h, "diagonal", args[:1], {}, node) if name == "fill_diagonal_" else x
        h.torch_op(name, "fill", (), tensors_in([filled]), node)
    elif name in ("normal_", "uniform_", "random_", "bernoulli_", "exponential_", "trunc_normal_"):
        h.torch_op(name, "random", (), (x,), node)
    elif name in ("requires_grad_", "share_memory_", "record_stream"):
        pass
    elif name in ("transpose_", "t_", "unsqueeze_", "squeeze_"):
        return torch_function(h, name[:-1], args, kwargs, node)
    elif name in ("index_add_", "scatter_", "scatter_add_", "index_copy_", "index_fill_"):
        h.torch_op(name, "gather", tensors_in(args), (x,), node)
    else:
        elementwise.elementwise(h, name, args, node, into=x)
    return x


def _by_family(name: str) -> Handler | None:
    if name.startswith(("avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool")):
        return windows.pool(name)
    return None
