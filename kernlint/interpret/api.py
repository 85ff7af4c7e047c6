"""What each Triton release offers to kernels: names, parameters, syntax, from the generated table and the known changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from kernlint.records import dataclass, replace

_DATA = Path(__file__).parent / "data"

#: The release that the table ends with; what a kernel is held against unless a target is named.
NEWEST = (3, 9)


@dataclass(frozen=True)
class Change:
    """A hand-written row about an API: the releases it works in, what to use instead, and who says so.

    ``removed`` is the first release without it, ``deprecated`` the first that warns of it; ``parameter`` narrows the row to
    one keyword of ``name``; ``rename`` is the dotted name that takes its place with the same arguments and meaning.
    """

    name: str
    replacement: str
    reference: str
    parameter: str = ""
    since: str = ""
    deprecated: str = ""
    removed: str = ""
    rename: str = ""


@dataclass(frozen=True)
class Target:
    """A Triton release and the device that it compiles for: ``vendor`` is ``nvidia`` or ``amd``, ``arch`` the compute
    capability times ten (90) or the gfx name."""

    version: tuple[int, int] = NEWEST
    vendor: str = "nvidia"
    arch: str = "90"
    #: Whether somebody asked for this release; else it is only the newest one, and the code may be for an older.
    named: bool = True
    #: What the project asks for, where that is older than all releases that are known: what it refuses is not known.
    asked: str = ""

    @property
    def release(self) -> str:
        return f"{self.version[0]}.{self.version[1]}"

    def has(self, name: str) -> bool | None:
        """Whether the release has the dotted ``name``; None where its module is not in the table."""
        row = _table()["names"].get(name)
        if row is not None:
            return self._within(row) and not self._raises(row)
        if name in _table()["modules"]:
            return self.has_module(name)
        # Back ends of other vendors put their extensions there.
        return False if name.rpartition(".")[0] in _modules() - {"triton.language.extra"} else None

    def gone_since(self, name: str, parameter: str = "") -> str | None:
        """The release that took ``name`` (or its ``parameter``) away, where an earlier one in the table still has it."""
        change = self.change(name, parameter)
        if parameter:
            gone = change.removed if change is not None else ""
            return gone if gone and parse_version(gone) > parse_version(supported()[0]) else None
        releases = [parse_version(v) for v in supported()]
        having = [v for v in releases if v < self.version and replace(self, version=v).has(name)]
        if not having or self.has(name):
            return None
        return replace(self, version=releases[releases.index(having[-1]) + 1]).release

    def has_module(self, name: str) -> bool | None:
        """Whether the release has the module ``name`` (dotted); None where it is not one of Triton's own."""
        if not name.startswith("triton.") or name.startswith("triton.backends"):
            return None
        row = _table()["modules"].get(name)
        return row is not None and self._within(row)

    def ever(self, name: str) -> bool:
        """Whether any release of the table, or one before it, has or had ``name``."""
        return name in _table()["names"] or any(c.name == name for c in changes()) or self.moved(name) is not None

    def moved(self, name: str) -> str | None:
        """Where a function is found that older releases had as ``tl.math.f`` or ``tl.libdevice.f``."""
        module, _, last = name.rpartition(".")
        libdevice = "triton.language.extra.libdevice." + last
        if module in ("triton.language.math", "triton.language.libdevice") and libdevice in _table()["names"]:
            return libdevice
        return None

    def parameters(self, name: str) -> list[str] | None:
        """The parameters of the function ``name``, required ones marked with ``!``; None where they are not known."""
        row = _table()["names"].get(name)
        return None if row is None else self._value(row.get("parameters"))

    def dtypes(self, name: str) -> list[str] | None:
        """Triton's names of the element types that ``name`` takes; None where it takes any."""
        row = _table()["names"].get(name)
        return None if row is None else self._value(row.get("dtypes"))

    def speaks(self, construct: str) -> bool:
        """Whether the front end accepts a syntax node (``ListComp``) or a construct (``chained comparison``)."""
        row = _table()["syntax"].get(construct)
        return row is not None and self._within(row)

    def builtins(self) -> frozenset[str]:
        """Python's built-in functions that kernels may call."""
        return _builtins_within(self)

    def options_of_all(self) -> frozenset[str]:
        """Launch options of every vendor's back end: code for one of them passes its own."""
        return _options_within(self)

    def has_fp8(self, name: str) -> bool:
        """Whether the back end has the fp8 format that torch calls ``name``."""
        if self.vendor == "nvidia":
            return not name.endswith("fnuz") and (name != "float8_e4m3fn" or int(self.arch) >= 89)
        # CDNA3 has the fnuz formats; Triton emulates the others there, and converts all of them in software on CDNA2.
        return True

    @property
    def shown_arch(self) -> str:
        """The architecture as people name it: sm_90, gfx942."""
        return f"sm_{self.arch}" if self.vendor == "nvidia" else self.arch

    def change(self, name: str, parameter: str = "") -> Change | None:
        """The hand-written row about ``name`` or one of its parameters."""
        return _changes_by_name().get((name, parameter))

    def removed(self, change: Change) -> bool:
        return bool(change.removed) and self.version >= parse_version(change.removed)

    def deprecated(self, change: Change) -> bool:
        return bool(change.deprecated) and self.version >= parse_version(change.deprecated)

    def too_old(self, change: Change) -> bool:
        return bool(change.since) and self.version < parse_version(change.since)

    def _within(self, row: Mapping[str, Any]) -> bool:
        since, until = row.get("since"), row.get("until")
        return (since is None or self.version >= parse_version(since)) and (
            until is None or self.version <= parse_version(until)
        )

    def _raises(self, row: Mapping[str, Any]) -> bool:
        return "raises" in row and self.version >= parse_version(row["raises"])

    def _value(self, runs: list[list[Any]] | None) -> Any:
        """The value of the last run that begins at or before this release."""
        value = None
        for first, one in runs or ():
            if self.version >= parse_version(first):
                value = one
        return value


