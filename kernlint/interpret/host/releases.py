"""Version numbers as programs compare them: ``version.parse(triton.__version__) >= version.parse("3.0.0")``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kernlint.interpret.python.control import Raised
from kernlint.interpret.values import Namespace, Unknown
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator

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


def demand(h: HostEvaluator, path: str) -> None:
    """Raise, where a ``try`` is there to catch it, for what the Triton release does not have."""
    head, _, name = path.rpartition(".")
    if h.guarded and has(h, Namespace(head), name) is False:
        raise Raised


def has(h: HostEvaluator, owner: Any, name: Any) -> bool | None:
    """Whether a module of Triton has ``name`` in the release that the program runs on; None where it is not known."""
    if not isinstance(owner, Namespace) or not isinstance(name, str) or owner.path.split(".")[0] != "triton":
        return None
    path = f"{owner.path}.{name}"
    return True if h.release.has_module(path) else h.release.has(path)
