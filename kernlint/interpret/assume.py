"""The facts a user gives with ``--assume``."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from typing import Any

from kernlint.errors import UsageError
from kernlint.interpret.question import Fact
from kernlint.workload import dtype as dt

#: An argument, or a part of one that is a sequence: ``x``, ``pairs[][0]`` (the first of each pair).
_NAME = r"(?:(?P<function>[A-Za-z_][\w.]*)\.)?(?P<name>[A-Za-z_]\w*(?:\[\d*\])*)"
_TENSOR = re.compile(_NAME + r"\s*:\s*(?:torch\.|tl\.)?(?P<dtype>\w+)\s*(?:\[(?P<dims>[^\]]*)\])?")
#: What is asked of a tensor, in the ways that people write it.
_SIZE = re.compile(
    _NAME
    + r"\.(?:(?P<numel>numel)(?:\(\))?|(?:shape\[|size\()\s*(?P<axis>-?\d+)\s*[\])]|stride\(\s*(?P<step>-?\d+)\s*\))"
    r"\s*=\s*(?P<value>-?\d+)"
)
_LENGTH = re.compile(r"len\(\s*" + _NAME + r"\s*\)\s*=\s*(?P<value>\d+)")
_NUMBER = re.compile(r"(?P<name>grid\[[0-2]\]|math\.prod\(.+\))\s*=\s*(?P<value>\d+)")
_DTYPE = re.compile(_NAME + r"\.dtype\s*=\s*(?:torch\.|tl\.)?(?P<dtype>[A-Za-z]\w*)")
_VALUE = re.compile(_NAME + r"\s*=\s*(?P<value>[^=].*)")
_MAX_EXTENT = 2**40
#: Combinations of values in one sweep: each is a whole analysis.
MAX_SWEEP = 64

_FORMS = (
    "write NAME:dtype[dims] or NAME=VALUE, such as x:int8[128,2048], x:int8[?,2048], M=128, causal=False, scale=0.125, "
    "x.shape[0]=128 or x.numel()=4096"
)


def parse_fact(text: str) -> Fact:
    """One fact: ``[FUNC.]NAME:dtype[d0,d1]`` (the shape may be left out, a ``?`` leaves a dimension open), ``[FUNC.]NAME=VALUE``
    (a number, ``True``, ``False``, ``None`` or a string in quotes), ``[FUNC.]NAME.shape[0]=INT``, ``.size(0)``, ``.numel()``,
    ``.stride(0)``, ``.dtype=``, or ``grid[0]=INT``. Raises :class:`UsageError`."""
    bare = text.strip()
    tensor = _TENSOR.fullmatch(bare)
    if tensor is not None:
        shape = None
        if tensor["dims"] is not None:
            shape = tuple(
                None if part.strip() == "?" else _extent(text, part)
                for part in tensor["dims"].split(",")
                if part.strip()
            )
        return Fact(tensor["name"], tensor["function"] or "", _dtype(text, tensor["dtype"]), shape)
    number = _NUMBER.fullmatch(bare)
    if number is not None:
        return Fact(number["name"], size=_extent(text, number["value"]))
    length = _LENGTH.fullmatch(bare)
    if length is not None:
        return Fact(f"len({length['name']})", length["function"] or "", size=_extent(text, length["value"]))
    size = _SIZE.fullmatch(bare)
    if size is not None:
        what = "numel" if size["numel"] else f"stride({size['step']})" if size["step"] else f"shape[{size['axis']}]"
        told = _extent(text, size["value"], 0 if size["step"] else 1)
        return Fact(f"{size['name']}.{what}", size["function"] or "", size=told)
    typed = _DTYPE.fullmatch(bare)
    if typed is not None:
        return Fact(typed["name"], typed["function"] or "", _dtype(text, typed["dtype"]))
    value = _VALUE.fullmatch(bare)
    if value is not None:
        return Fact(value["name"], value["function"] or "", value=_literal(text, value["value"].strip()), is_value=True)
    raise UsageError(f"--assume {text}: {_FORMS}")


def parse_facts(texts: Iterable[str]) -> tuple[Fact, ...]:
    """The facts that ``texts`` are. Raises :class:`UsageError` where one is none, or two say different things of one name."""
    found: dict[tuple[str, str], tuple[Fact, str]] = {}
    for text in texts:
        fact = parse_fact(text)
        before, said = found.setdefault((fact.function, fact.name), (fact, text))
        if before != fact:
            raise UsageError(f"--assume {fact.name}: given twice, as {said} and as {text}")
    return tuple(fact for fact, _ in found.values())


def sweep(texts: Iterable[str]) -> list[tuple[dict[str, str], list[str]]]:
    """Facts with lists in them (``M=16,128``, ``x:int8[16|128,2048]``) as one list of facts for each combination, with what is
    special about it. Raises :class:`UsageError` for too many."""
    choices: list[list[tuple[str, str, str]]] = []
    for text in texts:
        name, equals, values = text.partition("=")
        parts = [part.strip() for part in values.split(",")] if equals and not any(c in values for c in "'\"") else []
        if len(parts) > 1:
            choices.append([(f"{name.strip()}={part}", name.strip(), part) for part in dict.fromkeys(parts)])
        elif "|" in text:
            owner, _, told = text.rpartition(":")
            kinds, _, dims = told.partition("[")
            axes = [[one.strip() for one in axis.split("|")] for axis in dims.rstrip("] ").split(",")]
            types = [one.strip() for one in kinds.split("|")]
            combined = itertools.product(types, *axes) if dims else ((one,) for one in types)
            made = [(one[0] + (f"[{','.join(one[1:])}]" if dims else "")) for one in combined]
            choices.append([(f"{owner}:{one}", owner, one) for one in made])
        else:
            choices.append([(text, "", "")])
    if math.prod(len(options) for options in choices) > MAX_SWEEP:
        raise UsageError(f"--assume asks for more than {MAX_SWEEP} combinations")
    return [
        ({name: value for _, name, value in combination if name}, [text for text, _, _ in combination])
        for combination in itertools.product(*choices)
    ]


def _dtype(text: str, name: str) -> dt.Dtype:
    found = dt.find(name)
    if found is None:
        raise UsageError(f"--assume {text}: {name!r} is not an element type")
    return found


def _extent(text: str, part: str, least: int = 1) -> int:
    try:
        value = int(part)
    except ValueError:
        raise UsageError(f"--assume {text}: {part.strip()!r} is not an integer") from None
    if not least <= value < _MAX_EXTENT:
        raise UsageError(f"--assume {text}: {value} is not a sensible size")
    return value


def _literal(text: str, value: str) -> Any:
    named: dict[str, Any] = {"True": True, "true": True, "False": False, "false": False, "None": None}
    if value in named:
        return named[value]
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    if "," in value:
        raise UsageError(f"--assume {text}: one value at a time; `kernlint explain` takes a list of them")
    try:
        number = int(value, 0)
    except ValueError:
        try:
            number_f = float(value)
        except ValueError:
            raise UsageError(f"--assume {text}: {value!r} is no value; {_FORMS}") from None
        if not math.isfinite(number_f):
            raise UsageError(f"--assume {text}: {value} is no finite number") from None
        return number_f
    if abs(number) >= _MAX_EXTENT:
        raise UsageError(f"--assume {text}: {number} is not a sensible value")
    return number