@lru_cache(maxsize=16)
def _options_within(target: Target) -> frozenset[str]:
    rows = (row for rows in _table()["options"].values() for row in rows.items())
    return frozenset(name for name, row in rows if target._within(row))


@lru_cache(maxsize=16)
def _builtins_within(target: Target) -> frozenset[str]:
    return frozenset(name for name, row in _table()["builtins"].items() if target._within(row))


def keywords(name: str, args: Sequence[Any], kwargs: dict[str, Any], first: int) -> dict[str, Any]:
    """The keyword arguments of a call of ``tl.<name>``, or of the tensor's method, with those that it passes by position from
    number ``first`` on: ``tl.sum(x, 1, True)`` keeps its dimensions."""
    if len(args) <= first:
        return kwargs
    names = [parameter.rstrip("!") for parameter in Target().parameters(f"triton.language.{name}") or ()]
    return {**dict(zip(names[first:], args[first:])), **kwargs}


@cache
def parse_version(text: str) -> tuple[int, int]:
    """``3.6`` or ``3.6.1`` as numbers, without the patch level."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def supported() -> tuple[str, ...]:
    """The releases that the table describes, oldest first."""
    return tuple(_table()["versions"])


def find_target(version: str | None, vendor: str, arch: str) -> Target:
    """The target for release ``version`` (the newest where None); the nearest one that the table describes."""
    known = [parse_version(v) for v in supported()]
    wanted = NEWEST if version is None else parse_version(version)
    return Target(min(max(wanted, known[0]), known[-1]), vendor, arch, named=version is not None)


@cache
def changes() -> tuple[Change, ...]:
    with open(_DATA / "triton_changes.json", encoding="utf-8") as file:
        return tuple(Change(**row) for row in json.load(file))


@cache
def _changes_by_name() -> dict[tuple[str, str], Change]:
    # Of several rows about one thing the first counts.
    return {(change.name, change.parameter): change for change in reversed(changes())}


@cache
def _table() -> dict[str, Any]:
    with open(_DATA / "triton_api.json", encoding="utf-8") as file:
        return json.load(file)


@cache
def _modules() -> frozenset[str]:
    return frozenset(name.rpartition(".")[0] for name in _table()["names"]) - {"triton.language.tensor"}
