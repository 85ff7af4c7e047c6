"""Methods of Python's own types, and functions that need a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from kernlint.interpret.python.control import OutOfBudget, Raised
from kernlint.interpret.python.operators import MAX_BITS, bounded, distinct, of_sets
from kernlint.interpret.values import MAX_ITEMS, Builtin, Distinct, Unknown, is_concrete, is_huge

Method = Callable[[list[Any], dict[str, Any], cst.CSTNode], Any]


def dict_method(value: dict[Any, Any], name: str) -> Any:
    def update(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        for other in args:
            if isinstance(other, (dict, list)) and is_concrete([*other]):
                value.update(other)
            else:
                lose(value)
        value.update(kwargs)

    methods: dict[str, Method] = {
        "get": lambda a, k, n: value.get(a[0], a[1] if len(a) > 1 else k.get("default")),
        "update": update,
        "items": lambda a, k, n: list(value.items()),
        "keys": lambda a, k, n: list(value),
        "values": lambda a, k, n: list(value.values()),
        "copy": lambda a, k, n: dict(value),
        "clear": lambda a, k, n: value.clear(),
        "setdefault": lambda a, k, n: value.setdefault(a[0], a[1] if len(a) > 1 else None),
        "pop": lambda a, k, n: value.pop(a[0], a[1] if len(a) > 1 else Unknown("popped")),
        "popitem": lambda a, k, n: value.popitem(),
    }
    return _method(name, methods[name]) if name in methods else Unknown(f"dict.{name}")


def extend(value: list[Any], more: Sequence[Any]) -> None:
    """``value.extend(more)``, with something unknown where not all of ``more`` stands in it. Raises ``OutOfBudget`` where the list
    becomes longer than programs have any."""
    if len(value) + len(more) > MAX_ITEMS:
        raise OutOfBudget
    whole = getattr(more, "length", len(more)) == len(more)
    value.extend([*more] if whole else [Unknown("what a list is extended by")])


def lose(value: list[Any] | dict[Any, Any]) -> None:
    """Forget what ``value`` holds: something has changed it that is not followed."""
    for key in range(len(value)) if isinstance(value, list) else [*value]:
        value[key] = Unknown("changed")


def set_slice(value: list[Any], place: slice, items: Any) -> None:
    """``value[place] = items``; where that is not followed, nothing is known of the elements. Raises what Python raises."""
    if isinstance(items, (list, tuple)) and is_concrete([place.start, place.stop, place.step]):
        if len(value) + len(items) > MAX_ITEMS:
            raise OutOfBudget
        try:
            value[place] = items
        except (TypeError, ValueError):
            raise Raised from None
    else:
        lose(value)


def remove_at(value: list[Any] | dict[Any, Any], key: Any) -> None:
    """``del value[key]``; where ``key`` is not known, any element may be the one that goes."""
    if not is_concrete([key]) or key is None:
        lose(value)
        return
    try:
        del value[key]
    except (LookupError, TypeError):
        raise Raised from None


def in_order(value: Sequence[Any], reverse: Any) -> list[Any]:
    """``sorted(value, reverse=reverse)``; unknown elements where that depends on what is not known. Raises what Python raises."""
    if len(value) > 1 and not (is_concrete([*value, reverse]) and not is_huge(value)):
        return [Unknown("sorted")] * len(value)
    return sorted(value, reverse=bool(reverse))


#: Methods of sets that change none of them.
_OF_SETS = frozenset("union intersection difference symmetric_difference issubset issuperset isdisjoint".split())


def _set_method(value: Distinct, name: str) -> Any:
    def update(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> None:
        known = all(isinstance(one, (list, tuple)) for one in args)
        found = distinct([*value, *(item for one in args for item in one)]) if known else None
        if isinstance(found, list):
            value[:] = found
        else:
            lose(value)

    def call(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        return of_sets(
            getattr(set, name), value, *(distinct(one) if isinstance(one, (list, tuple)) else one for one in args)
        )

    return _method(name, update if name == "update" else call)


def list_method(value: list[Any], name: str) -> Any:
    if isinstance(value, Distinct) and (name in _OF_SETS or name == "update"):
        return _set_method(value, name)

    def insert(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> None:
        place, item = args
        if isinstance(place, int):
            value.insert(place, item)
        else:
            value.append(item)
            lose(value)

    def remove(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> None:
        if is_concrete([*value, *args]):
            value.remove(*args)
        else:
            lose(value)
            value.pop()

    def sort(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> None:
        if kwargs.get("key") is None:
            value[:] = in_order(value, kwargs.get("reverse", False))
        else:
            lose(value)

    def more(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> None:
        (given,) = args
        if isinstance(given, (list, tuple, dict)):
            extend(value, given if isinstance(given, list) else [*given])
        else:
            value.append(Unknown("what a list is extended by"))

    methods: dict[str, Method] = {
        "append": lambda a, k, n: value.append(a[0]) if a else None,
        "add": lambda a, k, n: value.append(a[0]) if a and a[0] not in value else None,  # sets are lists here
        "extend": more,
        "copy": lambda a, k, n: value.copy(),
        "clear": lambda a, k, n: value.clear(),
        "count": lambda a, k, n: value.count(*a) if is_concrete([*value, *a]) else Unknown("count"),
        "reverse": lambda a, k, n: value.reverse(),
        "pop": lambda a, k, n: value.pop(*a) if value and is_concrete(a) else Unknown("popped"),
        "index": lambda a, k, n: value.index(a[0]) if a and not is_huge(value) and a[0] in value else Unknown("index"),
        "insert": insert,
        "remove": remove,
        "discard": lambda a, k, n: remove(a, k, n) if not is_concrete([*value, *a]) or a[0] in value else None,
        "sort": sort,
    }
    return _method(name, methods[name]) if name in methods else Unknown(f"list.{name}")


def string_method(value: str, name: str) -> Any:
    if name not in ("lower", "upper", "strip", "startswith", "endswith", "replace", "split", "isdigit", "title"):
        return Unknown(f"str.{name}")

    def call(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        if not is_concrete(args):
            return Unknown("string")
        if name == "replace" and len(args) > 1 and len(value) + value.count(args[0]) * len(args[1]) > MAX_ITEMS:
            return Unknown("huge string")
        return getattr(value, name)(*args)

    return _method(name, call)


def rounded(number: Any, *digits: Any) -> Any:
    """``round``, which raises ten to the power of the digits that it is given, however many."""
    return (
        Unknown("huge number")
        if digits and digits[0] is not None and abs(digits[0]) > MAX_BITS
        else round(number, *digits)
    )


def _method(name: str, function: Method) -> Builtin:
    """A method of Python's own types, that is ``function``: what it does not take, the analysed program gets raised."""

    def call(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        try:
            return bounded(function(args, kwargs, node))
        except (LookupError, TypeError, ValueError, OverflowError):
            if is_concrete(args):
                raise Raised from None
            return Unknown(name)

    return Builtin(name, call)


#: Functions of Python on values that are known.
PURE: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "len": len,
    "sum": sum,
    "tuple": tuple,
    "list": list,
    "round": rounded,
    "divmod": divmod,
    "str": str,
    "all": all,
    "any": any,
    "zip": lambda *a: list(zip(*a)),
    "enumerate": lambda a, start=0: list(enumerate(a, start)),
    "reversed": lambda a: list(reversed(a)),
}


def pure(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What ``function`` of Python gives for ``args``, which are known."""
    try:
        return bounded(function(*args))
    except Exception:
        raise Raised from None
