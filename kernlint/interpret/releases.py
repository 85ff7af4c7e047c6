"""Version numbers as programs compare them: ``version.parse(triton.__version__) >= version.parse("3.0.0")``."""

from __future__ import annotations

import re
from typing import Any

from kernlint.interpret.values import Unknown
from kernlint.records import dataclass

_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)")

#: The last parts of what makes a version of a text: ``packaging.version.parse``, ``pkg_resources.parse_version`` ...
_PARSERS = frozenset({"Version", "LooseVersion", "StrictVersion", "TorchVersion", "parse_version"})


@dataclass(frozen=True, order=True)
class Version:
    """A parsed version, of which only the numbers count."""

    release: tuple[int, ...]

    def attribute(self, name: str) -> Any:
        if name == "release":
            return self.release
        if name == "base_version":
            return ".".join(map(str, self.release))
        if name in ("major", "minor", "micro"):
            position = ("major", "minor", "micro").index(name)
            return self.release[position] if position < len(self.release) else 0
        return Unknown(name)


def parses_versions(path: str) -> bool:
    """Whether the library function with this dotted path makes a version of a text."""
    return path == "packaging.version.parse" or path.rpartition(".")[2] in _PARSERS


def parse(text: str) -> Version | Unknown:
    """``3.0.0`` and ``3.0`` are the same version."""
    found = _NUMBERS.match(text)
    if found is None:
        return Unknown("version")
    numbers = [int(n) for n in found[1].split(".")[:6]]
    return Version((*numbers, *[0] * (3 - len(numbers))))
