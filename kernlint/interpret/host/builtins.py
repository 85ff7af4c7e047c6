"""Python's own functions, and those of `math`, on abstract values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host.objects import lineage
from kernlint.interpret.host.releases import has
from kernlint.interpret.host.values import LongList, OpenItems, ShapeOf, computed_from_read
from kernlint.interpret.python.control import Raised
from kernlint.interpret.python.methods import PURE, in_order, lose, pure
from kernlint.interpret.python.operators import bounded, distinct
from kernlint.interpret.torch.functions import torch_function
from kernlint.interpret.torch.shapes import product
from kernlint.interpret.triton.ranges import Range
from kernlint.interpret.values import Distinct, Instance, Namespace, OpenFloat, ReadValue, Unknown, Yielded, is_concrete
from kernlint.workload import Expr, Tensor
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


#: A function of Python as the evaluator calls it: with the arguments, those by keyword, and the call.
_Special = Callable[["HostEvaluator", list[Any], dict[str, Any], cst.Call], Any]


def builtin(h: HostEvaluator, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    if name in ("int", "float", "round", "abs", "max", "min") and any(isinstance(a, ReadValue) for a in args):
        return computed_from_read(name, args)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(h, args, kwargs, node)
    if name in ("isinstance", "hasattr", "issubclass", "callable"):
        return _type_test(h, name, args)
    if name in ("int", "float", "bool") and args and isinstance(args[0], Tensor):
        if h.perhaps_number(args[0]):
            return Unknown(name)
        return torch_function(h, "item", args, {}, node)
    if name in ("int", "abs", "round") and args and isinstance(args[0], Expr):
        return args[0]
    if name in _SEQUENCES:
        return _sequence(h, name, args, kwargs, node)
    if name == "pow" and len(args) == 2:
        return h.binary("**", operator.pow, args[0], args[1], node)
    if name in _PURE and is_concrete(args):
        return pure(_PURE[name], args)
    if name in ("staticmethod", "classmethod", "property"):
        return args[0] if args else None
    if name == "iter" and args:
        items = None if isinstance(args[0], Yielded) else h.iterate(args[0])
        return args[0] if items is None else Yielded(items)
    if name == "next" and args and isinstance(args[0], Yielded):
        if h.doubts or h.rounds:
            lose(args[0])  # nobody knows how many of them are taken
            return Unknown(name)
        if args[0] or len(args) > 1:
            return args[0].pop(0) if args[0] else args[1]
        raise Raised
    return Unknown(name)


def _type_test(h: HostEvaluator, name: str, args: list[Any]) -> Any:
    if name == "isinstance" and len(args) == 2:
        value, kinds = args[0], args[1] if isinstance(args[1], tuple) else (args[1],)
        names = {k.path.rsplit(".", 1)[-1] if isinstance(k, Namespace) else getattr(k, "name", "") for k in kinds}
        if isinstance(value, Tensor):
            return bool(names & {"Tensor", "Parameter"})
        if isinstance(value, OpenItems):
            return bool(names & {"list", "tuple", "Sequence", "Iterable"})
        if isinstance(value, (bool, int, float, str, tuple, list, dict)):
            kind = "set" if isinstance(value, Distinct) else type(value).__name__
            return kind in names or (isinstance(value, int) and "int" in names)
        if isinstance(value, Instance) and value.cls is not None:
            return any(c.name in names for c in lineage(value.cls))
    if name == "hasattr" and len(args) == 2 and isinstance(args[0], Namespace):
        known = has(h, *args)
        return Unknown(name) if known is None else known
    if name == "hasattr" and len(args) == 2 and isinstance(args[0], Instance) and isinstance(args[1], str):
        owner, attribute = args
        if attribute in owner.attrs:
            return True
        if owner.cls is not None:
            # Layers get no attributes behind the back of the source; what a library class has is not known.
            return any(attribute in c.scope.vars for c in lineage(owner.cls))
    return Unknown(name)


def _sequence(h: HostEvaluator, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    if not args:
        return () if name == "tuple" else Distinct() if name in _SETS else []
    if (name == "tuple" and isinstance(args[0], ShapeOf)) or (
        name in ("list", "tuple") and isinstance(args[0], (LongList, OpenItems))
    ):
        return args[0].copy() if isinstance(args[0], LongList) else args[0]
    if name in ("map", "filter"):
        items = h.iterate(args[1]) if len(args) > 1 else None
        if items is None:
            return Unknown(name)
        if name == "map":
            return [h.call(args[0], [item], {}, node) for item in items]
        return [item for item in items if h.truth(h.call(args[0], [item], {}, node)) is not False]
    lists = [h.iterate(a) for a in (args if name == "zip" else args[:1])]
    if any(items is None for items in lists):
        return _open_items(h, name, args, lists)
    items = lists[0] or []
    h.spend(sum(len(each or ()) for each in lists) // 64)
    if name == "zip":
        return list(zip(*(x or [] for x in lists)))
    if name == "enumerate":
        start = args[1] if len(args) > 1 else kwargs.get("start", 0)
        return [(i + start if isinstance(start, int) else i, item) for i, item in enumerate(items)]
    if name == "tuple":
        return tuple(items)
    if name == "reversed":
        return items[::-1]
    if name in ("all", "any"):
        truths = [h.truth(item) for item in items]
        decided = (False in truths) if name == "all" else (True in truths)
        return (name == "any") if decided else Unknown(name) if None in truths else (name == "all")
    if name == "sum":
        total: Any = args[1] if len(args) > 1 else kwargs.get("start", 0)
        for item in items:
            total = h.binary("+", lambda a, b: a + b, total, item, node)
        return total
    if name == "sorted":
        keyed = kwargs.get("key") is not None
        return [Unknown(name)] * len(items) if keyed else pure(in_order, [items, kwargs.get("reverse", False)])
    if name in _SETS:
        return distinct(items)
    return list(items)


def math_function(h: HostEvaluator, name: str, args: list[Any], node: cst.CSTNode) -> Any:
    if name in ("ceil", "floor") and args:
        if isinstance(args[0], Expr):
            return args[0]
        if isinstance(args[0], OpenFloat) and args[0].ratio is not None:
            return bounded((ex.ceildiv if name == "ceil" else ex.floordiv)(*args[0].ratio))
    if (
        name == "prod"
        and args
        and isinstance(args[0], (tuple, list))
        and all(isinstance(a, (int, Expr)) for a in args[0])
    ):
        total: Any = 1
        for factor in args[0]:
            total = bounded(product((total, factor)))
            if isinstance(total, Unknown):
                break
        return total
    if name == "prod" and len(args) == 1:
        return _product_of_open(h, args[0], node)
    numbers = all(isinstance(a, (int, float, Expr, OpenFloat)) for a in args) and not is_concrete(args)
    if numbers and name in ("sqrt", "exp", "exp2", "log", "log2", "log10", "pow", "fabs"):
        return OpenFloat(f"math.{name}")
    function = getattr(math, name, None)
    if callable(function) and args and is_concrete(args) and all(isinstance(a, (int, float)) for a in args):
        if name in ("factorial", "comb", "perm") or any(isinstance(a, int) and abs(a) > 10**15 for a in args):
            return Unknown(name)
        return pure(function, args)
    return Unknown(f"math.{name}")


def _product_of_open(h: HostEvaluator, sizes: Any, node: cst.CSTNode) -> Any:
    """The product of ``sizes`` that nobody knows: an open number, as programs multiply extents. One that is called by its text, and so
    only in the function that is followed from its beginning: a helper has other sizes in each call."""
    if isinstance(sizes, ShapeOf) and sizes.what == "shape":
        return h.symbol_for(sizes.tensor, "numel")
    said = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    if type(sizes) is not Unknown or len(h.calls) != 1 or said is None or isinstance(said, cst.BaseComp):
        return Unknown("math.prod")
    return h.open_number(f"math.prod({h.code(said)})")


def _range(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    if all(isinstance(a, (int, Expr)) for a in args) and args:
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args[:2], args[2] if len(args) > 2 else 1)
        return Range("range", start, stop, step) if step != 0 else Unknown("range")
    h.used_as_integers(args)
    return Range("range", 0, None, 1)


def _extreme(name: str) -> _Special:
    def extreme(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        values = h.iterate(args[0]) if len(args) == 1 else args
        if values and all(isinstance(v, (int, Expr)) for v in values):
            return bounded((ex.minimum if name == "min" else ex.maximum)(*values))
        if values and is_concrete(values) and "key" not in kwargs:
            return pure(min if name == "min" else max, [values])
        return Unknown(name)

    return extreme


def _open_items(h: HostEvaluator, name: str, args: list[Any], lists: list[list[Any] | None]) -> Any:
    """``zip`` or ``enumerate`` of arguments that nothing is known of, lists of tensors say; Unknown where they are something else."""
    opened = [h.open_items(a) if items is None else None for a, items in zip(args, lists)]
    if name not in ("zip", "enumerate") or any(o is None and items is None for o, items in zip(opened, lists)):
        return Unknown(name)
    if name == "enumerate":
        return (
            OpenItems((Unknown("index"), opened[0].item), opened[0].length) if opened[0] is not None else Unknown(name)
        )
    known = [items for items in lists if items is not None]
    if known:
        columns = [
            items if items is not None else [h.unknown_tensor("") for _ in range(min(map(len, known)))]
            for items in lists
        ]
        return list(zip(*columns))
    found = [each for each in opened if each is not None]
    return OpenItems(tuple(each.item for each in found), found[0].length)


def _len(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    value = args[0] if args else None
    if isinstance(value, Tensor):
        return h.subscript(h.shape(value), 0, node)
    if isinstance(value, ShapeOf):
        return Unknown("rank")
    if isinstance(value, OpenItems):
        return value.length
    items = h.iterate(value)
    length = h.list_length(value) if isinstance(value, LongList) else len(items) if items is not None else None
    return length if length is not None else Unknown("length")


def _getattr(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    if len(args) > 2 and has(h, args[0], args[1]) is False:
        return args[2]
    named = len(args) > 1 and isinstance(args[1], str)
    found = h.getattr(args[0], args[1], node) if named else Unknown("getattr")
    return args[2] if isinstance(found, Unknown) and len(args) > 2 else found


def _setattr(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    h.changes()
    if len(args) == 3 and isinstance(args[1], str):
        h.setattr(args[0], args[1], args[2])
    return None


def _dict(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    result = dict(args[0]) if args and isinstance(args[0], dict) else {}
    result.update(kwargs)
    return result


_SPECIAL: dict[str, _Special] = {
    "dict": _dict,
    "getattr": _getattr,
    "len": _len,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "range": _range,
    "setattr": _setattr,
}


_PURE: dict[str, Callable[..., Any]] = {**PURE, "id": lambda x: 0, "print": lambda *a: None}


_SETS = frozenset({"set", "frozenset"})
_SEQUENCES = _SETS | frozenset("list tuple sorted reversed enumerate zip sum all any map filter".split())
