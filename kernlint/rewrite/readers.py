"""Who reads a number that stands in the source: where a tile is changed, nothing but launches may.

What the followed call does with it is proven from values. This is about the rest of the module: functions that the call does not
come to, other branches, texts, attributes that others read. From the literal on every expression that it gets into is followed, through
names, parameters, attributes and results, until it ends in a launch that was followed, or in anything else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import libcst as cst

from kernlint.rewrite import other_files
from kernlint.rewrite.reflection import reads_its_code, reflects
from kernlint.rewrite.source import Source
from kernlint.syntax.dialect import is_triton_jit
from kernlint.syntax.names import bound_by, dotted_name, origin_of, variables
from kernlint.syntax.positions import python_value
from kernlint.syntax.scopes import local_names
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk
from kernlint.workload import Span

#: What hands on a number, or what is computed from it: the result is followed.
_PASSED_ON = (
    cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.Comparison, cst.ComparisonTarget, cst.IfExp,
    cst.Tuple, cst.List, cst.Element, cst.Lambda, cst.Attribute,
)  # fmt: skip
_ARITHMETIC = frozenset({"min", "max", "int", "triton.cdiv", "triton.next_power_of_2", "tl.cdiv"})
#: Classes that do nothing with the attributes that a class body names.
_PLAIN_BASES = frozenset({"object", "torch.nn.Module", "torch.autograd.Function"})
#: Decorators that look at none of it, or whose results are followed by name.
_PLAIN_DECORATORS = tuple("staticmethod classmethod property functools. torch. triton. typing. contextlib.".split())
_CALLED_BY_OTHERS = frozenset({"forward", "backward", "__call__"})
_TEXTS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
_SCOPES = (cst.FunctionDef, cst.Lambda)


def read_elsewhere(source: Source, number: cst.Integer, launches: Collection[Span]) -> str:
    """Where ``number`` is read for something else than ``launches``, those that were followed; empty where nowhere."""
    return _Readers(source, launches).of(number)


def read_by_others(source: Source, name: str) -> str:
    """Who may read the variable ``name`` of the module beside those that say so in it; empty where nobody."""
    if source.module.once(reflects):
        return "what takes names from texts may read"
    other = other_files.reader(source.module, name)
    return "" if other is None else f"{other.name} reads"


def watched(source: Source, kernel: str) -> str:
    """The file of the project that may put something else in the place of ``kernel``, and see what that is launched with."""
    other = other_files.reader(source.module, kernel, rebound=True)
    return "" if other is None else f"{other.name} puts another function in the place of `{kernel}`"


class _Readers:
    def __init__(self, source: Source, launches: Collection[Span]) -> None:
        self.source, self.launches = source, launches
        self.seen: set[cst.CSTNode] = set()

    def of(self, number: cst.CSTNode) -> str:
        waiting: list[cst.CSTNode] = [number]
        try:
            if self.source.module.once(reads_its_code):
                raise _ReadElsewhere(number)
            while waiting:
                node = waiting.pop()
                if node not in self.seen:
                    self.seen.add(node)
                    waiting += self._followed(node)
        except _ReadElsewhere as found:
            line = self.source.line_number(self.source.start(found.node))
            return f"{found.file or f'line {line}'} reads it"
        return ""

    def _followed(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Where the value of the expression ``node`` goes next. Raises :class:`_ReadElsewhere`."""
        parent = self.source.parent(node)
        if self._asserted_to_divide(node, parent):
            return  # asked at other sizes
        if isinstance(parent, cst.Arg):
            yield from self._argument(node, parent)
        elif isinstance(parent, cst.Call) and parent.func is node:
            yield parent
        elif isinstance(parent, (cst.Index, cst.SubscriptElement)):
            self._only_as_grid(node)
        elif isinstance(parent, cst.Subscript) and parent.value is node:
            yield parent
        elif isinstance(parent, cst.DictElement) and parent.value is node:
            yield from self._entry(parent.key, self.source.parent(parent))
        elif isinstance(parent, cst.Param):
            self._default(parent)
            yield from self._parameter(parent)
        elif isinstance(parent, (cst.Assign, cst.AnnAssign, cst.NamedExpr)) and parent.value is node:
            yield from self._assigned(node, parent)
        elif isinstance(parent, cst.Return):
            yield from self._returned(parent)
        elif isinstance(parent, _PASSED_ON):
            yield parent
        else:
            raise _ReadElsewhere(node)

    def _argument(self, node: cst.CSTNode, arg: cst.Arg) -> Iterator[cst.CSTNode]:
        call = self.source.parent(arg)
        if not isinstance(call, cst.Call):
            raise _ReadElsewhere(node)
        if self._is_launch(call):
            return
        name = origin_of(call.func, self.source.imports) or ""
        if name in _ARITHMETIC or name.endswith(".cdiv"):
            yield call
        elif name == "triton.autotune":
            return  # each of its configurations is asked about
        elif name == "triton.Config" or self._is_arithmetic(call):
            yield call
        elif name == "dict" and arg.keyword is not None:
            yield from self._entry(cst.SimpleString(repr(arg.keyword.value)), call)
        else:
            yield from self._parameter(self._bound(call, arg) or _unknown(node))

    def _is_arithmetic(self, call: cst.Call) -> bool:
        """Whether a function of the module is called that only returns a value made of its parameters."""
        functions = self.source.functions(call.func.value) if isinstance(call.func, cst.Name) else []
        body = functions[0].body.body if len(functions) == 1 else ()
        line = body[0] if len(body) == 1 else None
        result = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        return isinstance(result, cst.Return) and {n.value for n in variables(result)} <= local_names(functions[0])

    def _is_launch(self, call: cst.Call) -> bool:
        return isinstance(call.func, cst.Subscript) and self.source.module.span(call) in self.launches

    def _asserted_to_divide(self, node: cst.CSTNode, parent: cst.CSTNode | None) -> bool:
        """Whether ``node`` is what a launcher asserts to divide something, and nothing else becomes of the remainder."""
        if not isinstance(parent, cst.BinaryOperation) or not isinstance(parent.operator, cst.Modulo):
            return False
        if parent.right is not node or isinstance(parent.left, _TEXTS) or not self._in_launcher(node):
            return False
        test = self.source.parent(parent)
        if isinstance(test, cst.ComparisonTarget):
            test = self.source.parent(test)
        if isinstance(test, cst.Comparison):
            against = [test.left, *(one.comparator for one in test.comparisons)]
            equal = all(isinstance(one.operator, cst.Equal) for one in test.comparisons)
            zero = [isinstance(one, cst.Integer) and one.evaluated_value == 0 for one in against]
            if len(against) != 2 or not equal or not any(zero):
                return False
        elif not (isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)):
            return False
        above = self.source.parent(test)
        while isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.And):
            test, above = above, self.source.parent(above)
        return isinstance(above, cst.Assert) and above.test is test

    def _in_launcher(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` stands in a function with a launch that was followed, outside its branches."""
        function = self.source.function(node)
        if function is None or self.source.around(node, (cst.If, cst.While, cst.For, cst.Try)) is not None:
            return False
        return any(isinstance(one, cst.Call) and self._is_launch(one) for one in walk(function))

    def _only_as_grid(self, node: cst.CSTNode) -> None:
        """``node`` stands between brackets: of a launch, or raises :class:`_ReadElsewhere`."""
        subscript = self.source.around(node, cst.Subscript)
        call = None if subscript is None else self.source.parent(subscript)
        if not (isinstance(call, cst.Call) and call.func is subscript and self._is_launch(call)):
            raise _ReadElsewhere(node)

    def _entry(self, key: cst.BaseExpression, where: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
        """The value under ``key`` of the dictionary ``where``: in a launch, of a configuration, or behind a name."""
        if not isinstance(key, cst.SimpleString) or not isinstance(where, cst.BaseExpression):
            raise _ReadElsewhere(key if where is None else where)
        parent = self.source.parent(where)
        if isinstance(parent, cst.Arg) and (parent.star == "**" or self._makes_config(parent)):
            yield from self._argument(where, parent)
            return
        if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
            raise _ReadElsewhere(where)
        for read in self._reads(parent.targets[0].target, parent):
            above = self.source.parent(read)
            if isinstance(above, cst.Arg) and above.star == "**":
                call = self.source.parent(above)
                if not (isinstance(call, cst.Call) and self._is_launch(call)):
                    raise _ReadElsewhere(read)
            elif isinstance(above, cst.Subscript) and above.value is read:
                other = _text_index(above)
                if other is None:
                    raise _ReadElsewhere(read)
                if other == python_value(key.value):
                    yield above
            else:
                raise _ReadElsewhere(read)

    def _makes_config(self, arg: cst.Arg) -> bool:
        call = self.source.parent(arg)
        return isinstance(call, cst.Call) and origin_of(call.func, self.source.imports) == "triton.Config"

    def _bound(self, call: cst.Call, arg: cst.Arg) -> cst.Param | None:
        """The parameter of the one function of the module that ``call`` binds ``arg`` to."""
        name = (dotted_name(call.func) or "").rpartition(".")
        functions = self.source.functions(name[2]) if name[0] in ("", "self") else []
        if len(functions) != 1 or arg.star:
            return None
        parameters = functions[0].params
        listed = [*parameters.posonly_params, *parameters.params]
        if arg.keyword is not None:
            listed += parameters.kwonly_params
            return next((one for one in listed if one.name.value == arg.keyword.value), None)
        place = call.args.index(arg) + (name[0] == "self")
        before = call.args[: call.args.index(arg)]
        plain = place < len(listed) and not any(one.star or one.keyword for one in before)
        return listed[place] if plain else None

    def _parameter(self, parameter: cst.Param) -> Iterator[cst.CSTNode]:
        function = self.source.around(parameter, _SCOPES)
        if isinstance(function, cst.FunctionDef) and self._read_as_kernel(function):
            return
        if function is None:
            raise _ReadElsewhere(parameter)
        if isinstance(function, cst.FunctionDef):
            self._only_python_wraps(function)
        yield from self._variables(parameter.name, function)

    def _default(self, parameter: cst.Param) -> None:
        """A kernel's default is read by launches in other files too, whose grids may count on it."""
        function = self.source.around(parameter, _SCOPES)
        if isinstance(function, cst.FunctionDef) and self._read_as_kernel(function):
            self._no_file_reads(function.name)

    def _read_as_kernel(self, function: cst.FunctionDef) -> bool:
        """Whether ``function`` is a kernel, or a helper of kernels, of which no launch was left out."""
        if not any(is_triton_jit(one.decorator, self.source.imports) for one in function.decorators):
            return False
        name = function.name.value
        subscripts = ((one, one.func) for one in self.source.module.of(cst.Call))
        made = (
            one for one, called in subscripts if isinstance(called, cst.Subscript) and dotted_name(called.value) == name
        )
        return all(map(self._is_launch, made))

    def _assigned(
        self, node: cst.CSTNode, statement: cst.Assign | cst.AnnAssign | cst.NamedExpr
    ) -> Iterator[cst.CSTNode]:
        if isinstance(statement, cst.NamedExpr):
            yield statement
        targets = [one.target for one in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, cst.Tuple) and isinstance(node, cst.Tuple):
                at = [element.value in self.seen for element in node.elements]
                if len(target.elements) != len(node.elements):
                    raise _ReadElsewhere(node)
                for element, touched in zip(target.elements, at):
                    if touched:
                        yield from self._reads(element.value, statement)
            else:
                yield from self._reads(target, statement)

    def _reads(self, target: cst.CSTNode, statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The places that read what ``statement`` binds to ``target``."""
        module = self.source.module
        if isinstance(target, cst.Attribute):
            self._nothing_reflects(target)
            self._no_file_reads(target.attr)
            self._no_pattern_reads(target.attr)
            reads = [*_attributes(module, target.attr.value, target)]
            if not reads:
                raise _ReadElsewhere(target)  # kept for those who hold the object
            yield from reads
            return
        if not isinstance(target, cst.Name):
            raise _ReadElsewhere(target)
        scope = self.source.around(statement, (*_SCOPES, cst.ClassDef))
        if not isinstance(scope, _SCOPES):
            self._no_file_reads(target)
        if isinstance(scope, cst.ClassDef):
            bases = {origin_of(base.value, self.source.imports) for base in scope.bases}
            own = {one.name.value for one in module.of(cst.ClassDef)}
            if scope.decorators or not bases <= _PLAIN_BASES | own or scope.keywords:
                raise _ReadElsewhere(target)
            self._nothing_reflects(target)
            self._no_pattern_reads(target)
            yield from _attributes(module, target.value, target)
        elif isinstance(scope, cst.FunctionDef) and not _binds(module, scope, target.value):
            raise _ReadElsewhere(target)  # a variable of the module, or of a function around this one
        yield from self._variables(target, scope)

    def _variables(self, name: cst.Name, scope: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
        """The reads of ``name`` as a variable of ``scope`` (None: of the module), and in functions within that see it."""
        self._nothing_reflects(name)
        module = self.source.module
        for text in module.once(_examples) if scope is None else ():
            if re.search(rf"\b{name.value}\b", text.value):
                raise _ReadElsewhere(text)
        for one in module.once(_variables).get(name.value, ()):
            above = [*self.source.above(one)]
            if scope is not None and scope not in above:
                continue
            around = [node for node in above if isinstance(node, cst.FunctionDef)]
            inside = above if scope is None else above[: above.index(scope)]
            if any(_binds(module, function, name.value) for function in around if function in inside):
                continue
            kernels = [function for function in around if self._read_as_kernel(function)]
            for kernel in kernels:
                self._no_file_reads(kernel.name)  # whose launches there were not followed
            if not kernels:
                yield one

    def _nothing_reflects(self, node: cst.CSTNode) -> None:
        if self.source.module.once(reflects):
            raise _ReadElsewhere(node)

    def _no_pattern_reads(self, name: cst.Name) -> None:
        """``case Config(block=b)`` reads an attribute."""
        for one in self.source.module.of(cst.MatchKeywordElement):
            if one.key.value == name.value:
                raise _ReadElsewhere(one)

    def _only_python_wraps(self, function: cst.FunctionDef) -> None:
        """What decorates a function may see what that is called with, what it has for defaults and what it returns."""
        for one in function.decorators:
            origin = origin_of(one.decorator, self.source.imports) or ""
            if not origin.startswith(_PLAIN_DECORATORS) or origin.startswith("torch.library."):
                raise _ReadElsewhere(one)

    def _no_file_reads(self, name: cst.Name) -> None:
        other = other_files.reader(self.source.module, name.value)
        if other is not None:
            raise _ReadElsewhere(name, other.name)

    def _returned(self, statement: cst.Return) -> Iterator[cst.CSTNode]:
        """The result of a function is read where that is called, or handed on."""
        function = self.source.function(statement)
        assert function is not None
        self._only_python_wraps(function)
        self._no_file_reads(function.name)
        reads: list[cst.CSTNode] = [*_attributes(self.source.module, function.name.value, None)]
        reads += self._variables(function.name, self.source.function(function))
        if not reads or function.name.value in _CALLED_BY_OTHERS:
            raise _ReadElsewhere(statement)
        yield from reads


class _ReadElsewhere(Exception):
    """``node`` is, or holds, something else than a launch that a number gets into; what it is bound to, where ``file`` reads that."""

    def __init__(self, node: cst.CSTNode, file: str = "") -> None:
        self.node, self.file = node, file


def _unknown(node: cst.CSTNode) -> cst.Param:
    raise _ReadElsewhere(node)


def _text_index(subscript: cst.Subscript) -> object:
    """The text between the brackets; None where it is none."""
    inner = subscript.slice[0].slice if len(subscript.slice) == 1 else None
    value = inner.value if isinstance(inner, cst.Index) else None
    return python_value(value.value) if isinstance(value, cst.SimpleString) else None


def _attributes(module: Module, name: str, target: cst.Attribute | cst.Name | None) -> Iterator[cst.Attribute]:
    return (one for one in module.of(cst.Attribute) if one.attr.value == name and one is not target)


def _variables(module: Module) -> dict[str, list[cst.Name]]:
    """The variables of ``module`` that are read, by name."""
    bound = {name for node in module.nodes for name in bound_by(node)}
    bound |= {node.name for node in module.nodes if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Param))}
    found: dict[str, list[cst.Name]] = {}
    for name in variables(module.tree):
        if name not in bound:
            found.setdefault(name.value, []).append(name)
    return found


def _examples(module: Module) -> list[cst.SimpleString]:
    """The texts of ``module`` that hold examples, which doctest runs."""
    return [one for one in module.of(cst.SimpleString) if ">>>" in one.value]


def _binds(module: Module, function: cst.FunctionDef, name: str) -> bool:
    """Whether ``name`` is a variable of ``function`` itself."""
    known = module.once(_own_names)
    if function not in known:
        handed = [node for node in walk(function) if isinstance(node, (cst.Global, cst.Nonlocal))]
        outside = {item.name.value for node in handed for item in node.names}
        known[function] = local_names(function) - outside
    return name in known[function]


def _own_names(module: Module) -> dict[cst.FunctionDef, set[str]]:
    """What :func:`_binds` has found of functions of ``module`` so far."""
    return {}
