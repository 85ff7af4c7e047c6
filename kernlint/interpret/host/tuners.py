"""Decorators of Triton, `triton.jit`, `triton.autotune`, `triton.heuristics`, and the configurations that a tuner tries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host.values import Tuner
from kernlint.interpret.values import Builtin, Config, Function, Jit, Unknown
from kernlint.records import replace
from kernlint.syntax.walk import parameters
from kernlint.workload import Tuning

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


MAX_CONFIGS = 48
#: The attributes of a triton.Config, of every release from 3.2 on.
_OF_CONFIG = frozenset(
    "kwargs num_warps num_stages num_ctas maxnreg pre_hook ir_override num_buffers_warp_spec num_consumer_groups "
    "reg_dec_producer reg_inc_consumer all_kwargs".split()
)


def decorator(h: HostEvaluator, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
    """``triton.jit(fn)``, ``triton.autotune(configs=..., key=...)``, ``triton.heuristics({...})``."""
    if name == "jit":

        def made(a: list[Any], k: dict[str, Any], n: cst.CSTNode) -> Any:
            function = a[0] if a else None
            if not isinstance(function, Function) or not isinstance(function.node, cst.FunctionDef):
                return Unknown("jit")  # a lambda, which Triton refuses, too
            return Jit(function, unspecialised=_unspecialised(function, kwargs))

        return made(args, {}, node) if args else Builtin("jit", made)

    def wrap(a: list[Any], k: dict[str, Any], n: cst.CSTNode) -> Any:
        jit = a[0] if a else None
        if not isinstance(jit, Jit):
            return Unknown(name)
        if name == "heuristics":
            values = args[0] if args else kwargs.get("values")
            if not isinstance(values, dict):
                return replace(jit, open_ended=True)
            return replace(jit, heuristics={**values, **jit.heuristics})
        configs = h.iterate(kwargs.get("configs", args[0] if args else [])) or []
        key = h.iterate(kwargs.get("key", args[1] if len(args) > 1 else [])) or []
        found = tuple(c for c in configs if isinstance(c, Config))
        if len(found) < len(configs) or not found:
            h.unknowns.append(f"autotune configurations of {jit.function.name}")
        names = tuple(x for x in key if isinstance(x, str))
        # What is spread into the call may be either.
        spread = isinstance(node, cst.Call) and any(argument.star == "**" for argument in node.args)
        tuning = Tuning(
            names,
            len(found) if len(found) == len(configs) and found else None,
            swept(found),
            bool(kwargs.get("prune_configs_by", spread)),
            bool(kwargs.get("cache_results", spread)),
            h.span(n),
            repeating(found),
            **_safeguards(h, found, kwargs),
        )
        return replace(jit, configs=found[:MAX_CONFIGS], key=names, autotuned=True, tuning=tuning)

    misused = next((a for a in (*args, *kwargs.values()) if isinstance(a, Jit)), None)
    return Builtin(name, wrap) if misused is None else Tuner(name, wrap, wrap([misused], {}, node))


def _safeguards(h: HostEvaluator, configs: tuple[Config, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What keeps the measurements of an autotuner from changing results, and what its configurations set."""

    def names(value: Any) -> frozenset[str] | None:
        items = h.iterate(value)
        return frozenset(items) if items is not None and all(isinstance(x, str) for x in items) else None

    restored, zeroed = (
        names(kwargs[n]) if kwargs.get(n) is not None else frozenset[str]() for n in ("restore_value", "reset_to_zero")
    )
    hooked = any(kwargs.get(n) is not None for n in ("pre_hook", "post_hook")) or any(
        c.hook is not None for c in configs
    )
    return {
        "parameters": frozenset[str]().union(*(c.kwargs for c in configs)),
        "restored": restored or frozenset(),
        "zeroed": zeroed or frozenset(),
        "hooked": hooked or restored is None or zeroed is None,
    }


def _settings(config: Config) -> dict[str, str]:
    """The meta-parameters and options of a configuration, their values as text."""
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    return {name: str(value) for name, value in {**config.kwargs, **options}.items()}


def swept(configs: tuple[Config, ...]) -> frozenset[str]:
    """The meta-parameters and options that take more than one value among ``configs``."""
    values: dict[str, set[str]] = {}
    for config in configs:
        for name, value in _settings(config).items():
            values.setdefault(name, set()).add(value)
    return frozenset(name for name, found in values.items() if len(found) > 1)


def repeating(configs: tuple[Config, ...]) -> frozenset[str]:
    """The swept parameters without which some of ``configs`` are the same."""
    settings = [_settings(config) for config in configs]

    def kinds(without: str | None) -> int:
        return len({tuple(sorted((n, v) for n, v in one.items() if n != without)) for one in settings})

    every = kinds(None)
    return frozenset(name for name in swept(configs) if kinds(name) < every)


def _unspecialised(function: Function, options: Mapping[str, Any]) -> frozenset[str]:
    """The parameters that the options of ``triton.jit`` exclude from specialisation, given by name or by position."""
    names = [p.name.value for p in parameters(function.node)]
    found = set()
    for option in ("do_not_specialize", "do_not_specialize_on_alignment"):
        listed = options.get(option)
        for item in listed if isinstance(listed, (list, tuple)) else ():
            if isinstance(item, str):
                found.add(item)
            elif isinstance(item, int) and 0 <= item < len(names):
                found.add(names[item])
    return frozenset(found)


def config_attribute(h: HostEvaluator, config: Config, name: str, node: cst.CSTNode) -> Any:
    """An attribute of a ``triton.Config``: the constexprs that it sets are none."""
    if name in config.kwargs and name not in _OF_CONFIG:
        h.refuse("config-attribute", node, f'a triton.Config has no attribute `{name}`; use `.kwargs["{name}"]`')
    known = {"kwargs": dict(config.kwargs), "num_warps": config.num_warps, "num_stages": config.num_stages}
    return known.get(name, Unknown(name))
