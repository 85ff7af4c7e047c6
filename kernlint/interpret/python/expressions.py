"""Expressions on abstract values, and what is assigned to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from kernlint.interpret.edits import Literal
from kernlint.interpret.python.control import OutOfBudget
from kernlint.interpret.python.environment import Environment
from kernlint.interpret.python.methods import extend
from kernlint.interpret.python.operators import BINARY, COMPARE, bounded, distinct
from kernlint.interpret.values import (
    YIELDED,
    Deferred,
    Function,
    Presumed,
    Rest,
    Scope,
    Unknown,
    is_concrete,
)
from kernlint.syntax.positions import python_value
from kernlint.syntax.walk import parameters
from kernlint.workload import Dtype


class Expressions(Environment):
    """Evaluates LibCST expressions of one program on abstract values."""

    def eval(self, node: cst.BaseExpression, scope: Scope) -> Any:
        self.budget -= 1  # as `spend` does, which is dear here
        if self.budget < 0:
            raise OutOfBudget
        method = self._eval[type(node)]
        value = method(self, node, scope) if method is not None else Unknown(type(node).__name__)
        if self.seen is not None:
            self.seen[node] = value
        return value

    def eval_Name(self, node: cst.Name, scope: Scope) -> Any:
        if node.value in _SINGLETONS:
            return _SINGLETONS[node.value]
        try:
            return scope.lookup(node.value)
        except KeyError:
            return self.missing_name(node.value, node)

    def eval_Integer(self, node: cst.Integer, scope: Scope) -> Any:
        value = _literal(node.value)
        if not isinstance(value, int) or value < 8:
            return value  # no tile, warp or stage count that anybody would edit through its literal
        span = self.span(node)
        return Literal(self.new_literals.get(span, value), span)

    def eval_Float(self, node: cst.Float, scope: Scope) -> Any:
        return _literal(node.value)

    def eval_SimpleString(self, node: cst.SimpleString, scope: Scope) -> Any:
        return _literal(node.value)

    def eval_ConcatenatedString(self, node: cst.ConcatenatedString, scope: Scope) -> Any:
        left, right = self.eval(node.left, scope), self.eval(node.right, scope)
        return bounded(left + right) if isinstance(left, str) and isinstance(right, str) else Unknown("string")

    def eval_FormattedString(self, node: cst.FormattedString, scope: Scope) -> Any:
        """One of texts and plain names of them; what others compute for it is not followed."""
        parts: list[str] = []
        for part in node.parts:
            value: Any = None
            if isinstance(part, cst.FormattedStringText) and not set(part.value) & set("\\{}"):
                value = part.value
            elif isinstance(part, cst.FormattedStringExpression) and isinstance(part.expression, cst.Name):
                plain = part.format_spec is None and part.conversion is None
                value = self.eval(part.expression, scope) if plain else None
            if not isinstance(value, str):
                return Unknown("formatted string")
            parts.append(value)
        return "".join(parts)

    def eval_Ellipsis(self, node: cst.Ellipsis, scope: Scope) -> Any:
        return ...

    def eval_Tuple(self, node: cst.Tuple, scope: Scope) -> Any:
        return self.limited(tuple(self._elements(node.elements, scope)))

    def eval_List(self, node: cst.List, scope: Scope) -> Any:
        return self.limited(self._elements(node.elements, scope))

    def eval_Set(self, node: cst.Set, scope: Scope) -> Any:
        return self.limited(distinct(self._elements(node.elements, scope)))

    def _elements(self, elements: Sequence[cst.BaseElement], scope: Scope) -> list[Any]:
        values: list[Any] = []
        for element in elements:
            value = self.eval(element.value, scope)
            if type(element) is cst.StarredElement:
                items = self.iterate(value)
                values.extend(items if items is not None else [Rest(of=value)])
            else:
                values.append(value)
        return values

    def eval_Dict(self, node: cst.Dict, scope: Scope) -> Any:
        result: dict[Any, Any] = {}
        for element in node.elements:
            if isinstance(element, cst.DictElement):
                key = self.eval(element.key, scope)
                value = self.eval(element.value, scope)
                if isinstance(key, Dtype) or (isinstance(key, (str, int, float, bool, tuple)) and is_concrete(key)):
                    result[key] = value
            else:
                value = self.eval(element.value, scope)
                if isinstance(value, dict):
                    result.update(value)
        return self.limited(result)

    def eval_BinaryOperation(self, node: cst.BinaryOperation, scope: Scope) -> Any:
        # A chain such as a + b + c + ... nests to the left; walk it in a loop so that its length costs no stack.
        chain = [node]
        first = node.left
        while type(first) is cst.BinaryOperation:
            chain.append(first)
            first = first.left
        value = self.eval(first, scope)
        for link in reversed(chain):
            name, function = BINARY[type(link.operator)]
            value = self.limited(self.binary(name, function, value, self.eval(link.right, scope), link))
            if self.seen is not None:
                self.seen[link] = value
        return value

    def eval_UnaryOperation(self, node: cst.UnaryOperation, scope: Scope) -> Any:
        value = self.eval(node.expression, scope)
        if isinstance(node.operator, cst.Not):
            if isinstance(value, Presumed):
                return Presumed(not value)
            truth = self.truth(value)
            return (not truth) if truth is not None else self.unary("not", value, node)
        if isinstance(node.operator, cst.Plus):
            return value
        return self.unary("-" if isinstance(node.operator, cst.Minus) else "~", value, node)

    def eval_BooleanOperation(self, node: cst.BooleanOperation, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        truth = self.truth(left)
        is_and = isinstance(node.operator, cst.And)
        if truth is not None:
            return self.eval(node.right, scope) if truth == is_and else left
        self.open_choices += 1
        right = self.eval(node.right, scope)
        return self.boolean("and" if is_and else "or", left, right, node)

    def eval_Comparison(self, node: cst.Comparison, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        result: Any = True
        for target in node.comparisons:
            right = self.eval(target.comparator, scope)
            name, function = COMPARE[type(target.operator)]
            outcome = self.compare(name, function, left, right, node)
            result = outcome if result is True else self.boolean("and", result, outcome, node)
            if self.truth(outcome) is False:
                return False
            left = right
        return result

    def eval_IfExp(self, node: cst.IfExp, scope: Scope) -> Any:
        test = self.eval(node.test, scope)
        self.tested(test, node.test)
        truth = self.truth(test)
        if truth is None:
            self.open_choices += 1
            body, orelse = self.eval(node.body, scope), self.eval(node.orelse, scope)
            return self.merge(body, orelse, test, node)
        return self.eval(node.body if truth else node.orelse, scope)

    def eval_Yield(self, node: cst.Yield, scope: Scope) -> Any:
        """A generator is followed to its end when it is called: what it yields is the list of that."""
        yielded, value = scope.get(YIELDED), node.value
        if isinstance(value, cst.From):
            items = self.iterate(self.eval(value.item, scope)) or [Rest()]
        else:
            items = [self.eval(value, scope) if value is not None else None]
        if isinstance(yielded, list):
            extend(yielded, items)
        return None

    def eval_Lambda(self, node: cst.Lambda, scope: Scope) -> Any:
        self.captured.append(scope)
        return Function("<lambda>", node, self.module, scope, names=self.names_of_defaults(node, scope))

    def names_of_defaults(self, node: cst.FunctionDef | cst.Lambda, scope: Scope) -> dict[str, Any]:
        """What names in the defaults of the function ``node`` stand for where it is defined, before others are bound to them."""
        defaults = [one.default for one in parameters(node) if one.default and type(one.default) is not cst.Integer]
        names = {name.value for default in defaults for name in self.module.within(default, cst.Name)}
        return {name: scope.vars[name] for name in names & scope.vars.keys() if type(scope.vars[name]) is not Deferred}

    def eval_NamedExpr(self, node: cst.NamedExpr, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        self.assign(node.target, value, scope)
        return value

    def eval_Attribute(self, node: cst.Attribute, scope: Scope) -> Any:
        return self.getattr(self.eval(node.value, scope), node.attr.value, node)

    def eval_Subscript(self, node: cst.Subscript, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        return self.subscript(value, self.eval_index(node, scope), node)

    def eval_index(self, node: cst.Subscript, scope: Scope) -> Any:
        indices = []
        for element in node.slice:
            if type(element.slice) is cst.Index:
                value = self.eval(element.slice.value, scope)
                if element.slice.star:
                    indices.extend(self.iterate(value) or [Unknown("starred index")])
                else:
                    indices.append(value)
            else:
                assert isinstance(element.slice, cst.Slice)
                parts = (element.slice.lower, element.slice.upper, element.slice.step)
                indices.append(slice(*(self.eval(part, scope) if part is not None else None for part in parts)))
        single = len(indices) == 1 and type(node.slice[-1].comma) is not cst.Comma
        return indices[0] if single else tuple(indices)

    def eval_Call(self, node: cst.Call, scope: Scope) -> Any:
        function = self.eval(node.func, scope)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for arg in node.args:
            value = self.limited(self.eval(arg.value, scope))
            if arg.star == "*":
                items = self.iterate(value)
                args.extend(items if items is not None else [Rest(of=value)])
            elif arg.star == "**":
                if isinstance(value, dict):
                    kwargs.update({str(k): v for k, v in value.items()})
            elif arg.keyword is not None:
                kwargs[arg.keyword.value] = value
            else:
                args.append(value)
        return self.call(function, args, kwargs, node)

    def eval_ListComp(self, node: cst.ListComp, scope: Scope) -> Any:
        return self._listed(node, scope)

    def _listed(self, node: cst.ListComp | cst.SetComp, scope: Scope) -> Any:
        result: list[Any] = []
        done = self._comprehend(node.for_in, Scope(scope), lambda inner: result.append(self.eval(node.elt, inner)))
        return self.limited(result) if done else Unknown("comprehension")

    eval_GeneratorExp = eval_ListComp

    def eval_SetComp(self, node: cst.SetComp, scope: Scope) -> Any:
        found = self._listed(node, scope)
        return self.limited(distinct(found)) if isinstance(found, list) else found

    def eval_DictComp(self, node: cst.DictComp, scope: Scope) -> Any:
        result: dict[Any, Any] = {}

        def add(inner: Scope) -> None:
            key = self.eval(node.key, inner)
            if is_concrete(key) and not isinstance(key, list):
                result[key] = self.eval(node.value, inner)

        done = self._comprehend(node.for_in, Scope(scope), add)
        return self.limited(result) if done else Unknown("comprehension")

    def _comprehend(self, clause: cst.CompFor, scope: Scope, emit: Callable[[Scope], None]) -> bool:
        items = self.iterate(self.eval(clause.iter, scope))
        if items is None:
            return False
        for item in items:
            self.spend()
            self.assign(clause.target, item, scope)
            if any(self.truth(self.eval(test.test, scope)) is False for test in clause.ifs):
                continue
            if clause.inner_for_in is None:
                emit(scope)
            elif not self._comprehend(clause.inner_for_in, scope, emit):
                return False
        return True

    def assign(self, target: cst.BaseExpression, value: Any, scope: Scope) -> None:
        if type(target) is cst.Name:
            value = self.named(target.value, value)
            scope.assign(target.value, value)
            if self.seen is not None:
                self.seen[target] = value
        elif type(target) is cst.Attribute:
            owner = self.eval(target.value, scope)
            self.setattr(owner, target.attr.value, self.named(target.attr.value, value))
        elif type(target) is cst.Subscript:
            self.setitem(self.eval(target.value, scope), self.eval_index(target, scope), value, target)
        elif isinstance(target, (cst.Tuple, cst.List)):
            self._unpack(target.elements, value, scope)

    def _unpack(self, elements: Sequence[cst.BaseElement], value: Any, scope: Scope) -> None:
        items = self.unpack(value, len(elements), any(type(e) is cst.StarredElement for e in elements))
        if items is None:
            items = [Unknown("unpacked")] * len(elements)
        star = next((i for i, e in enumerate(elements) if type(e) is cst.StarredElement), None)
        items = self._without_rest(items, len(elements)) if star is None else items
        if star is not None:
            tail = len(elements) - star - 1
            items = [*items[:star], items[star : len(items) - tail], *items[len(items) - tail :]]
        for element, item in zip(elements, items):
            self.assign(element.value, item, scope)

    def _without_rest(self, items: list[Any], count: int) -> list[Any]:
        """``items`` that are unpacked into ``count`` names: what stands for several of them (``*x.shape, x.device``) is as long as
        that takes."""
        rests = [place for place, item in enumerate(items) if isinstance(item, Rest)]
        missing = count - len(items) + 1
        if not rests or len(rests) > 1 or missing < 0:
            return [Unknown("unpacked")] * count if rests else items
        place = rests[0]
        found = self.unpack(items[place].of, missing, False)
        if found is None or len(found) != missing:
            found = [Unknown("unpacked")] * missing
        return [*items[:place], *found, *items[place + 1 :]]


def _literal(text: str) -> Any:
    try:
        return bounded(python_value(text))
    except (ValueError, SyntaxError, MemoryError):
        return Unknown("string")


_SINGLETONS = {"None": None, "True": True, "False": False}
