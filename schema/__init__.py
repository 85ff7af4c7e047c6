"""The JSON Schemas of what kernlint prints."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from kernlint.errors import UsageError

_SUFFIX = ".schema.json"


def names() -> list[str]:
    """The names that :func:`load` knows, sorted."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(_SUFFIX) for file in files if file.name.endswith(_SUFFIX))


def load(name: str) -> dict[str, Any]:
    """The schema called ``name``, as parsed JSON. Raises ``UsageError`` where there is none of that name."""
    if name not in names():
        raise UsageError(f"no schema named {name!r}; there is: {', '.join(names())}")
    schema: dict[str, Any] = json.loads(resources.files(__name__).joinpath(name + _SUFFIX).read_text(encoding="utf-8"))
    return schema
