"""A program given elements of other types than its own: what is proven of these holds only where it takes no others."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.errors import KernlintError
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.records import dataclass, replace
from kernlint.rules.proofs.other_calls import takes
from kernlint.workload import Tensor, Workload
from kernlint.workload import dtype as dt

#: What the floats and the integers that a program is given may be instead: wider ones, and all of them one kind.
_OTHERS = (
    (dt.FLOAT32, dt.INT64),
    (dt.FLOAT64, dt.INT64),
    (dt.FLOAT16, dt.FLOAT16),
    (dt.INT32, dt.INT32),
)


@dataclass(frozen=True)
class OtherElements:
    """``program`` given the element types ``names``, all else as it was, and the ``workload`` that comes of it."""

    program: Program
    workload: Workload
    names: str


def other_elements(program: Program, entry: str, bare: bool, tuned: bool = False) -> list[OtherElements]:
    """The calls with other elements that ``program`` takes: no assert, condition or annotation says that there are none such. Those that
    are ``tuned`` are told under each configuration of its tuners."""
    return program.once(_other_elements, entry, bare, tuned)


def _other_elements(program: Program, entry: str, bare: bool, tuned: bool) -> list[OtherElements]:
    own = program.workload(entry, NO_EDITS, bare)
    return [one for types in _OTHERS if own is not None for one in _given(program, own, *types, tuned)]


def _given(
    program: Program, own: Workload, floats: dt.Dtype, integers: dt.Dtype, tuned: bool
) -> Iterator[OtherElements]:
    try:
        other = program.once(_with_elements, floats, integers, tuned)
        workload = other.workload(own.entry, NO_EDITS, own.bare)
    except KernlintError:
        return
    if workload is None:
        return
    names = " or ".join(dict.fromkeys((floats.name, integers.name)))
    for number in range(
        max((len(one.configurations) for one in own.first_call().launches()), default=1) if tuned else 1
    ):
        before, after = own.configured(number), workload.configured(number)
        if takes(before, after) and _untyped(after) <= _untyped(before):
            yield OtherElements(other, after, names)


def _with_elements(program: Program, floats: dt.Dtype, integers: dt.Dtype, tuned: bool) -> Program:
    question = replace(program.question, floats=floats, integers=integers, detailed=True, tuners=tuned)
    return program.variant(program.kernel, question, program.reference)


def _untyped(workload: Workload) -> int:
    """How many tensors kernels are given whose types are not known, as those are that the code allows other types than it is given."""
    given = (value for launch in workload.launches() for value in launch.arguments.values())
    return sum(isinstance(value, Tensor) and value.dtype is None for value in given)
