"""Workloads of calls that were traced: what a child process reported of a program on fake tensors, in the terms of the analysis.

The report is plain data, and believed as far as it is well formed. Kernels are read from source as ever, with the arguments
that they were given.
"""

from __future__ import annotations

from kernlint.errors import AnalysisError
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.interpret.recorded.places import NotTold
from kernlint.interpret.recorded.recording import Recording
from kernlint.interpret.recorded.replay import Replay
from kernlint.records import replace
from kernlint.syntax.tree import Module
from kernlint.workload import Workload

#: What a report that is not well formed raises when it is looked into.
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)


class RecordedProgram(Program):
    """A program of which one entry was traced: where source analysis does not come to the same workload, the traced one counts.

    What-ifs about a traced workload are made by reading its kernels again; those that change what the host does cannot be.
    """

    def __init__(self, kernel: Module, reference: Module | None, question: Question, recording: Recording) -> None:
        super().__init__(kernel, reference, question)
        self.recording = recording
        #: The entry whose traced workload stands in the place of the one from source.
        self.replaced = ""
        #: Why, in words.
        self.differences: tuple[str, ...] = ()

    def _follow(self, edits: Edits, only: str) -> list[Workload]:
        if edits and self.replaced:
            again = self.traced_workload(edits)
            return [again] if again is not None else []
        found = super()._follow(edits, only)
        if edits:
            return found
        from kernlint.interpret.recorded.agreement import differences  # which compares what this module makes

        traced = self.traced_workload(NO_EDITS)
        assert traced is not None
        static = next((workload for workload in found if workload.entry == traced.entry), None)
        self.differences = ("the entry was not found in the source",) if static is None else differences(static, traced)
        if static is None or self.differences:
            self.replaced = traced.entry
            self._substitution.pop((edits, only), None)
            return [traced, *(workload for workload in found if workload.entry != traced.entry)]
        return [_confirmed(static, traced), *(workload for workload in found if workload is not static)]

    def _exchanged(self, entry: str, edits: Edits) -> Workload | None:
        return None if entry == self.replaced else super()._exchanged(entry, edits)

    def variant(self, kernel: Module, question: Question, reference: Module | None = None) -> Program:
        if kernel is not self.kernel or reference is not None or question.overrides != self.question.overrides:
            return super().variant(kernel, question, reference)
        other = RecordedProgram(kernel, self.reference, question, self.recording)
        other._readings = self._readings
        return other

    def traced_workload(self, edits: Edits) -> Workload | None:
        """The workload that was traced, under ``edits``; None where those change what the host does. Raises ``AnalysisError``
        where the report is not well formed."""
        if edits.skipped or edits.unfilled:
            return None
        try:
            return Replay(self, edits, self._resolved).workload()
        except NotTold:
            return None
        except _MALFORMED as error:
            raise AnalysisError(
                f"{self.kernel.path}: the trace cannot be read ({type(error).__name__}: {error})"
            ) from error


def _confirmed(static: Workload, traced: Workload) -> Workload:
    """``static``, which the trace agrees with: nothing in it is assumed any more."""
    assumed = tuple(text for text in traced.assumptions if text not in static.assumptions)
    reference = static.reference if traced.reference is None else traced.reference
    return replace(static, assumptions=assumed, unknowns=traced.unknowns, reference=reference, traced=True)
