"""What a program asks of tensors, and calls that do nothing to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.torch.arguments import device_of, tensors_in
from kernlint.interpret.torch.shapes import product
from kernlint.interpret.values import ReadValue, Unknown
from kernlint.workload import Dtype, Tensor

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState
    from kernlint.syntax.tree import Module


def _item(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0] if args and isinstance(args[0], Tensor) else None
    if x is not None and h.is_hosted(x) and h.detailed:
        if x.storage.id in h.host_numbers:
            return h.host_numbers[x.storage.id]
        h.unknown(f"line {h.span(node).line}: the number that a tensor of the host holds")
    h.sync("reads a device value on the host", node, x)
    listed = h.calling is not None and h.calling[0] == "tolist"
    if x is not None and (numbers := h.numbers_of(x)) is not None:
        h.numbers_read.add(h.span(node))
        if listed and len(x.shape or ()) == 1:
            return list(numbers)
        if not listed and len(numbers) == 1:
            return numbers[0]
    if h.makes_inputs and x is not None and not listed and (likely := h.likely_number(x)) is not None:
        h.input_guesses.add(f"line {h.span(node).line}: the inputs are taken to draw {likely}")
        return likely
    return ReadValue("value of a tensor", frozenset({h.span(node)}))


@takes("input", "dim", operands=1)
def _shape_only(h: HostState, node: cst.CSTNode, x: Tensor, dim: Any) -> Any:
    shape = h.shape(x)
    return shape if dim is None else h.subscript(shape, dim, node)


@takes("input", "dim", operands=1)
def _stride(h: HostState, node: cst.CSTNode, x: Tensor, dim: Any) -> Any:
    strides = h.strides(x)
    return strides if dim is None else h.subscript(strides, dim, node)


@takes("input", operands=1)
def _numel(h: HostState, node: cst.CSTNode, x: Tensor) -> Any:
    return product(x.shape) if x.shape is not None else h.symbol_for(x, "numel")


@takes("input", operands=1)
def _dim(h: HostState, node: cst.CSTNode, x: Tensor) -> Any:
    return len(x.shape) if x.shape is not None else Unknown("rank")


def _is_contiguous(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    answer = x.is_contiguous if isinstance(x, Tensor) else None
    if answer is None or "memory_format" in kwargs:
        return h.contiguity_test(x)
    return answer


@takes("input", operands=1)
def _is_of_complex(h: HostState, node: cst.CSTNode, x: Tensor) -> Any:
    return Unknown("dtype") if x.dtype is None else False


def _is_autocast(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """No, where nothing that is followed turns it on."""
    return Unknown("autocast") if any(module.once(_turns_autocast_on) for module in h.modules) else False


def _turns_autocast_on(module: Module) -> bool:
    return re.search(r"\b(autocast|set_autocast_enabled)\b", module.text) is not None


def _address(h: HostState, args: Args) -> Any:
    h.overwritten(tensors_in(args))  # by whoever is given it
    return Unknown("address")


def _nothing(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return None


def _set_float_type(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    h.changes()
    (given,) = (*args, *kwargs.values())
    h.float_type = given if isinstance(given, Dtype) and not h.doubts else None


def _set_deterministic(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    h.changes()
    h.deterministic = argument(args, kwargs, 0, "mode") is True and not h.doubts


TABLE: dict[str, Handler] = {
    **dict.fromkeys(("item", "tolist", "__bool__"), _item),
    "size": _shape_only,
    "stride": _stride,
    **dict.fromkeys(("numel", "nelement"), _numel),
    **dict.fromkeys(("dim", "ndimension"), _dim),
    "is_contiguous": _is_contiguous,
    "element_size": lambda h, a, k, n: a[0].dtype.bytes if a[0].dtype else Unknown("dtype"),
    "is_floating_point": lambda h, a, k, n: (
        a[0].dtype.is_float if isinstance(a[0], Tensor) and a[0].dtype else Unknown("dtype")
    ),
    "data_ptr": lambda h, a, k, n: _address(h, a),
    "get_device": lambda h, a, k, n: 0,
    "storage_offset": lambda h, a, k, n: a[0].offset,
    "synchronize": lambda h, a, k, n: h.sync("torch.cuda.synchronize", n),
    "device": lambda h, a, k, n: device_of(a[0]) if a and isinstance(a[0], str) else Unknown("device"),
    **dict.fromkeys(("manual_seed", "record_stream", "retain_grad", "backward"), _nothing),
    "no_grad": lambda h, a, k, n: Unknown("context"),
    "is_tensor": lambda h, a, k, n: isinstance(a[0], Tensor),
    "is_available": lambda h, a, k, n: True,
    "is_grad_enabled": lambda h, a, k, n: False,
    "get_default_dtype": lambda h, a, k, n: h.float_type or Unknown("dtype"),
    **dict.fromkeys(("set_default_dtype", "set_default_tensor_type"), _set_float_type),
    "use_deterministic_algorithms": _set_deterministic,
    **dict.fromkeys(("is_complex", "is_conj", "is_neg"), _is_of_complex),
    "is_autocast_enabled": _is_autocast,
    "__len__": lambda h, a, k, n: a[0].shape[0] if a[0].shape else Unknown("length"),
}
