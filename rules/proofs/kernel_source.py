"""Questions about a kernel's own text: its definition, what it reads."""

from __future__ import annotations

import libcst as cst

from kernlint.rules.finding import Context
from kernlint.workload import Kernel, Launch


def definition(context: Context, kernel: Kernel) -> cst.FunctionDef | None:
    """The ``def`` of ``kernel``; None where it stands in another file."""
    module = context.program.kernel
    if kernel.file != module.path:
        return None
    for node in module.of(cst.FunctionDef):
        if node.name.value == kernel.name and module.span(node.name) == kernel.name_span:
            return node
    return None


def kernels_once(context: Context) -> list[Launch]:
    """The first launch of each kernel of the workload."""
    first: dict[object, Launch] = {}
    for launch in context.launches():
        first.setdefault(launch.kernel.name_span, launch)
    return list(first.values())
