"""The facts a user gives with ``--assume``."""

from __future__ import annotations

import re

from kernlint.errors import UsageError
from kernlint.interpret.program import Fact
from kernlint.workload import dtype as dt

_TENSOR = re.compile(
    r"(?:(?P<function>[A-Za-z_][\w.]*)\.)?(?P<name>[A-Za-z_]\w*)\s*:\s*(?P<dtype>\w+)\s*(?:\[(?P<dims>[^\]]*)\])?"
)
_SIZE = re.compile(r"(?:(?P<function>[A-Za-z_][\w.]*)\.)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>-?\d+)")
_MAX_EXTENT = 2**40


def parse_fact(text: str) -> Fact:
    """``[FUNC.]NAME:dtype[d0,d1]`` (the shape may be left out) or ``[FUNC.]NAME=INT``. Raises :class:`UsageError`."""
    tensor = _TENSOR.fullmatch(text.strip())
    if tensor is not None:
        dtype = dt.find(tensor["dtype"])
        if dtype is None:
            raise UsageError(f"--assume {text}: {tensor['dtype']!r} is not an element type")
        shape = None
        if tensor["dims"] is not None:
            shape = tuple(_extent(text, part) for part in tensor["dims"].split(",") if part.strip())
        return Fact(tensor["name"], tensor["function"] or "", dtype, shape)
    size = _SIZE.fullmatch(text.strip())
    if size is not None:
        return Fact(size["name"], size["function"] or "", value=_extent(text, size["value"]))
    raise UsageError(f"--assume {text}: write NAME:dtype[dims] or NAME=INT, such as x:int8[128,2048] or M=128")


def _extent(text: str, part: str) -> int:
    try:
        value = int(part)
    except ValueError:
        raise UsageError(f"--assume {text}: {part.strip()!r} is not an integer") from None
    if not 0 < value < _MAX_EXTENT:
        raise UsageError(f"--assume {text}: {value} is not a sensible size")
    return value
