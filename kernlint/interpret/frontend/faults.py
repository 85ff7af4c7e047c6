"""What the front end refuses of a kernel, noted while it is followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.python.evaluator import Evaluator
from kernlint.interpret.values import Unknown
from kernlint.workload import Span
from kernlint.workload.fault import Fault


class FrontEndFaults(Evaluator):
    """Notes what the front end of ``target`` refuses.

    ``arguments`` are the launch's run-time arguments by name, for what depends on their values; ``unspecialised`` those that
    are never made compile-time constants.
    """

    def __init__(
        self,
        target: Target,
        arguments: Mapping[str, Any],
        unspecialised: frozenset[str] = frozenset(),
        budget: int = 60_000,
    ) -> None:
        super().__init__(budget)
        self.unspecialised = unspecialised
        self.target = target
        self.arguments = arguments
        self.found: dict[tuple[str, Span], Fault] = {}
        #: Compile-time conditions around the statement, since the last run-time one.
        self.choices = 0
        #: The switch of the kernel, off by default, under which alone the statement is compiled.
        self.switch = ""
        self.bindings: dict[cst.CSTNode, dict[str, list[Span]]] = {}

    def fault(
        self, kind: str, node: cst.CSTNode, text: str, name: str = "", certain: bool = True, since: str = ""
    ) -> Unknown:
        """Remember a refusal; the value of the refused expression is anything."""
        span = self.span(node)
        certain = certain and not self.doubts
        known = self.found.get((kind, span))
        if known is None or (certain and not known.certain) or (known.switch and not self.switch):
            self.found[(kind, span)] = Fault(kind, span, text, self.symbol, certain, name, self.switch, since)
        return Unknown(kind)
