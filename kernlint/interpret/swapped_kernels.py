"""A workload with other code in its kernels: what the host does stays as it was followed, only the kernels are read again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.triton.reading import read_kernel
from kernlint.interpret.values import Function, Jit, Scope
from kernlint.records import dataclass, replace
from kernlint.syntax.dialect import is_triton_jit
from kernlint.syntax.patched import Patched
from kernlint.syntax.tree import Module
from kernlint.workload import Kernel, Launch, Size, Step, Workload
from kernlint.workload.steps import map_steps


@dataclass(frozen=True)
class KernelCall:
    """What a kernel was read with: ``jit`` on the host values ``arguments``, which are ``inside`` what the kernel sees of
    them, and ``constexprs``, of which ``told`` leaves out those that are only presumed. Where there is a ``target``, its front
    end was asked what it refuses, of a ``bare`` launch without its values."""

    jit: Jit
    arguments: Mapping[str, Any]
    inside: Mapping[str, Any]
    constexprs: Mapping[str, Any]
    told: Mapping[str, Any]
    target: Target | None
    bare: bool

    def of(self, jit: Jit, grid: tuple[Size, ...], checked: bool) -> Kernel:
        """The kernel ``jit`` read with the same, in ``grid``; with what the front end refuses of it where ``checked``."""
        kernel = read_kernel(jit, self.inside, self.constexprs, grid)
        if self.target is None or not checked:
            return kernel
        from kernlint.interpret.frontend.check import check_kernel

        refused = check_kernel(jit, self.arguments, self.told, self.target, self.bare)
        return replace(kernel, faults=(*kernel.faults, *refused))

    def passes_functions(self) -> bool:
        """Whether a function is among the arguments."""
        return any(map(_holds_function, (*self.arguments.values(), *self.constexprs.values())))


#: The calls by the identity of the kernel that each gave, with that kernel, so that it lives as long.
KernelCalls = dict[int, tuple[Kernel, KernelCall]]


def recoded(
    workload: Workload, calls: KernelCalls, module: Module, patched: Patched, checked: bool = True
) -> Workload | None:
    """``workload``, which ``calls`` belong to, with the kernels of ``module`` as they stand in ``patched``; launches have their
    first configuration only. Unless ``checked``, nobody wants to know what the front end refuses of what has changed. None
    where it takes following the host again to know what the program does then."""
    if not all(any(is_triton_jit(one.decorator, module.imports) for one in node.decorators) for node in patched.new):
        return None  # the host may call it
    change = _Change(module, patched, checked)

    def with_new_kernel(step: Step) -> Step:
        return change.launch(step, calls) if isinstance(step, Launch) else step

    try:
        steps = map_steps(workload.steps, with_new_kernel)
    except _NotTold:
        return None
    finally:
        change.forget()
    return replace(workload, steps=steps, first_steps=None)


class _NotTold(Exception):
    """What a launch does is not told by its kernel's code."""


class _Change:
    """The functions of ``module`` with the code that they have in ``patched``."""

    def __init__(self, module: Module, patched: Patched, checked: bool) -> None:
        self.module = module
        self.patched = patched
        self.checked = checked
        self.names = {node.name.value for node in patched.new}
        self._functions: dict[str, list[cst.FunctionDef]] = {}
        for node in module.of(cst.FunctionDef):
            self._functions.setdefault(node.name.value, []).append(node)
        #: By the identity of the scope that each stands for, with that scope.
        self._scopes: dict[int, tuple[Scope, Scope]] = {}

    def launch(self, launch: Launch, calls: KernelCalls) -> Launch:
        """``launch`` with its kernel read again where it is another one now. Raises :class:`_NotTold`."""
        if launch.kernel.file != self.module.path:
            return replace(launch, alternatives=())
        known = calls.get(id(launch.kernel))
        if known is None:
            raise _NotTold
        call = known[1]
        function = call.jit.function
        inside = list(self._reached(function.node))
        # A helper may come by no name, or under another one.
        if function.closure.parent is not None or call.passes_functions() or not self._only_called(inside):
            raise _NotTold
        if not any(node in self.patched.new for node in inside):
            return replace(launch, alternatives=())
        jit = self._jit(call.jit, self._scope(function.closure))
        return replace(launch, kernel=call.of(jit, launch.grid, self.checked), alternatives=())

    def _reached(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """``node`` and every function of the module that it reaches by the names that are used."""
        seen = {node}
        open_ends = [node]
        while open_ends:
            node = open_ends.pop()
            yield node
            for name in self.module.within(node, cst.Name):
                for function in self._functions.get(name.value, ()):
                    if function not in seen:
                        seen.add(function)
                        open_ends.append(function)

    def _only_called(self, functions: Iterable[cst.CSTNode]) -> bool:
        """Whether ``functions`` do nothing with those that have changed but call them."""
        for function in functions:
            named = sum(name.value in self.names for name in self.module.within(function, cst.Name))
            called = sum(_name(call.func) in self.names for call in self.module.within(function, cst.Call))
            if named != called + (_name(getattr(function, "name", None)) in self.names):
                return False
        return True

    def forget(self) -> None:
        """Let go of the scopes and functions, which refer to one another."""
        for _, scope in self._scopes.values():
            scope.vars.clear()
        self.patched.forget()

    def _scope(self, old: Scope) -> Scope:
        """The scope of the module with the new functions in it, for those that look one up there."""
        if id(old) not in self._scopes:
            scope = Scope(None, dict(old.vars))
            self._scopes[id(old)] = old, scope
            for name, value in old.vars.items():
                if isinstance(value, Jit) and value.function.closure is old:
                    scope.vars[name] = self._jit(value, scope)
                elif isinstance(value, Function) and value.closure is old:
                    scope.vars[name] = self._function(value, scope)
        return self._scopes[id(old)][1]

    def _jit(self, jit: Jit, scope: Scope) -> Jit:
        return replace(jit, function=self._function(jit.function, scope))

    def _function(self, function: Function, scope: Scope) -> Function:
        node = self.patched.new.get(function.node) if isinstance(function.node, cst.FunctionDef) else None
        if node is None:
            return replace(function, closure=scope)
        return replace(function, node=node, module=self.patched, closure=scope)


def _name(node: cst.CSTNode | None) -> str:
    return node.value if isinstance(node, cst.Name) else ""


def _holds_function(value: Any) -> bool:
    if isinstance(value, Collection) and not isinstance(value, (str, bytes)):
        return any(map(_holds_function, value))
    return isinstance(value, (Jit, Function))
