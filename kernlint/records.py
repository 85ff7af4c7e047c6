"""``dataclass`` as in the standard library, which costs a tenth of it at import: kernlint has hundreds of them.

The standard one writes up to seven methods of each class as source text and compiles them. Here the only one that
depends on the fields is ``__init__``, and it is compiled when the first object is made; the others share their code.
The standard library still says what a field and the parameters of a class are, once, and the fields of each class are made alike.
``dataclasses.fields``, ``replace``, ``asdict`` and ``is_dataclass`` work as ever; :func:`replace` here is a fast one, for
what the interpreters do with the values that they follow. That nobody assigns to a frozen record is for mypy to see: a
method that refuses makes each record twice as dear to make, and ten times to read, as Python then keeps it in a dictionary.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def dataclass(cls=None, *, frozen=False, order=False, eq=True):
        """``dataclasses.dataclass`` with those of its options that kernlint uses."""
        return _decorate(frozen, order, eq) if cls is None else _decorate(frozen, order, eq)(cls)

    def replace(record, /, **changes):
        """``dataclasses.replace`` of a record that has no ``__post_init__``: copied, which takes a fifth of making it anew.

        Raises ``TypeError`` for a change of what is no field.
        """
        cls = type(record)
        copy, names = _copier(cls)
        new = object.__new__(cls)
        copy(record, new)
        for name, value in changes.items():
            if name not in names:
                raise TypeError(f"{cls.__qualname__} has no field {name}")
            setattr(new, name, value)
        return new


_T = TypeVar("_T")


@cache
def _copier(cls: type[Any]) -> tuple[Callable[[Any, Any], None], frozenset[str]]:
    """What gives one record of ``cls`` the fields of another, and their names."""
    assert not hasattr(cls, "__post_init__"), f"{cls.__qualname__} is not just its fields"
    names = [field.name for field in dataclasses.fields(cls)]
    return compiled("copy(old, new)", [f"new.{name} = old.{name}" for name in names], {}), frozenset(names)


def _decorate(frozen: bool, order: bool, eq: bool) -> Callable[[type[_T]], type[_T]]:
    def decorate(cls: type[_T]) -> type[_T]:
        fields = _fields_of(cls)
        facts = {
            "__dataclass_fields__": fields,
            "__dataclass_params__": _parameters(frozen, order, eq),
            "__match_args__": tuple(name for name, field in fields.items() if not field.kw_only),
        }
        for name, fact in facts.items():
            setattr(cls, name, fact)
        methods: dict[str, Any] = {"__init__": _first_init(cls), "__repr__": _repr}
        if eq:
            methods |= _comparisons(cls, frozen, order)
        own = vars(cls)
        for name, method in methods.items():
            # Python itself sets `__hash__` to None in a class that has an `__eq__`.
            if name not in own or (name == "__hash__" and own[name] is None):
                setattr(cls, name, method)
        return cls

    return decorate


# -- fields ----------------------------------------------------------------------------------------------------------


@cache
def _parameters(frozen: bool, order: bool, eq: bool) -> Any:
    """What the standard library notes of a class with these options."""
    made: Any = dataclasses.make_dataclass("_", [("field", int)], frozen=frozen, order=order, eq=eq)
    return made.__dataclass_params__


@dataclasses.dataclass
class _Example:
    field: int


#: How the standard library marks what is a field, not a ``ClassVar``.
_KIND = dataclasses.fields(_Example)[0]._field_type  # type: ignore[attr-defined]


def _fields_of(cls: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """The fields of ``cls`` by name, those of its bases first; what they are by default is left in the class. Raises ``ValueError``
    for a default that all objects would share and change."""
    found: dict[str, dataclasses.Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        found |= vars(base).get("__dataclass_fields__", {})
    # Python 3.14 makes them when somebody asks.
    annotations = vars(cls).get("__annotations__") or inspect.get_annotations(cls)
    for name, annotation in annotations.items():
        if _of_the_class(annotation):
            continue
        default = getattr(cls, name, dataclasses.MISSING)
        if isinstance(default, MemberDescriptorType):  # where the class has slots
            default = dataclasses.MISSING
        given = isinstance(default, dataclasses.Field)
        field: Any = default if given else dataclasses.field(default=default)
        if field.default.__class__.__hash__ is None:
            raise ValueError(f"{cls.__qualname__}.{name}: a default of its own for each object takes a default_factory")
        field.name, field.type, field._field_type = name, annotation, _KIND
        field.kw_only = field.kw_only is True
        if given and field.default is dataclasses.MISSING:
            delattr(cls, name)
        elif given:
            setattr(cls, name, field.default)
        found[name] = field
    return found


def _of_the_class(annotation: Any) -> bool:
    """Whether it says ``ClassVar``, as text or as what it evaluates to."""
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar"))
    return annotation is ClassVar or getattr(annotation, "__origin__", None) is ClassVar


# -- __init__ ---------------------------------------------------------------------------------------------------------


def _first_init(cls: type[Any]) -> Callable[..., None]:
    """An ``__init__`` that puts the real one in its place when it is called."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        # Where the class was made anew, to have slots, that is not `cls`.
        owner = next(one for one in type(self).__mro__ if vars(one).get("__init__") is __init__)
        init = _compiled_init(owner)
        setattr(owner, "__init__", init)  # noqa: B010 - mypy takes it for that of an instance
        init(self, *args, **kwargs)

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _compiled_init(cls: type[Any]) -> Callable[..., None]:
    names: dict[str, Any] = {"DEFAULT": _DEFAULT, "_set": object.__setattr__}
    positional: list[str] = []
    keyword_only: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(cls):
        name = field.name
        value = name
        parameter = name
        if field.default is not dataclasses.MISSING:
            names[f"default_{name}"] = field.default
            parameter = f"{name}=default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"make_{name}"] = field.default_factory
            parameter = f"{name}=DEFAULT"
            value = f"make_{name}() if {name} is DEFAULT else {name}"
        if not field.init:
            raise TypeError(f"{cls.__qualname__}.{name}: every field is a parameter")
        (keyword_only if field.kw_only else positional).append(parameter)
        # Objects with slots alone are those of LibCST, which refuse to be changed.
        body.append(f"self.{name} = {value}" if cls.__dictoffset__ else f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ["self", *positional, *(["*"] if keyword_only else []), *keyword_only]
    init = compiled(f"__init__({', '.join(parameters)})", body, names)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def compiled(head: str, body: list[str], names: dict[str, Any]) -> Callable[..., Any]:
    """The function of that ``head`` and ``body``, lines that are our own, which may use ``names``."""
    exec(f"def {head}:\n " + "\n ".join(body or ["pass"]), names)
    made: Callable[..., Any] = names[head.partition("(")[0]]
    return made


#: Stands for an argument that was not given, where each object gets a default of its own.
_DEFAULT = object()


# -- what all share ---------------------------------------------------------------------------------------------------


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _comparisons(cls: type[Any], frozen: bool, order: bool) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    value: Callable[[Any], Any] = attrgetter(*names) if names else lambda self: ()

    def __eq__(self: Any, other: object) -> Any:
        if self is other:
            return True
        return value(self) == value(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(value(self))

    def __lt__(self: Any, other: object) -> Any:
        return value(self) < value(other) if other.__class__ is self.__class__ else NotImplemented

    def __le__(self: Any, other: object) -> Any:
        return value(self) <= value(other) if other.__class__ is self.__class__ else NotImplemented

    def __gt__(self: Any, other: object) -> Any:
        return value(self) > value(other) if other.__class__ is self.__class__ else NotImplemented

    def __ge__(self: Any, other: object) -> Any:
        return value(self) >= value(other) if other.__class__ is self.__class__ else NotImplemented

    methods: dict[str, Any] = {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}
    if order:
        methods |= {"__lt__": __lt__, "__le__": __le__, "__gt__": __gt__, "__ge__": __ge__}
    return methods
