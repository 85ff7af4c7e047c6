"""Which sizes differ from call to call: those of the work, where those of a model stay."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.rules.finding import Context
from kernlint.rules.proofs.dataflow import written_tensors
from kernlint.rules.proofs.iteration_domain import symbols_of
from kernlint.workload import Expr, Launch, Opaque, Size, Symbol, Tuning
from kernlint.workload.size_names import counts_elements


def per_call_sizes(context: Context) -> set[Symbol]:
    """The open sizes that count the rows of what the kernels write: the first extent of a tensor of two dimensions or more,
    and the number of elements of one. Later extents may be widths of the model, and so may those that no tensor has."""
    found: set[Symbol] = set()
    for launch in context.workload.launches():
        for tensor in written_tensors(launch):
            if tensor.shape is None:
                # Of unknown rank, such as `torch.empty_like(x)`: then a number of elements that the grid divides into blocks is
                # that of the work.
                found |= _given(launch) & _divided(launch)
            elif len(tensor.shape) > 1:
                found |= symbols_of(tensor.shape[0])
    return {symbol for symbol in found if symbol.name.endswith((".shape[0]", ".numel"))}


def sizes_in_keys(context: Context) -> Iterator[tuple[Launch, Tuning, str, Expr]]:
    """The open sizes that launches give to names in the keys of their tuners, once for each name of a kernel. A single
    configuration is never timed, and how many there are may stand in a file that is not read."""
    seen = set()
    for launch in context.launches():
        tuning = launch.tuning
        if tuning is None or tuning.kept or (tuning.configurations or 1) < 2:
            continue
        for name in tuning.key:
            value = launch.open_constexprs.get(name, launch.arguments.get(name))
            if isinstance(value, Expr) and (launch.kernel.name, name) not in seen:
                seen.add((launch.kernel.name, name))
                yield launch, tuning, name, value


def _given(launch: Launch) -> set[Symbol]:
    """The numbers of elements that ``launch`` is given."""
    values = [*launch.arguments.values(), *launch.open_constexprs.values()]
    return {s for s in symbols_of(*(v for v in values if isinstance(v, Expr))) if counts_elements(s)}


def _divided(launch: Launch) -> set[Symbol]:
    """The sizes that the grid of ``launch`` divides by the extent of a block; not those that are an extent themselves."""
    parts = [atom for extent in launch.grid if isinstance(extent, Expr) for atom in extent.atoms()]
    return symbols_of(*(arg for atom in parts if isinstance(atom, Opaque) for arg in atom.args))


def bucketed(value: Size) -> bool:
    """Whether ``value`` is rounded to a power of two or bounded, so that it takes few values."""
    return isinstance(value, Expr) and any(
        isinstance(a, Opaque) and a.op in ("pow2", "min", "max") for a in value.atoms()
    )


def exact(value: Size) -> bool:
    """Whether ``value`` changes with each of its sizes: no rounding, bucket or bound in it."""
    return isinstance(value, Expr) and not any(isinstance(atom, Opaque) for atom in value.atoms())
