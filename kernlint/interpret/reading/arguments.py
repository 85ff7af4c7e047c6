"""The arguments of an entry: what `get_inputs` gives, what annotations tell, what the user assumes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import libcst as cst

from kernlint.errors import UsageError
from kernlint.interpret.host.annotations import argument
from kernlint.interpret.host.objects import construct, fields
from kernlint.interpret.host.sequences import holds_items, open_sequence
from kernlint.interpret.question import Fact
from kernlint.interpret.reading.modules import ModuleReading
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.interpret.values import Class, Function, Scope, Unknown
from kernlint.records import replace
from kernlint.workload import Expr, Size, Symbol, Tensor
from kernlint.workload import dtype as dt


class ArgumentReading(ModuleReading):
    """Makes arguments."""

    def _inputs_scope(self) -> Scope | None:
        for scope in (self.reference_scope, self.scope):
            if scope is not None and isinstance(scope.get("get_inputs"), Function):
                return scope
        return None

    def _call_list(self, scope: Scope, name: str) -> list[Any] | None:
        function = scope.get(name)
        if not isinstance(function, Function):
            return None
        with self.host.making():
            value = self._guard(lambda: self.host.invoke(function, [], {}), None)
        return [self.host.limited(item) for item in value] if isinstance(value, (list, tuple)) else None

    def _inputs(self) -> list[Any] | None:
        scope = self._inputs_scope()
        return self._call_list(scope, "get_inputs") if scope is not None else None

    def _arguments(self, function: Function, values: list[Any] | None, skip: int) -> list[Any]:
        """The arguments of the entry: those of ``get_inputs``, else what annotations and the user tell."""
        host = self.host
        host.size_names, host.choices, host.dtype_choices, host.alike, host.same_shape = {}, {}, {}, [], []
        host.axes, host.annotated, host.parts = {}, set(), {}
        node = function.node
        params = [*node.params.posonly_params, *node.params.params][skip:]
        facts: dict[str, Fact] = {}
        owners = ("", function.symbol, function.name, function.symbol.partition(".")[0])
        for fact in self.question.facts:
            if fact.size is None:
                # What stands before the name is the function, or the argument that it is a field of.
                name = fact.name if fact.function in owners else f"{_without(fact.function, owners)}.{fact.name}"
                before = facts.get(name, fact)
                dtype, shape = fact.dtype or before.dtype, before.shape if fact.shape is None else fact.shape
                facts[name] = replace(fact, dtype=dtype, shape=shape)
        host.as_said = partial(self._as_said, facts)
        result: list[Any] = []
        for i, param in enumerate(params):
            name = param.name.value
            said = facts.get(name)
            self.parameters.append(name)
            if said is not None and (said.is_value or said.items is not None):
                self.used_facts.add(name)
                result.append(self._given(said))
                continue
            if values is not None and i < len(values):
                value = values[i]
                if isinstance(value, Tensor):
                    value = replace(value, name=name, storage=replace(value.storage, origin="input"))
                    if self.question.spread and value.strides is not None:
                        value = replace(value, strides=tuple(stride * 2 for stride in value.strides))
            elif param.default is not None and said is None and (function.symbol, name) not in self.program._needed:
                value = self._guard(partial(self.host.default, param, function), Unknown(name))
            else:
                value = self._from_annotation(param, function)
            if said is not None:
                self.used_facts.add(name)
                value = self._with_fact(name, value, said)
            elif isinstance(value, Tensor) and value.dtype is not None:
                other = self.question.floats if value.dtype.is_float else self.question.integers
                value = replace(value, dtype=value.dtype if value.dtype == dt.BOOL else other or value.dtype)
            result.append(value)
        if values is not None and isinstance(node.params.star_arg, cst.Param):
            result += values[len(params) :]  # what `*args` takes
        return result

    def _as_said(self, facts: Mapping[str, Fact], name: str, known: Any) -> Any:
        """The part ``name`` of an argument as ``facts`` tell it, over what is ``known`` of it."""
        fact = facts.get(name)
        self.parameters.append(name)
        if fact is None:
            return known
        self.used_facts.update((name, fact.name))
        return fact.value if fact.is_value else self._with_fact(name, known, fact)

    def _given(self, fact: Fact) -> Any:
        """The value that ``fact`` alone tells."""
        if fact.is_value:
            return fact.value
        if fact.items is not None:
            return [self._given(item) for item in fact.items]
        known = self._with_fact(fact.name, self.host.unknown_tensor(fact.name), fact)
        return self.host.parts.setdefault(fact.name, known)

    def _with_fact(self, name: str, value: Any, fact: Fact) -> Tensor:
        """The argument ``name`` as the user says, over what is known of it. Raises ``UsageError`` where that contradicts."""
        host = self.host
        known = value if isinstance(value, Tensor) and not fact.opens else host.unknown_tensor(name)
        if fact.dtype is not None:
            known = replace(known, dtype=fact.dtype)
        if fact.shape is None:
            return known
        if known.shape is not None and len(known.shape) != len(fact.shape):
            raise UsageError(
                f"--assume {name}: {len(fact.shape)} dimensions, but the code says that it has {len(known.shape)}"
            )
        shape = tuple(
            extent if extent is not None else known.shape[axis] if known.shape is not None
            else host.symbol_for(known, f"shape[{axis}]")
            for axis, extent in enumerate(fact.shape)
        )  # fmt: skip
        shape = self._counted(name, shape)
        for axis, (extent, before) in enumerate(zip(shape, known.shape or ())):
            if (
                isinstance(extent, int)
                and isinstance(before, Expr)
                and before == Expr.atom(Symbol(f"{name}.shape[{axis}]"))
            ):
                host.learned.setdefault(Symbol(f"{name}.shape[{axis}]"), extent)
        return host.expect(replace(known, shape=shape, strides=fact.strides or contiguous_strides(shape)), fact.held)

    def _counted(self, name: str, shape: tuple[Size, ...]) -> tuple[Size, ...]:
        """``shape`` of the argument ``name``, with the one open extent that its number of elements tells, where the user gives that."""
        elements = next((fact.size for fact in self.question.facts if fact.name == f"{name}.numel"), None)
        known = math.prod(extent for extent in shape if isinstance(extent, int))
        left = [axis for axis, extent in enumerate(shape) if not isinstance(extent, int)]
        if elements is None or len(left) > 1:
            return shape
        if elements % known or not (left or elements == known):
            said = ", ".join("?" if axis in left else str(extent) for axis, extent in enumerate(shape))
            raise UsageError(f"--assume {name}.numel: {name} of the shape [{said}] does not have {elements} elements")
        self.used_facts.add(f"{name}.numel")
        return tuple(elements // known if axis in left else extent for axis, extent in enumerate(shape))

    def _from_annotation(self, param: cst.Param, function: Function) -> Any:
        name = param.name.value
        annotation = param.annotation.annotation if param.annotation is not None else None
        record = (
            self._guard(lambda: self.host.eval(annotation, function.closure), None)
            if isinstance(annotation, cst.Name)
            else None
        )
        if isinstance(record, Class) and fields(record):
            return self._record(name, record)
        integer = (self.host.owner, name) in self.program._integers
        if annotation is None and not integer and holds_items(function.node, function.module, name):  # type: ignore[arg-type]
            return open_sequence(self.host, name)
        return argument(self.host, name, annotation, integer)

    def _record(self, name: str, cls: Class) -> Any:
        """An argument that is an object of the dataclass or named tuple ``cls``: its defaults, and what the annotations tell of fields
        that have none."""
        given = {}
        for field, node in fields(cls).items():
            if node.value is None:
                made = argument(self.host, f"{name}.{field}", node.annotation.annotation, False)
                given[field] = self.host.parts.setdefault(f"{name}.{field}", self.host.as_said(f"{name}.{field}", made))
        if len(given) < len(fields(cls)):
            self.host.assume(f"{name} has the defaults of {cls.name}")
        return self._guard(lambda: construct(self.host, cls, [], given), Unknown(name))

    def check_used(self) -> None:
        """Complain of names the user gave that nothing has, and of facts that contradict the code."""
        if not self.question.strict:
            return
        for name in self.question.overrides:
            if name not in self.host.used_overrides:
                known = sorted(n for n in self.host.constants if n.isupper() or n[0].isupper())
                hint = f" (constants: {', '.join(known[:12])})" if known else ""
                raise UsageError(f"--set {name}: no module-level constant of that name{hint}")
        for fact in self.question.facts:
            if fact.name in self.used_facts or fact.name in self.host.used_sizes:
                continue
            if not {fact.name, f"{fact.function}.{fact.name}"}.isdisjoint(self.host.asked):
                continue
            if fact.name in self.host.fixed_sizes:
                raise UsageError(
                    f"--assume {fact.name}: it is {self.host.fixed_sizes[fact.name]} by the code and the other facts"
                )
            open_ones = sorted(name for name in self.host.asked if not name.startswith("tensor."))[:8]
            known = [*dict.fromkeys(self.parameters), *open_ones]
            hint = f" (there are: {', '.join(known[:16])})" if known else ""
            said = f"{fact.function}.{fact.name}".removeprefix(".")
            raise UsageError(f"--assume {said}: the analysed code has no argument or size of that name{hint}")
        if self.question.facts and self.host.contradictions:
            raise UsageError(f"--assume: {self.host.contradictions[0]}")


def _without(name: str, owners: tuple[str, ...]) -> str:
    """``name`` without the one of ``owners`` that it begins with."""
    found = next((owner for owner in owners if owner and name.startswith(f"{owner}.")), "")
    return name.removeprefix(f"{found}.")
