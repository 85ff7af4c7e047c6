"""Kernels that no followed call launches, each launched on arguments of which nothing is known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from kernlint.interpret.host.launches import bare_launch
from kernlint.interpret.reading.models import ModelReading
from kernlint.interpret.values import Jit
from kernlint.workload import Kernel, Span, Workload


class KernelReading(ModelReading):
    """Launches kernels that nobody launches."""

    def bare_kernels(self, launched: set[Span]) -> list[Workload]:
        """A workload for each kernel of the module whose name is not at one of the places ``launched``, helpers of other
        kernels left out."""
        module = self.kernel_module
        bodies = [jit.function for jit in self._kernels()]
        called = {
            name.value
            for function in bodies
            for name in module.within(function.node, cst.Name)
            if name.value != function.name
        }
        # Only kernels can call one without a grid; those that are no module-level names, methods say, are among the callers.
        called |= {call.func.value for call in module.of(cst.Call) if isinstance(call.func, cst.Name)}
        free = [
            jit for jit in self._kernels()
            if jit.function.name not in called and module.span(_definition(jit).name) not in launched
        ]  # fmt: skip
        return list(self._open_launches(free))

    def bare_kernel(self, name: str) -> Workload | None:
        """That of the one kernel called ``name``."""
        named = [jit for jit in self._kernels() if jit.function.name == name]
        return next(self._open_launches(named[-1:]), None)

    def open_kernel(self, name_span: Span) -> Kernel | None:
        """The module-level kernel whose name stands at ``name_span``, on arguments of which nothing is known."""
        module = self.kernel_module
        named = [jit for jit in self._kernels() if module.span(_definition(jit).name) == name_span]
        return next((workload.launches()[0].kernel for workload in self._open_launches(named[-1:])), None)

    def _kernels(self) -> list[Jit]:
        """The module-level kernels, each once, in the order of their names' binding."""
        found = {
            id(v): v for v in self.scope.vars.values()
            if isinstance(v, Jit) and v.function.module is self.kernel_module and isinstance(v.function.node, cst.FunctionDef)
        }  # fmt: skip
        return list(found.values())

    def _open_launches(self, kernels: list[Jit]) -> Iterator[Workload]:
        for jit in kernels:
            launch = self._guard(partial(bare_launch, self.host, jit), None)
            if launch is not None:
                yield Workload(launch.kernel.name, self.kernel_module.path, (launch,), bare=True)


def _definition(jit: Jit) -> cst.FunctionDef:
    assert isinstance(jit.function.node, cst.FunctionDef)
    return jit.function.node
