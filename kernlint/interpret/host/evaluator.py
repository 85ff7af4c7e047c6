"""The host side on abstract values: what one call allocates, computes, copies, launches and waits for.

:class:`HostEvaluator` runs module code, constructors and functions the way Python would, down to every torch call and
kernel launch, and records the device work in order. Nothing is imported and nothing is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import libcst as cst

from kernlint.interpret.edits import Literal
from kernlint.interpret.host import checks, releases, sequences
from kernlint.interpret.host.arrays import attribute
from kernlint.interpret.host.branches import follow_branches, follow_past
from kernlint.interpret.host.journal import Entry
from kernlint.interpret.host.launches import best_config, launch, warm_up
from kernlint.interpret.host.library import call_external, external_attribute
from kernlint.interpret.host.loops import follow_comprehension, follow_for, follow_while
from kernlint.interpret.host.memoised import is_memoised, memoises, run_once
from kernlint.interpret.host.modules import import_modules, import_names, module_attribute, put_off_class
from kernlint.interpret.host.objects import (
    call_instance,
    class_attribute,
    construct,
    instance_attribute,
    misfit,
    parent_attribute,
    parent_of,
)
from kernlint.interpret.host.operators import HostOperators
from kernlint.interpret.host.tuners import config_attribute
from kernlint.interpret.host.values import LongList, OpenItems, Parent, ShapeOf, Tuner, computed_from_read
from kernlint.interpret.python.environment import MAX_UNROLL
from kernlint.interpret.torch import indexing, layers
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.copies import CONVERSIONS
from kernlint.interpret.torch.functions import torch_function
from kernlint.interpret.torch.indexing import MAX_VIEWS
from kernlint.interpret.torch.shapes import product
from kernlint.interpret.triton.ranges import Range
from kernlint.interpret.values import (
    Builtin,
    Class,
    Config,
    Function,
    GridLauncher,
    Instance,
    Jit,
    ModuleInView,
    Namespace,
    ReadValue,
    Scope,
    Unknown,
)
from kernlint.records import replace
from kernlint.syntax.names import dotted_name
from kernlint.syntax.testing import expects_errors
from kernlint.syntax.tree import Module
from kernlint.workload import Dtype, Expr, Size, Symbol, Tensor
from kernlint.workload import expr as ex

#: Methods of lists and dictionaries that change nothing.
_READING = frozenset({"get", "items", "keys", "values", "copy", "index"})


#: What torch has for checks beside `assert`, by its last name.
_CHECKS = {"_assert": "torch._assert", "_check": "torch._check", "_check_value": "torch._check_value"}


class HostEvaluator(HostOperators):
    """Evaluates one program: Python as far as it is Python, the rest by the functions of the modules beside this one."""

    @contextmanager
    def _noted(
        self,
        node: cst.CSTNode,
        function: cst.CSTNode | None,
        again: Callable[[], Any],
        given: Callable[[], tuple[Any, ...]],
        scope: Scope | None = None,
    ) -> Iterator[Callable[[Any], Any]]:
        """Note an evaluation of ``node``, whose value is to be handed to what is yielded."""
        journal = self.journal
        assert journal is not None
        entry = Entry(
            node, again, function, tuple(self.modules), tuple(self.calls), not self.sinks, self.depth_once,
            (self.guarded, self.tried), self.next_storage,
            dict(self.numbers.get(function, {})) if function is not None else {}, given, scope,
            journal.following, frozenset(id(one.node) for one in journal.open),
        )  # fmt: skip
        journal.add(entry)

        def ended(value: Any) -> Any:
            entry.result, entry.ended = value, True
            return value

        try:
            yield ended
        finally:
            journal.close(entry)

    def eval_Call(self, node: cst.Call, scope: Scope) -> Any:
        if type(node.func) is cst.Attribute and node.func.attr.value in _CHECKS and node.args:
            function = self.eval(node.func, scope)
            if isinstance(function, Namespace) and function.path in _CHECKS.values():
                checks.holds(self, node.args[0].value, scope)
        if type(node.func) is cst.Name and node.func.value == "super" and scope.get("super") is None:
            return parent_of(self, node, scope)
        if self.journal is None or type(node.func) is not cst.Subscript or not self.calls:
            return super().eval_Call(node, scope)
        then = Scope(scope.parent, dict(scope.vars))
        module = self.module

        def again() -> Any:
            return super(HostEvaluator, self).eval_Call(node, Scope(then.parent, dict(then.vars)))

        def given() -> tuple[Any, ...]:
            return _looked_up(node, module, then, scope)

        with self._noted(node, self.calls[-1].node, again, given, scope) as ended:
            return ended(super().eval_Call(node, scope))

    def eval_Name(self, node: cst.Name, scope: Scope) -> Any:
        value = super().eval_Name(node, scope)
        return self.current(value) if isinstance(value, Tensor) else value

    def eval_ListComp(self, node: cst.ListComp, scope: Scope) -> Any:
        found = follow_comprehension(self, node, scope)
        return super().eval_ListComp(node, scope) if found is None else found

    eval_GeneratorExp = eval_ListComp

    def eval_Integer(self, node: cst.Integer, scope: Scope) -> Any:
        value = super().eval_Integer(node, scope)
        if isinstance(value, Literal) and self.calls:
            self.numbers.setdefault(self.calls[-1].node, {})[value.span] = int(value)
        return value

    def named(self, name: str, value: Any) -> Any:
        if isinstance(value, Tensor) and not value.name:
            return replace(value, name=name)
        if isinstance(value, Expr):
            self.name_size(name, value)
        if name in self.assumed_sizes and isinstance(value, (int, Expr)) and not isinstance(value, bool):
            return self._assume_size(name, value)
        return value

    def _assume_size(self, name: str, value: Size) -> Size:
        wanted = self.assumed_sizes[name]
        if isinstance(value, Expr):
            atoms = [a for a in value.atoms() if isinstance(a, Symbol)]
            if len(atoms) == 1 and value == Expr.atom(atoms[0]):
                self.learned[atoms[0]] = wanted
        elif value != wanted:
            self.fixed_sizes[name] = value
            return value
        self.used_sizes.add(name)
        return wanted

    def parameter(self, param: cst.Param, value: Any) -> Any:
        return self.named(param.name.value, value)

    def missing_name(self, name: str, node: cst.CSTNode) -> Any:
        if name == "__name__":
            return "kernlint"
        return super().missing_name(name, node)

    def _unpack(self, elements: Sequence[cst.BaseElement], value: Any, scope: Scope) -> None:
        told, x = self.shapes_told.get(id(value), (None, None))
        starred = any(type(element) is cst.StarredElement for element in elements)
        if isinstance(told, tuple) and told is value and x is not None and not starred:
            rank, names = len(told), len(elements)
            if rank != names and self._is_given(x):
                text = f"`{x.name or 'the tensor'}` has {rank} dimensions, and its shape is unpacked into {names} names"
                self.refuse("unpacked-shape", elements[0], text)
        if starred and isinstance(value, ShapeOf) and value.what == "shape":
            place = next(i for i, element in enumerate(elements) if type(element) is cst.StarredElement)
            for element, item in zip(elements, self.around_rest(value, place, len(elements) - place - 1)):
                self.assign(element.value, item, scope)
            return
        super()._unpack(elements, value, scope)

    def unpack(self, value: Any, count: int, starred: bool) -> list[Any] | None:
        found = None if starred else sequences.parts(self, value, count)
        if found is not None:
            return found
        if isinstance(value, ShapeOf) and not starred:
            x = self.rank(value.tensor, count)
            found = self.shape(x) if value.what == "shape" else self.strides(x)
            return list(found)
        if isinstance(value, tuple) and len(value) != count and not starred and id(value) in self.shapes_told:
            x = self.shapes_told[id(value)][1]
            if self.sinks:
                self.contradictions.append(f"{self.symbol} takes {x.name} to have {count} dimensions, not {len(value)}")
        return super().unpack(value, count, starred)

    def iterate(self, value: Any) -> list[Any] | None:
        if isinstance(value, Range):
            trip, start, step = value.trip, ex.concrete(value.start), ex.concrete(value.step)
            if isinstance(trip, int) and trip <= MAX_UNROLL and start is not None and step is not None:
                return [start + i * step for i in range(trip)]
            return None
        if (
            isinstance(value, Tensor)
            and value.shape
            and isinstance(value.shape[0], int)
            and value.shape[0] <= MAX_VIEWS
        ):
            return [indexing.index(self, value, i, cst.Name("x")) for i in range(value.shape[0])]
        if isinstance(value, Instance) and "_items" in value.attrs:
            return list(value.attrs["_items"])
        if isinstance(value, LongList) and value.length != len(value):
            return None
        return super().iterate(value)

    def getattr(self, value: Any, name: str, node: cst.CSTNode) -> Any:
        if isinstance(value, Tensor):
            return None if name == "grad" else attribute(self, value, name, node)
        if isinstance(value, Instance):
            return instance_attribute(self, value, name)
        if name == "value" and isinstance(value, (int, float, str)):
            return value  # a member of an Enum, or a constexpr
        if isinstance(value, Class):
            return class_attribute(self, value, name, None)
        if isinstance(value, ModuleInView):
            return module_attribute(self, value, name)
        if isinstance(value, Namespace):
            return external_attribute(self, value, name)
        if isinstance(value, ShapeOf):
            if name == "numel":
                return Builtin(name, lambda a, k, n: self.symbol_for(value.tensor, "numel"))
            return Unknown(name)
        if isinstance(value, tuple) and name in ("values", "indices") and len(value) == 2:
            return value[name == "indices"]  # of a reduction or a sort
        if isinstance(value, tuple) and name == "numel" and all(isinstance(extent, (int, Expr)) for extent in value):
            return Builtin(name, lambda a, k, n: product(value))
        if isinstance(value, (Dtype,)):
            return {"itemsize": value.bytes, "is_floating_point": value.is_float}.get(name, Unknown(name))
        if isinstance(value, Jit) and name in ("fn", "kernel"):
            return value.within if name == "fn" else value
        if isinstance(value, Jit) and name == "best_config" and value.configs:
            return best_config(self, value)
        if isinstance(value, Jit) and name in ("run", "warmup"):
            action = self.launch if name == "run" else partial(warm_up, self)
            return Builtin(name, lambda a, k, n: action(value, k.pop("grid", ()), a, k, n))
        if isinstance(value, Config):
            return config_attribute(self, value, name, node)
        if isinstance(value, Parent):
            return parent_attribute(self, value, name)
        if isinstance(value, releases.Version):
            return value.attribute(name)
        if type(value) is Unknown and name in CONVERSIONS:
            return Builtin(name, lambda a, k, n: torch_function(self, name, [value, *a], k, n))
        if isinstance(value, (list, dict)) and name not in _READING:
            self.changes()
        return super().getattr(value, name, node)

    def subscript(self, value: Any, index: Any, node: cst.CSTNode) -> Any:
        if isinstance(value, Tuner):
            text = f"triton.{value.name}(...) gives a decorator; the kernel is an argument of its result: triton.{value.name}(...)(kernel)"
            self.refuse("tuner-subscript", node, text)
            return GridLauncher(value.kernel, index)
        if isinstance(value, Jit):
            return GridLauncher(value, index)
        if isinstance(value, ReadValue):
            return value  # one of those that tolist() gave
        if isinstance(value, OpenItems):
            return Unknown("some items") if isinstance(index, slice) else value.item
        if isinstance(index, int) and sequences.is_item(self, value):
            return sequences.part(self, value.name, index)
        if isinstance(value, LongList) and index == slice(None, None, -1):
            return LongList([*value], value.length, not value.backwards, value.is_of_rounds)
        if self.detailed and isinstance(value, LongList) and (index != -1 or value.backwards):
            value.may_change()
            return Unknown("a part of a list that a loop filled")
        if isinstance(value, LongList) and value.is_open_at(index):
            return value.of_some_round
        if isinstance(value, Tensor):
            return indexing.index(self, value, index, node)
        if isinstance(value, ShapeOf):
            if isinstance(index, int):
                return self.symbol_for(
                    value.tensor, f"{value.what}[{index}]" if value.what == "shape" else f"stride({index})"
                )
            return self.part_of_shape(value, index)
        if isinstance(value, Instance) and "_items" in value.attrs:
            value = value.attrs["_items"]
        if isinstance(value, Instance) and value.kind == "device properties" and isinstance(index, str):
            return value.attrs.get(index, Unknown(value.kind))  # the driver's are a dictionary
        if isinstance(value, Namespace):
            return Unknown(f"{value.path}[...]")
        return super().subscript(value, index, node)

    def setitem(self, container: Any, index: Any, value: Any, node: cst.CSTNode) -> None:
        if isinstance(container, Tensor):
            indexing.assign(self, container, index, value, node)
            return
        self.changes()
        if self.rounds:
            self.unknown(f"line {self.span(node).line}: what all rounds of a loop set `{self.code(node)}` to")
        self.escape(value, local=isinstance(container, list))
        super().setitem(container, index, value, node)

    def setattr(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(owner, Tensor) and name == "data":
            self.overwritten((owner,))
            self.unknown(f"what memory `{owner.name}` has once its data is set")
        if not isinstance(owner, Instance):
            return
        self.changes()
        if self.sinks:
            self.save(tensors_in([value]))
            if owner.kind != "torch.autograd.function.FunctionCtx":  # which nobody has without the result
                self.escape(value)
                if self.rounds:
                    self.unknown(f"what all rounds of a loop set `{name}` to")
        super().setattr(owner, name, value)

    def assign(self, target: cst.BaseExpression, value: Any, scope: Scope) -> None:
        if type(target) is cst.Name and scope.parent is None:
            name = target.value
            if name in self.overrides:
                self.used_overrides.add(name)
                value = self.overrides[name]
            if isinstance(value, (int, float, bool)):
                self.constants[name] = int(value) if isinstance(value, Literal) else value
            elif type(value) in (tuple, list) and value and all(isinstance(one, int) for one in value):
                self.constants[name] = type(value)(map(int, value))
        if isinstance(value, ReadValue) and isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name):
            # One size among others that are not known: then so is the whole of them.
            whole = self.eval(target.value, scope)
            if isinstance(whole, Unknown):
                scope.assign(target.value.value, computed_from_read("sizes", (whole, value)))
        if type(target) is cst.Attribute and not isinstance(self.eval(target.value, scope), Instance):
            self.escape(value)
        super().assign(target, value, scope)

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if isinstance(function, GridLauncher):
            return self.launch(function.kernel, function.grid, args, kwargs, node)
        if isinstance(function, Function):
            problem = misfit(function, args, kwargs, node)
            if problem:
                self.refuse("misfit-call", node, f"`{function.name}` {problem}")
                return Unknown("call that raises")
            return self.invoke(function, args, kwargs)
        if isinstance(function, Class):
            return construct(self, function, args, kwargs)
        if isinstance(function, Instance):
            return call_instance(self, function, args, kwargs, node)
        if isinstance(function, Namespace):
            return call_external(self, function.path, args, kwargs, node)
        if isinstance(function, Dtype):
            return Unknown("scalar type")
        if isinstance(function, Jit):
            return Unknown("kernel called without a grid")
        # A layer that was not followed, in half precision, is taken for a tensor.
        if isinstance(function, (Unknown, Tensor)):
            tensors = tensors_in([*args, *kwargs.values()])
            if tensors:
                self.escape(tensors)
                self.unknown(f"call of {self.code(node.func)}")
            return Unknown("call")
        return super().call(function, args, kwargs, node)

    def run(self, body: Sequence[cst.CSTNode], scope: Scope) -> None:
        node = self.calls[-1].node if self.calls else None
        once = run_once(node, self.module) if isinstance(node, cst.FunctionDef) else frozenset[cst.CSTNode]()
        if not once:
            super().run(body, scope)
            return
        for statement in body:
            with self.once() if statement in once else nullcontext():
                self.execute(statement, scope)

    def invoke(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        node = function.node
        if function.name == "forward" and args and isinstance(args[0], Instance):
            for hook in args[0].attrs.get(layers.PRE_HOOKS, ()):
                given = self.call(hook, [args[0], tuple(args[1:])], {}, node)  # type: ignore[arg-type]
                args = [args[0], *given] if isinstance(given, tuple) else args
        kept = function.memoised or (
            isinstance(node, cst.FunctionDef) and bool(node.decorators) and is_memoised(node, function.module.imports)
        )
        if kept:
            with self.once():
                return self._invoked(function, args, kwargs)
        return self._invoked(function, args, kwargs)

    def _invoked(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.journal is None or not isinstance(function.node, cst.FunctionDef):
            return super().invoke(function, args, kwargs)
        then = [*args], dict(kwargs)

        def again() -> Any:
            return super(HostEvaluator, self).invoke(function, [*then[0]], dict(then[1]))

        def given() -> tuple[Any, ...]:
            return id(function.closure), *then[0], then[1]

        with self._noted(function.node, function.node, again, given) as ended:
            return ended(super().invoke(function, args, kwargs))

    def exec_Global(self, node: cst.Global | cst.Nonlocal, scope: Scope) -> None:
        self.changes()
        if self.rounds:
            self.unknown("what all rounds of a loop set outside of their function")
        super().exec_Global(node, scope)

    def exec_With(self, node: cst.With, scope: Scope) -> None:
        """What a CUDA graph captures once it does again whenever it is replayed."""
        saved, target = self.depth_once, self.target
        if any(self._captures(item.item, scope) for item in node.items):
            self.depth_once = 0
        if any(expects_errors(item.item) for item in node.items):
            self.target = None  # what is refused there is meant to be
        try:
            super().exec_With(node, scope)
        finally:
            self.depth_once, self.target = saved, target

    def _captures(self, manager: cst.BaseExpression, scope: Scope) -> bool:
        if not isinstance(manager, cst.Call) or dotted_name(manager.func) is None:
            return False
        function = self.eval(manager.func, scope)
        return isinstance(function, Namespace) and function.path == "torch.cuda.graph"

    def exec_Assert(self, node: cst.Assert, scope: Scope) -> None:
        """A check the program makes is a fact about its arguments; nothing else depends on what comes of it."""
        choices = self.open_choices
        if self.truth(self.eval(node.test, scope)) is False:
            self.contradict(node, f"`assert {self.code(node.test)}` fails")
        checks.holds(self, node.test, scope)
        self.open_choices = choices

    def tested(self, value: Any, node: cst.BaseExpression) -> None:
        if isinstance(value, Tensor) and not self.perhaps_number(value):
            self.sync("the value of a tensor in a condition", node, value)

    def decorate(self, value: Any, decorator: Any, node: cst.CSTNode) -> Any:
        if isinstance(decorator, Builtin):
            result = decorator.call([value], {}, node)
            return result if isinstance(result, (Jit, Function)) else value
        if isinstance(decorator, Function) and isinstance(value, Function):
            keeps = isinstance(decorator.node, cst.FunctionDef) and memoises(decorator.node)
            return replace(value, memoised=True) if keeps else value
        if isinstance(decorator, Namespace) and isinstance(value, (Function, Jit)):
            name = decorator.path.rsplit(".", 1)[-1]
            if name == "jit" and decorator.path.startswith("triton"):
                defined = isinstance(value, Function) and isinstance(value.node, cst.FunctionDef)
                return Jit(value) if defined else value  # type: ignore[arg-type]
        return value

    exec_Nonlocal = exec_Global

    def exec_Import(self, node: cst.Import, scope: Scope) -> None:
        import_modules(self, node, scope)

    def exec_ImportFrom(self, node: cst.ImportFrom, scope: Scope) -> None:
        import_names(self, node, scope)

    def run_class(self, node: cst.ClassDef, scope: Scope) -> None:
        """Of a class elsewhere, what calls make can wait, as its module can: some have hundreds of settings."""
        if self.put_off is None:
            super().run_class(node, scope)
        else:
            put_off_class(self, self.put_off, node, scope)

    undecided = follow_branches
    passed_by = follow_past

    def loop(self, node: cst.For, iterable: Any, scope: Scope) -> bool:
        return follow_for(self, node, iterable, scope)

    def loop_while(self, node: cst.While, scope: Scope) -> bool:
        return follow_while(self, node, scope)

    def launch(self, kernel: Jit, grid: Any, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        """``kernel[grid](*args, **kwargs)``."""
        return launch(self, kernel, grid, args, kwargs, node)


def _looked_up(node: cst.Call, module: Module, then: Scope, scope: Scope) -> tuple[Any, ...]:
    """The values that ``node`` finds in ``scope``, as they were ``then``, by name; with those that the functions among them
    find there."""
    found: dict[str, Any] = {}
    left: list[cst.CSTNode] = [node]
    while left:
        for name in module.within(left.pop(), cst.Name):
            if name.value in then.vars and name.value not in found:
                value = found[name.value] = then.vars[name.value]
                if isinstance(value, Function) and value.closure is scope:
                    left.append(value.node)
    return id(then.parent), found
