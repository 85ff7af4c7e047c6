"""How a launch binds its arguments to a kernel, and what the launcher refuses of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.values import Builtin, Config, Function, Jit
from kernlint.syntax.dialect import is_tritons
from kernlint.syntax.names import bound_by, dotted_name, origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters
from kernlint.workload import Expr, Span
from kernlint.workload.fault import Fault

#: Keywords that the launcher takes for itself.
_OWN = frozenset({"grid", "warmup", "stream", "device", "device_type"})

#: Options of back ends that are not Triton's own (Intel, Ascend), which their code passes on.
_OTHER_BACK_ENDS = frozenset(
    {"grf_mode", "threads_per_warp", "generate_native_code", "multibuffer", "enable_auto_bind_sub_block"}
)

#: Options that an autotune configuration always passes on, whether or not it sets them.
_CONFIGURED = ("num_warps", "num_stages", "num_ctas")


def launch_faults(
    jit: Jit,
    config: Config,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: cst.CSTNode,
    target: Target,
    span: Span,
    symbol: str,
) -> tuple[Fault, ...]:
    """What the launcher of ``target`` refuses of ``jit[grid](*args, **kwargs)`` under one autotune configuration."""
    if jit.either:
        return ()  # the condition that picked it may be the one that picked the arguments

    def fault(kind: str, text: str, name: str) -> Fault:
        return Fault(kind, span, text, symbol, name=name)

    stars = {arg.star for arg in getattr(node, "args", ())}
    if "*" in stars:  # how many arguments there are depends on what was put into the list
        return ()
    function = jit.function
    assert isinstance(function.node, cst.FunctionDef)
    every = parameters(function.node)
    names = [p.name.value for p in every]
    positional = names[: len(names) - len(function.node.params.kwonly_params)]
    kernel = function.name
    if len(args) > len(positional):
        text = f"`{kernel}` takes {len(positional)} positional arguments; the launch gives {len(args)}"
        return (fault("launch-unexpected", text, kernel),)
    given = set(positional[: len(args)])
    found = []
    for name in given & set(kwargs):
        text = f"`{kernel}` is given `{name}` both as a positional and as a keyword argument"
        found.append(fault("launch-duplicate", text, name))
    found += [fault("launch-duplicate", text, name) for name, text in _clashes(jit, config, given, kwargs)]
    options = target.options_of_all() | _OWN | _OTHER_BACK_ENDS
    written = {arg.keyword.value for arg in getattr(node, "args", ()) if arg.keyword is not None}
    for name in kwargs:
        # What comes in through `**options` may only be there for another back end.
        if name in written and name not in names and name not in options and name not in jit.heuristics:
            found.append(fault("launch-unexpected", f"`{kernel}` has no parameter `{name}`", name))
    made = {*config.kwargs, *jit.heuristics}
    if jit.autotuned:  # a configuration passes its options on as keywords, which parameters of these names take
        made |= set(_CONFIGURED) & set(names)
    # Decorators and configurations that were not followed may set anything.
    origins = (origin_of(d.decorator, function.module.imports) or "" for d in function.node.decorators)
    followed = all(is_tritons(origin, "jit", "autotune", "heuristics") for origin in origins)
    open_ended = "**" in stars or jit.open_ended or (jit.autotuned and not jit.configs) or not followed
    # What prunes several configurations may give others back.
    pruned = jit.tuning is not None and jit.tuning.pruned and len(jit.configs) > 1
    open_ended = open_ended or kernel in function.module.once(_handed_on)
    for param in every:
        name = param.name.value
        bound = param.default is not None or name in given or name in kwargs or name in made
        if not (bound or open_ended or (pruned and _may_be_pruned_to(name, function))):
            found.append(fault("launch-missing", f"`{kernel}` is launched without its argument `{name}`", name))
    for name in made:
        if name not in names and name not in options:
            found.append(
                fault("launch-unexpected", f"`{kernel}` has no parameter `{name}`, which its decorator sets", name)
            )
    return tuple(found)


def _may_be_pruned_to(name: str, kernel: Function) -> bool:
    """Whether what prunes the configurations of ``kernel`` may set ``name`` in each that it gives back: unless it makes some by a
    dictionary that it writes out, in a module that has no such key."""
    module = kernel.module
    prunes = {
        arg.value
        for one in kernel.node.decorators  # type: ignore[union-attr]
        for arg in module.within(one, cst.Arg)
        if arg.keyword is not None and arg.keyword.value == "prune_configs_by"
    }
    used = {one.value for value in prunes for one in module.within(value, cst.Name)}
    pruners = [one for one in module.of(cst.FunctionDef) if one.name.value in used]
    written = any(_makes_written_ones(one, module) for one in pruners)
    return not written or re.search(rf"['\"]{name}['\"]|\b{name}\s*=", module.text) is not None


def _makes_written_ones(function: cst.FunctionDef, module: Module) -> bool:
    """Whether ``function`` makes a ``triton.Config`` of a dictionary that it writes out and adds nothing to but by single keys."""
    calls = [(dotted_name(call.func) or "", call) for call in module.within(function, cst.Call)]
    given = [call.args[0].value for name, call in calls if name.rpartition(".")[2] == "Config" and call.args]
    names = {one.value for one in given if isinstance(one, cst.Name)} - {n.rpartition(".")[0] for n, _ in calls}
    assigned = (one for one in module.within(function, cst.Assign) if any(n.value in names for n in bound_by(one)))
    made = (one for one in (*given, *(one.value for one in assigned)) if isinstance(one, cst.Dict))
    return any(all(isinstance(e, cst.DictElement) for e in one.elements) for one in made)


def _handed_on(module: Module) -> frozenset[str]:
    """The names that calls in ``module`` get as they are: whoever is given a kernel may put a tuner around it."""
    given = (arg.value for call in module.of(cst.Call) for arg in call.args)
    return frozenset(value.value for value in given if isinstance(value, cst.Name))


def _clashes(jit: Jit, config: Config, given: set[str], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names that both the launch and the autotuner set, each with what is wrong."""
    if not jit.autotuned:
        return
    kernel = jit.function.name
    for name in config.kwargs:
        if name in kwargs or name in given:
            yield name, f"`{name}` of `{kernel}` is set by the autotuner and given at the launch too"
    for name in _CONFIGURED:
        if (name in kwargs or name in given) and name not in config.kwargs:
            yield name, f"`{name}` is given at the launch, but the autotune configurations of `{kernel}` set it already"


