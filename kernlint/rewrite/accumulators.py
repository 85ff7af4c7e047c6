"""int8 dots accumulate in int32: the accumulator's type, and the cast to float32 where the epilogue begins."""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from kernlint.rewrite.bindings import loop_around, suite, variable
from kernlint.rewrite.function import argument
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit

_FLOAT_SUM = re.compile(
    r"\b(?:fp32|float32|f32|float)\b(?=[^.]*\baccum)|(?<=accumulate in )(?:fp32|float32)\b", re.IGNORECASE
)


def accumulate_in_int32(source: Source, dot: cst.Call, dots: set[cst.Call]) -> list[TextEdit]:
    """Edits that let ``dot``, whose operands are integers now, yield int32, and what follows see float32 as before;
    ``dots`` are all that change."""
    edits = _integer_output(source, dot)
    name = _accumulator(source, dot)
    if name is not None:
        found = _changed_accumulator(source, dot, name, dots)
        if found is not None:
            if not edits and _given(dot) is not None:
                # Triton 3.6 compares the accumulator with out_dtype, which is float32 unless it is given.
                edits = source.add_keyword(dot, "out_dtype", source.spelled("triton.language.int32"))
            return edits + found
    return edits + _cast_result(source, dot, name)


def _integer_output(source: Source, dot: cst.Call) -> list[TextEdit]:
    for arg in dot.args:
        if arg.keyword is not None and arg.keyword.value == "out_dtype":
            return [source.replace(arg.value, source.spelled("triton.language.int32"))]
    return []


def _given(dot: cst.Call) -> cst.Arg | None:
    """The accumulator that is passed to ``dot``."""
    for arg in dot.args:
        if arg.keyword is not None and arg.keyword.value == "acc":
            return arg
    plain = len(dot.args) > 2 and all(arg.keyword is None and not arg.star for arg in dot.args[:3])
    return dot.args[2] if plain else None


def _accumulator(source: Source, dot: cst.Call) -> str | None:
    """The variable of ``acc += dot(...)``, ``acc = acc + dot(...)`` or ``acc = dot(..., acc)``."""
    above = source.parent(dot)
    given = _given(dot)
    if given is not None:
        name = given.value.value if isinstance(given.value, cst.Name) else None
        return name if name is not None and isinstance(above, cst.Assign) and _target(above) == name else None
    if isinstance(above, cst.AugAssign) and isinstance(above.operator, cst.AddAssign) and above.value is dot:
        return above.target.value if isinstance(above.target, cst.Name) else None
    if isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Add):
        other = above.left if above.right is dot else above.right
        statement = source.parent(above)
        if isinstance(statement, cst.Assign) and isinstance(other, cst.Name) and _target(statement) == other.value:
            return other.value
    return None


def _target(statement: cst.Assign) -> str | None:
    target = statement.targets[0].target
    return target.value if len(statement.targets) == 1 and isinstance(target, cst.Name) else None


def float_sum(source: Source, dot: cst.Call) -> tuple[str, cst.For | cst.While]:
    """The variable that begins as zeros and to which nothing but ``dot`` is added in the loop, and that loop. Raises
    :class:`CannotRewrite` where it is not so."""
    name = _accumulator(source, dot)
    found = _summed(source, dot, name, {dot}) if name is not None else None
    if name is None or found is None or source.origin(found[0]) != "triton.language.float32":
        raise CannotRewrite("what the dot is added to is no fp32 sum from zeros that only it adds to")
    return name, found[1]


def _changed_accumulator(source: Source, dot: cst.Call, name: str, dots: set[cst.Call]) -> list[TextEdit] | None:
    """The accumulator as int32 from its zeros to the end of its loop; None where something else happens to it there."""
    summed, function = _summed(source, dot, name, dots), source.function(dot)
    if summed is None or function is None:
        return None
    kind, loop, changed = summed
    edits = [source.replace(kind, source.spelled("triton.language.int32"))]
    edits += _true_comments(source, changed)
    return edits + _cast_in_epilogue(source, name, loop, function)


