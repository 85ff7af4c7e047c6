"""Which programs and calls share memory: the same tensor behind two parameters, buffers written before a launch."""

from __future__ import annotations

import libcst as cst

from kernlint.rules.proofs.dataflow import storages, written_tensors
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.rules.proofs.liveness import touches
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.workload import Launch, Step, Tensor, Workload
from kernlint.workload.expr import Expr, Opaque, ProgramId, concrete
from kernlint.workload.kernel import Kernel
from kernlint.workload.steps import allocates


def partners(launch: Launch, base: str) -> frozenset[str]:
    """The parameters of ``launch`` that point into the storage that ``base`` points into, itself included."""
    tensor = launch.tensor(base)
    if tensor is None:
        return frozenset({base})
    return frozenset({base, *launch.bound_to(tensor.storage.id)})


def written_before(workload: Workload, launch: Launch, tensor: Tensor) -> bool:
    """Whether a step before ``launch`` gives ``tensor`` contents: a torch call or another kernel that writes it, or one on
    a branch that was not followed."""
    if tensor.storage.id in workload.elsewhere:
        return True
    return any(_writes(step, tensor) for step in _before(workload, launch))


def _before(workload: Workload, launch: Launch) -> list[Step]:
    found: list[Step] = []
    for step, loops in workload.walk():
        if step is launch:
            # In a loop, what stands behind it in the body has run before it too.
            return [s for s in workload.all_steps if s is not launch] if loops else found
        found.append(step)
    return found


def _writes(step: Step, tensor: Tensor) -> bool:
    storage = tensor.storage.id
    if storage in storages(written_tensors(step)):
        return not allocates(step)
    return isinstance(step, Launch) and not step.kernel.complete and touches(step, storage)


def program_axes(launch: Launch) -> frozenset[int]:
    """The grid axes along which there is, or may be, more than one program; for an open launch those that it asks for."""
    asked = {a.axis for e in _expressions(launch.kernel) for a in e.atoms() if isinstance(a, ProgramId)}
    found = set()
    for axis, extent in enumerate(launch.grid):
        number = concrete(extent)
        if (number is None and axis in asked) or (number is not None and number > 1):
            found.add(axis)
    return frozenset(found)


def axes_in(*exprs: Expr) -> frozenset[int]:
    return frozenset(a.axis for e in exprs for a in e.atoms() if isinstance(a, ProgramId))


def loaded_in(expr: Expr) -> frozenset[int]:
    """The loads whose values ``expr`` is computed from."""
    return frozenset(a.key for a in expr.atoms() if isinstance(a, Opaque) and a.op == "load")


def unknown_in(expr: Expr) -> bool:
    return any(isinstance(a, Opaque) and a.op == "unknown" for a in expr.atoms())


def _expressions(kernel: Kernel) -> list[Expr]:
    found: list[Expr] = []
    for site in sites(kernel):
        found += [*site.access.expressions, *(side for pair in site.guards for side in pair)]
    return found


def is_hooked(launch: Launch, module: Module) -> bool:
    """Whether hooks of the author's run around ``launch`` and may do what the launch lacks: those of an autotuner, and what ``module``
    gives to ``add_pre_run_hook``, which each launch calls first."""
    if launch.tuning is not None and launch.tuning.hooked:
        return True
    return launch.kernel.name in module.once(_given_hooks)


def _given_hooks(module: Module) -> frozenset[str]:
    """The names on which ``module`` calls ``add_pre_run_hook``."""
    called = (dotted_name(call.func) or "" for call in module.of(cst.Call))
    return frozenset(name.removesuffix(".add_pre_run_hook") for name in called if name.endswith(".add_pre_run_hook"))