def _takes_one(function: Function) -> bool:
    """Whether ``function`` may be called with one positional argument."""
    params = function.node.params
    positional = [*params.posonly_params, *params.params]
    if getattr(function.node, "decorators", ()) or (positional and positional[0].name.value in ("self", "cls")):
        return True  # what is around it, or what it is bound to, may make it so
    starred = isinstance(params.star_arg, cst.Param)
    needed = sum(param.default is None for param in positional)
    return needed <= 1 and (starred or bool(positional)) and all(p.default is not None for p in params.kwonly_params)


def grid_fault(grid: Any, function: Any, span: Span, symbol: str) -> Fault | None:
    """What is wrong with a launch grid, which ``function`` of the meta-parameters returned where that is one."""
    computed = isinstance(function, (Function, Builtin))
    if isinstance(function, Function) and not _takes_one(function):
        text = f"the grid function `{function.name}` cannot be called with one argument, the meta-parameters, as launchers do"
        return Fault("grid-function", span, text, symbol)
    if isinstance(grid, (int, Expr)) and not isinstance(grid, bool):
        what = "the grid function returns" if computed else "the grid is"
        return Fault("bad-grid", span, f"{what} a number; it must be a tuple such as `(n,)`", symbol)
    if isinstance(grid, (tuple, list)):
        for axis, extent in enumerate(grid):
            if isinstance(extent, float):
                text = f"extent {axis} of the grid is a float ({extent:g}); it must be an integer"
                return Fault("bad-grid", span, text, symbol)
    return None
