"""Imports LibCST at about half of what that costs: its kinds of nodes are two hundred frozen dataclasses, for each of which the
standard library compiles methods that hardly anybody calls, and :mod:`kernlint.records` does when somebody does. They are also
abstract base classes, which `isinstance` asks for subclasses that were registered; there are none.

Where LibCST has been imported before, it stays as it is.
"""

from __future__ import annotations

import dataclasses
import sys
from abc import ABCMeta
from typing import Any

from kernlint import records

_NODES = "libcst._nodes."


def _import_libcst() -> None:
    """Import LibCST, its nodes with the dataclass of the house."""
    if "libcst" in sys.modules:
        return
    standard = dataclasses.dataclass

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        if cls is None:
            return lambda one: dataclass(one, **options)
        if options != {"frozen": True} or not cls.__module__.startswith(_NODES):
            return standard(cls, **options)
        if type(cls) is ABCMeta:  # the one that all others are derived from
            cls.__class__ = _Abstract
        cls.__setattr__, cls.__delattr__ = _refuse_to_set, _refuse_to_delete
        # By identity, as ever, but without running Python each time that a node is looked up.
        cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__
        return records.dataclass(**options)(cls)

    dataclasses.dataclass = dataclass
    try:
        import libcst  # noqa: F401
    finally:
        dataclasses.dataclass = standard


class _Abstract(ABCMeta):
    """Of classes that have no subclasses but their own: to ask what a node is takes a tenth of the time then."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_import_libcst()