def _summed(
    source: Source, dot: cst.Call, name: str, dots: set[cst.Call]
) -> tuple[cst.BaseExpression, cst.For | cst.While, list[cst.CSTNode]] | None:
    """The type of the zeros that ``name`` begins as, the loop in which ``dots`` alone are added to it, and the statements that bind it
    there; None where something else happens to it."""
    function = source.function(dot)
    if function is None:
        return None
    found = variable(source, name, function)
    updates = [
        source.statement(one) for one in dots if source.function(one) is function and _accumulator(source, one) == name
    ]
    first = found.bindings[0]
    kind = _zeros(source, first)
    if kind is None:
        return None
    loop = loop_around(source, dot, first)
    if loop is None:
        return None
    end = source.end(loop)
    for one in found.bindings[1:]:
        if source.start(one) < end and all(one is not update for update in updates):
            return None
    for read in found.reads:
        if source.start(read) < end and all(source.statement(read) is not update for update in updates):
            return None
    return kind, loop, [first, *updates]


def _zeros(source: Source, binding: cst.CSTNode) -> cst.BaseExpression | None:
    """The dtype in ``acc = tl.zeros(shape, dtype)``."""
    if not isinstance(binding, cst.Assign) or _target(binding) is None or not isinstance(binding.value, cst.Call):
        return None
    call = binding.value
    if source.origin(call.func) != "triton.language.zeros":
        return None
    return argument(call, "dtype", 1)


def _cast_in_epilogue(
    source: Source, name: str, loop: cst.For | cst.While, function: cst.FunctionDef
) -> list[TextEdit]:
    """The cast to float32 after ``loop``: where the sum is read once, there, else as a statement of its own."""
    found = variable(source, name, function)
    end = source.end(loop)
    reads = [read for read in found.reads if source.start(read) > end]
    bindings = [one for one in found.bindings if source.start(one) > end]
    if not reads and not bindings:
        return []
    wide = source.spelled("triton.language.float32")
    first = min((*reads, *bindings), key=source.start)
    statement = source.statement(first)
    until = source.end(bindings[0]) if bindings else len(source.text)
    seen = [read for read in reads if source.start(read) < until]
    block = suite(source, loop)
    plain = isinstance(statement, (cst.Assign, cst.Expr, cst.AnnAssign)) and suite(source, statement) is block
    rebinds_there = not bindings or bindings[0] is statement
    if plain and len(seen) == 1 and rebinds_there:
        return _cast_read(source, seen[0], wide)
    while suite(source, statement) is not block:
        outer = source.parent(statement)
        if outer is None or outer is function:
            raise CannotRewrite(f"`{name}` is not used in the block of its loop")
        statement = source.statement(outer) if not isinstance(outer, cst.BaseStatement) else outer  # type: ignore[assignment]
    return [source.insert_before(statement, f"{name} = {name}.to({wide})")]


def _cast_read(source: Source, read: cst.Name, wide: str) -> list[TextEdit]:
    above = source.parent(read)
    call = source.parent(above) if above is not None else None
    if isinstance(call, cst.Call):
        method = isinstance(above, cst.Attribute) and above.attr.value == "to" and call.func is above
        function = isinstance(above, cst.Arg) and source.origin(call.func) == "triton.language.cast"
        target = call.args[0 if method else 1].value if len(call.args) > (0 if method else 1) else None
        if (method or function) and target is not None and source.origin(target) == "triton.language.float32":
            return []
    return [source.replace(read, f"{read.value}.to({wide})")]


def _cast_result(source: Source, dot: cst.Call, name: str | None) -> list[TextEdit]:
    """The dot's own result as float32, where its sum goes on in floating point."""
    wide = source.spelled("triton.language.float32")
    given = _given(dot)
    start, end = source.range_of(dot)
    if given is None:
        return [TextEdit(end, end, f".to({wide})")]
    if name is None:
        raise CannotRewrite(f"the accumulator of the dot at line {source.module.span(dot).line} was not followed")
    # tl.dot takes no floating accumulator with integer operands.
    edits = source.drop_arguments(dot, [given])
    return [TextEdit(start, start, f"{name} + "), *edits, TextEdit(end, end, f".to({wide})")]


def _true_comments(source: Source, statements: Iterable[cst.CSTNode]) -> list[TextEdit]:
    """Comments beside the accumulator that call it floating."""
    edits = []
    for statement in statements:
        for comment in (*source.heading(statement), *source.trailing(statement)):
            new = _FLOAT_SUM.sub("int32", comment.text)
            if new != comment.text:
                edits.append(TextEdit(comment.start, comment.end, new, describes=True))
    return edits
