"""Which sizes differ from call to call: those of the work, where those of a model stay."""

from __future__ import annotations

from kernlint.rules.dataflow import written_tensors
from kernlint.rules.finding import Context
from kernlint.workload import Expr, Opaque, Size, Symbol


def per_call_sizes(context: Context) -> set[Symbol]:
    """The open sizes that count rows of what the kernels write: number of elements, batch, tokens, sequence length. The last
    extent of a tensor (the last two of one with four) is a width of the model."""
    found: set[Symbol] = set()
    for launch in context.workload.launches():
        for tensor in written_tensors(launch):
            shape = tensor.shape or ()
            rows = shape[: -2 if len(shape) >= 4 else -1] if len(shape) > 1 else ()
            for extent in rows:
                found |= symbols(extent)
    counted = {symbol.name.removesuffix(".numel") for symbol in _numels(context)}
    return found | {Symbol(f"{name}.numel") for name in counted}


def _numels(context: Context) -> set[Symbol]:
    """The numbers of elements that launches are given."""
    values: list[object] = []
    for launch in context.workload.launches():
        values += [*launch.arguments.values(), *launch.open_constexprs.values()]
    found = {symbol for value in values if isinstance(value, Expr) for symbol in symbols(value)}
    return {symbol for symbol in found if symbol.name.endswith(".numel")}


def symbols(value: Size) -> set[Symbol]:
    """The open sizes in ``value``."""
    return {atom for atom in value.atoms() if isinstance(atom, Symbol)} if isinstance(value, Expr) else set()


def exact(value: Size) -> bool:
    """Whether ``value`` changes with each of its sizes: no rounding, bucket or bound in it."""
    return isinstance(value, Expr) and not any(isinstance(atom, Opaque) for atom in value.atoms())
