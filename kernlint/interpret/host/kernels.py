"""The kernel of a launch, read once for all launches on arguments of the same kinds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.host.copies import copied, wording
from kernlint.interpret.host.open_kernels import Family, open_sizes
from kernlint.interpret.host.values import HostDescriptor
from kernlint.interpret.triton.reading import read_kernel
from kernlint.interpret.values import Function, Jit
from kernlint.syntax.tree import Module
from kernlint.workload import Fault, Kernel, Size, Span, Tensor
from kernlint.workload import expr as ex
from kernlint.workload.span import Nest

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


def kernel_of(
    h: HostEvaluator,
    jit: Jit,
    arguments: Mapping[str, Any],
    constexprs: Mapping[str, Any],
    grid: tuple[Size, ...],
    span: Span,
) -> Kernel:
    inside = inside_kernel(arguments)
    if h.seen is not None and h.sinks and span not in h.seen_kernels:
        values = h.seen_kernels[span] = {}
        return read_kernel(jit, inside, constexprs, grid, h.edits, values)
    edits = (
        h.edits.native_dots,
        h.edits.precisions,
        _within_sight(h, jit.function.module),
    )
    spans = (*edits[0], *(span for part in edits[1:] for span, _ in part))
    key = wording(jit.function, spans), edits, _signature(inside), _signature(constexprs)
    # Few kernels care how many programs there are beyond one.
    coarse, exact = (key, tuple(map(_several, grid))), (key, tuple(map(str, grid)))
    alike = h.kernels.alike
    known = alike.get(coarse)
    if known and next(iter(known.values())).counts_programs:  # as all of its copies do
        known = alike.get(exact)
    if known is None:
        known = alike[coarse] = alike[exact] = {}
    if jit.function.node not in known:
        kernel = copied(known, jit.function)
        if kernel is None:
            read = partial(_read, h, jit, key, inside, constexprs, grid)
            given = {**inside, **constexprs}
            asked = "kernel", exact[1], *(tuple(sorted(part)) for part in edits[:2])
            kernel = read() if h.readings is None else h.readings.ask(jit, asked, given, read, edits[2])
        known[jit.function.node] = kernel
    return known[jit.function.node]


def _read(
    h: HostEvaluator,
    jit: Jit,
    form: tuple[Any, ...],
    inside: Mapping[str, Any],
    constexprs: Mapping[str, Any],
    grid: tuple[Size, ...],
) -> Kernel:
    """The kernel ``jit`` as it is launched here; ``form`` is all that decides it."""
    sizes = open_sizes(inside)
    wording, edits, arguments, known = form
    kinds = tuple((name, None if name in sizes else kind) for name, kind in arguments)
    key = wording, edits, kinds, known, tuple(map(_several, grid))
    family = h.kernels.families.get(key)
    if family is None:
        tiled = tuple((name, None if type(constexprs[name]) is int else kind) for name, kind in known)
        family = h.kernels.families[key] = Family(h.kernels.opened.setdefault((wording, edits, kinds, tiled), []))
    return family.kernel(sizes, lambda given: read_kernel(jit, {**inside, **given}, constexprs, grid, h.edits))


def refused_by_front_end(
    h: HostEvaluator, jit: Jit, arguments: Mapping[str, Any], constexprs: Mapping[str, Any], target: Target, bare: bool
) -> tuple[Fault, ...]:
    """What the front end refuses of a kernel with these arguments; remembered, as the kernel itself is."""
    given = bare, _signature(arguments), _signature(constexprs)
    key = jit.function.node, *given
    if key not in h.refused:
        from kernlint.interpret.frontend.check import check_kernel

        check = partial(check_kernel, jit, arguments, constexprs, target, bare)
        made = frozenset(jit.heuristics), tuple(frozenset(config.kwargs) for config in jit.configs)
        asked = "refused", target, bare, jit.unspecialised, jit.open_ended, made
        values = {**arguments, **constexprs}
        shared = wording(jit.function), asked, *given
        refused = h.refused.get(shared)
        if refused is None or refused:  # in words about a place
            refused = check() if h.readings is None else h.readings.ask(jit, asked, values, check)
        h.refused[key] = h.refused[shared] = refused
    return h.refused[key]


def unread_kernel(function: Function) -> Kernel:
    """The kernel ``function`` before anybody has looked into it."""
    node, module = function.node, function.module
    assert isinstance(node, cst.FunctionDef)
    return Kernel(node.name.value, (), module.span(node), module.span(node.name), module.path, complete=False)


def inside_kernel(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a kernel sees of its arguments."""
    return {
        name: value.inside(name) if isinstance(value, HostDescriptor) else value for name, value in arguments.items()
    }


def _signature(values: Mapping[str, Any]) -> tuple[Any, ...]:
    def one(value: Any) -> Any:
        if isinstance(value, Tensor):
            return (str(value.dtype),)
        if isinstance(value, (Function, Jit)):
            return id(value)
        return (type(value).__name__, str(value))

    return tuple((name, one(value)) for name, value in values.items())


def _several(extent: Size) -> str:
    """Whether an axis of a grid has no program, one or several, as far as it is known."""
    number = ex.concrete(extent)
    return "open" if number is None else "several" if number > 1 else str(number)


def _within_sight(h: HostEvaluator, module: Module) -> frozenset[tuple[Span, int]]:
    """The edits of literals that a kernel of ``module`` may see otherwise than by its arguments: not those in a function that
    launches kernels."""
    known, edits = h.kernels.in_sight, h.edits.literals
    if (module, edits) not in known:
        launching = module.once(_launching_functions)
        known[module, edits] = frozenset(edit for edit in edits if not launching.around(edit[0]))
    return known[module, edits]


def _launching_functions(module: Module) -> Nest[Span]:
    """The functions with a ``kernel[grid](...)`` in them, which no kernel has; without those that define others (kernels,
    perhaps) or set globals (which kernels may read)."""
    places = [
        module.span(function)
        for function in module.of(cst.FunctionDef)
        if any(isinstance(call.func, cst.Subscript) for call in module.within(function, cst.Call))
        and len(module.within(function, cst.FunctionDef)) == 1
        and not module.within(function, cst.Global)
    ]
    return Nest((place, place) for place in places)
