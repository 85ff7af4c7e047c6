"""Whether two workloads of one call are the same, and where not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kernlint.interpret.values import Unknown
from kernlint.workload import Expr, HostSync, Launch, Size, Step, Tensor, TorchOp, Workload, concrete

#: Operations that take the device no time.
_FREE = frozenset({"alloc"})
_MOST_TOLD = 12


def differences(static: Workload, traced: Workload) -> tuple[str, ...]:
    """Where the workload read from source is not, or not for certain, the one that was traced; empty where they agree."""
    found: list[str] = []
    for name in ("steps", "first_steps"):
        mine, theirs = getattr(static, name), getattr(traced, name)
        if mine is None and theirs is None:
            continue
        found += _launches(mine or static.steps, theirs or traced.steps)
        found += _operations(mine or static.steps, theirs or traced.steps)
    return tuple(dict.fromkeys(found))[:_MOST_TOLD]


def _counted(steps: tuple[Step, ...], times: int = 1) -> Iterator[tuple[Step, int]]:
    """Each step with how often it is made; loops of unknown length count as one round."""
    from kernlint.workload import Repeat

    for step in steps:
        if isinstance(step, Repeat):
            count = concrete(step.count)
            yield from _counted(step.body, times * (1 if count is None else count))
        else:
            yield step, times


def _launches(static: tuple[Step, ...], traced: tuple[Step, ...]) -> Iterator[str]:
    mine, theirs = (
        _grouped([(step, times) for step, times in _counted(steps) if isinstance(step, Launch)])
        for steps in (static, traced)
    )
    names = [launch.kernel.name for launch, _ in mine], [launch.kernel.name for launch, _ in theirs]
    if names[0] != names[1]:
        yield f"launches {_listed(names[0])} in the source, {_listed(names[1])} when traced"
        return
    for (a, times_a), (b, times_b) in zip(mine, theirs):
        if times_a != times_b:
            yield f"{a.kernel.name} is launched {times_a} times in the source, {times_b} when traced"
        yield from (f"{a.kernel.name}: {what}" for what in _launch(a, b))


def _grouped(launches: list[tuple[Launch, int]]) -> list[tuple[Launch, int]]:
    """The launches with those at one place that follow one another as one, the one in the middle: of a loop, either side may tell
    one round."""
    runs: list[list[tuple[Launch, int]]] = []
    for launch, times in launches:
        if runs and runs[-1][0][0].span == launch.span and runs[-1][0][0].kernel.name == launch.kernel.name:
            runs[-1].append((launch, times))
        else:
            runs.append([(launch, times)])
    return [(run[len(run) // 2][0], sum(times for _, times in run)) for run in runs]


def _launch(a: Launch, b: Launch) -> Iterator[str]:
    if list(map(concrete, a.grid)) != list(map(concrete, b.grid)):
        yield f"grid {_sizes(a.grid)} in the source, {_sizes(b.grid)} when traced"
    if (a.num_warps, a.num_stages) != (b.num_warps, b.num_stages):
        yield f"warps and stages {a.num_warps}, {a.num_stages} in the source, {b.num_warps}, {b.num_stages} when traced"
    for name in {**a.constexprs, **b.constexprs}:
        mine, theirs = a.constexprs.get(name), b.constexprs.get(name)
        if not _alike(mine, theirs):
            yield f"{name} is {_described(mine)} in the source, {_described(theirs)} when traced"
    for name in {**a.arguments, **b.arguments}:
        mine, theirs = a.arguments.get(name), b.arguments.get(name)
        if not _alike(mine, theirs):
            yield f"{name} is {_described(mine)} in the source, {_described(theirs)} when traced"
    if len(a.configurations) != len(b.configurations):
        yield f"{len(a.configurations)} configurations in the source, {len(b.configurations)} when traced"


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.dtype == b.dtype and _known(a.shape) == _known(b.shape) and _layout(a) == _layout(b)
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return isinstance(a, Unknown) and isinstance(b, Unknown)
    if isinstance(a, Expr) or isinstance(b, Expr):
        return isinstance(a, (int, Expr)) and isinstance(b, (int, Expr)) and concrete(a) == concrete(b) is not None
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(_alike, a, b))  # what was traced has come as JSON, which knows lists alone
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) or (a != a and b != b)
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return a == b
    return type(a) is type(b) or a == b


def _known(sizes: tuple[Size, ...] | None) -> list[int | None] | None:
    return None if sizes is None else [concrete(size) for size in sizes]


def _layout(x: Tensor) -> Any:
    """The strides, those of axes of one element left out: nobody can tell them apart."""
    if x.strides is None or x.shape is None:
        return None
    return [concrete(stride) for stride, extent in zip(x.strides, x.shape) if concrete(extent) != 1]


def _operations(static: tuple[Step, ...], traced: tuple[Step, ...]) -> Iterator[str]:
    mine, theirs = _work(static), _work(traced)
    for kind in dict.fromkeys([*mine, *theirs]):
        if mine[kind] != theirs[kind]:
            yield f"{mine[kind]} of {kind} in the source, {theirs[kind]} when traced"


def _work(steps: tuple[Step, ...]) -> Counter[str]:
    """How often the call does what takes the device time, by kind and size of the result."""
    found: Counter[str] = Counter()
    for step, times in _counted(steps):
        if isinstance(step, HostSync):
            found["sync"] += times
        elif isinstance(step, TorchOp) and step.kind not in _FREE:
            out = step.writes[0] if step.writes else None
            count = "?" if out is None or out.numel is None else out.numel
            found[f"{step.kind} to {count} of {out.dtype if out is not None else None}"] += times
    return found


def _sizes(sizes: tuple[Size, ...]) -> str:
    return f"[{', '.join(map(str, sizes))}]"


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        strides = "?" if value.strides is None else ", ".join(map(str, value.strides))
        shape = "?" if value.shape is None else ", ".join(map(str, value.shape))
        return f"{value.dtype or 'unknown'}[{shape}] with strides ({strides})"
    return "unknown" if isinstance(value, Unknown) else repr(value)[:80]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (" ..." if len(names) > 8 else "") if names else "none"
