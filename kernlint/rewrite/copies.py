"""Passes over whole tensors that a launcher makes on every call: the kernel reads the original, converts in registers and
writes the final type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field

import libcst as cst

from kernlint.interpret.edits import Edits
from kernlint.records import dataclass
from kernlint.rewrite.bindings import reached, variable
from kernlint.rewrite.comments import stale_comments, stale_docstring
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.layouts import moved_addresses
from kernlint.rewrite.site import Site
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.syntax.names import dotted_name
from kernlint.workload import Access, Atomic, Dtype, Launch, Load, Span, Store, Tensor, TorchOp, Workload
from kernlint.workload.dtype import BOOL

#: What a comment says of a copy that is to go.
_SPEAKS_OF_COPIES = re.compile(
    r"\bcontiguous\b|\btranspos|\bcop(?:y|ies|ied)\b|\bclone|\bcoalesc|\brow[- ]major\b|\bcast\b|\bconvert|\bcompute in fp32\b",
    re.IGNORECASE,
)

#: What host code asks of a tensor that the copy's layout may be needed for.
_NEEDS_LAYOUT = frozenset({"view", "view_as", "is_contiguous", "as_strided", "untyped_storage", "storage"})


@dataclass
class _Plan:
    """What is to be done; ``skipped`` are the calls that go, with the torch call that each is."""

    site: Site
    skipped: dict[cst.Call, TorchOp]
    after: Workload
    edits: list[TextEdit] = field(default_factory=list)
    #: Whether an argument is put in order where it was converted.
    in_order: bool = False

    @property
    def source(self) -> Source:
        return self.site.source


def read_in_place(site: Site, spans: Iterable[Span]) -> Rewriting:
    """The torch calls at ``spans`` gone, with what they copied or converted passed on in their place."""
    wanted = frozenset(spans)
    after = site.after(Edits(skipped=wanted))
    if after is None:
        raise CannotRewrite("without the copy the program cannot be followed")
    ops = {op.span: op for op, _ in site.workload.walk() if isinstance(op, TorchOp) and op.span in wanted}
    for span in wanted - set(ops):
        raise CannotRewrite(f"the call at line {span.line} was not followed")
    plan = _Plan(site, {site.source.at(span, cst.Call): ops[span] for span in sorted(ops)}, after)
    _drop_calls(plan)
    _keep_types(plan)
    _keep_result_types(plan)
    _keep_layouts(plan)
    _forget_comments(plan)
    notes = moved_addresses(site, plan.edits)
    if plan.in_order:
        notes = ("an argument of another layout is put in order, where its conversion kept that layout", *notes)
    return Rewriting(tuple(plan.edits), Effects("unsafe" if notes else "safe", memory="less", notes=notes))


# -- the calls --------------------------------------------------------------------------------------------------------


def _drop_calls(plan: _Plan) -> None:
    source = plan.source
    deleted: list[cst.CSTNode] = []
    for call, op in plan.skipped.items():
        above = source.parent(call)
        _check_alone(plan, op)
        _check_layout(source, call, op)
        deleted += _only_for(source, call)
        if op.name in ("copy_", "setitem"):
            if not isinstance(above, cst.Expr):
                raise CannotRewrite(f"the copy at line {op.span.line} is part of an expression")
            deleted.append(call)
            continue
        inner = _copied(source, call)
        while isinstance(inner, cst.Call) and inner in plan.skipped:
            inner = _copied(source, inner)
        if _may_lie_otherwise(source, call, op, inner):
            plan.edits.append(source.replace(call, f"{source.code(inner)}.contiguous()"))
            plan.in_order = True
            continue
        statement = source.statement(call)
        if isinstance(statement, cst.Assign) and statement.value is call and len(statement.targets) == 1:
            target = statement.targets[0].target
            if isinstance(target, cst.Name) and isinstance(inner, cst.Name) and target.value == inner.value:
                deleted.append(call)
                continue
        plan.edits += source.keep_only(call, _copied(source, call))
    plan.edits += source.delete_statements(deleted)


def _may_lie_otherwise(source: Source, call: cst.Call, op: TorchOp, inner: cst.BaseExpression) -> bool:
    """Whether ``inner``, which ``call`` converts, is an argument that lies in order here, and with another caller may not: what a
    conversion makes of a slice lies in order."""
    if op.kind != "cast" or not op.reads or op.reads[0].storage.origin != "input" or not op.reads[0].is_contiguous:
        return False
    if not isinstance(inner, (cst.Name, cst.Attribute, cst.Subscript, cst.Call)):
        return False
    function, text = source.function(call), source.code(inner)
    checks = source.module.own(function.body, cst.Assert) if function is not None else ()
    asked = [one for check in checks for one in source.module.within(check.test, cst.Call)]
    told = any(source.code(one.func) == f"{text}.is_contiguous" for one in asked)
    made = (
        isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and inner.func.attr.value == "contiguous"
    )
    return not told and not made


def _check_alone(plan: _Plan, op: TorchOp) -> None:
    """Raise where the original cannot stand for its copy: it is written to later, or the copy is what the call returns."""
    workload = plan.site.workload
    if op.name in ("copy_", "setitem") or not op.reads or not op.writes:
        return
    returned = any(tensor.storage.id == op.writes[0].storage.id for tensor in workload.outputs)
    if returned and op.kind != "cast":
        raise CannotRewrite(f"the copy at line {op.span.line} is part of the result")
    if any(one.accesses(op.reads[0].storage.id, (Store, Atomic)) for one in workload.launches()) and not returned:
        raise CannotRewrite(f"a kernel writes to what line {op.span.line} copies")
    for later in _behind(workload, op):
        if any(one.storage.id == op.reads[0].storage.id for one in later.writes):
            raise CannotRewrite(f"line {later.span.line} writes to what line {op.span.line} copies")


def _behind(workload: Workload, op: TorchOp) -> Iterator[TorchOp]:
    """The torch calls that come after ``op``."""
    steps = iter(workload.walk())
    for step, _ in steps:
        if step is op:
            break
    yield from (step for step, _ in steps if isinstance(step, TorchOp))


def _check_layout(source: Source, call: cst.Call, op: TorchOp) -> None:
    """Raise where host code uses the copy in a way that its layout may be needed for."""
    if op.kind == "cast" or op.name == "copy_":
        return
    uses: list[cst.CSTNode] = [call]
    statement, function = source.statement(call), source.function(call)
    if isinstance(statement, cst.Assign) and statement.value is call and function is not None:
        target = statement.targets[0].target
        if isinstance(target, cst.Name):
            uses += reached(source, statement, variable(source, target.value, function))
    for use in uses:
        above = source.parent(use)
        if isinstance(above, cst.Attribute) and above.value is use and above.attr.value in _NEEDS_LAYOUT:
            line = source.module.span(above).line
            raise CannotRewrite(f"`.{above.attr.value}` at line {line} may need the copy's layout")


def _only_for(source: Source, call: cst.Call) -> list[cst.CSTNode]:
    """Assignments like ``dtype = x.dtype`` that nothing but an argument of ``call`` reads."""
    function = source.function(call)
    found: list[cst.CSTNode] = []
    for arg in call.args if function is not None else ():
        if isinstance(arg.value, cst.Name) and function is not None:
            of_name = variable(source, arg.value.value, function)
            (binding, *others) = of_name.bindings or (None,)
            plain = isinstance(binding, cst.Assign) and not others and dotted_name(binding.value) is not None
            if plain and binding is not None and len(of_name.reads) == 1:
                found.append(binding)
    return found


def _copied(source: Source, call: cst.Call) -> cst.BaseExpression:
    """The tensor that ``call`` copies."""
    if isinstance(call.func, cst.Attribute) and not (source.origin(call.func) or "").startswith("torch."):
        return call.func.value
    if call.args and not call.args[0].star:
        return call.args[0].value
    raise CannotRewrite(f"the call at line {source.module.span(call).line} names no tensor")


# -- types ------------------------------------------------------------------------------------------------------------


def _keep_types(plan: _Plan) -> None:
    """Kernels compute in the types that they were given before: loads of a tensor that changed its type are followed by
    the cast; stores convert by themselves."""
    wanted: dict[Span, set[tuple[Dtype | None, Dtype | None]]] = {}
    loads: set[Span] = set()
    for old, new in _launches(plan):
        for access in old.kernel.nodes(Access):
            before, after = _dtype(old, access.base), _dtype(new, access.base)
            if isinstance(access, Atomic) and before != after:
                raise CannotRewrite(f"`{old.kernel.name}` adds to {access.base} atomically, which depends on its type")
            if isinstance(access, Load):
                loads.add(access.span)
                wanted.setdefault(access.span, set()).add((before, after))
    for span in sorted(loads):
        kinds = wanted[span]
        if all(before == after for before, after in kinds):
            continue
        if len(kinds) > 1:
            raise CannotRewrite(f"the load at line {span.line} serves tensors of different types")
        ((before, _),) = kinds
        if before is None:
            raise CannotRewrite(f"the type that the load at line {span.line} had is not known")
        plan.edits += _cast_load(plan.source, span, before)


def _cast_load(source: Source, span: Span, dtype: Dtype) -> list[TextEdit]:
    call = source.at(span, cst.Call)
    wide = source.spelled(_tl(dtype))
    above = source.parent(call)
    cast = source.parent(above) if above is not None else None
    method = isinstance(cast, cst.Call) and isinstance(above, cst.Attribute) and above.attr.value == "to"
    if isinstance(cast, cst.Call) and method and cast.args and source.origin(cast.args[0].value) == _tl(dtype):
        return []
    return [TextEdit(source.end(call), source.end(call), f".to({wide})")]


def _tl(dtype: Dtype) -> str:
    return f"triton.language.{dtype.triton}"


def _keep_result_types(plan: _Plan) -> None:
    """What a cast made of a kernel's output is what the kernel is given to write to."""
    source = plan.source
    for call, op in plan.skipped.items():
        if op.kind != "cast" or not op.writes or not op.reads or op.reads[0].storage.origin not in ("empty", "filled"):
            continue
        allocation, wanted = op.reads[0].storage.span, op.writes[0].dtype
        made = next((t for t in _made(plan.after, allocation)), None)
        if allocation is None or made is None:
            raise CannotRewrite(f"the allocation of what line {op.span.line} converts was not found")
        if any(launch.accesses(op.reads[0].storage.id, Load) for launch in plan.site.workload.launches()):
            raise CannotRewrite(f"a kernel reads what line {op.span.line} converts, which would round it earlier")
        _check_converted_alone(plan.site.workload, op)
        if made.dtype != wanted:
            allocating = source.at(allocation, cst.Call)
            plan.edits += source.set_argument(allocating, "dtype", _target(plan, call, op, allocating))


def _check_converted_alone(workload: Workload, op: TorchOp) -> None:
    """Raise where the result that ``op`` converts is needed unconverted too, or converts otherwise where it is stored."""
    storage = op.reads[0].storage.id
    others = (one for one in _behind(workload, op) if any(read.storage.id == storage for read in one.reads))
    if any(one.storage.id == storage for one in workload.outputs) or any(True for _ in others):
        raise CannotRewrite(f"what line {op.span.line} converts is needed as it was too")
    if op.writes[0].dtype == BOOL:
        raise CannotRewrite("a store to booleans cuts off, where the conversion asks what is not zero")


def _made(workload: Workload, span: Span | None) -> list[Tensor]:
    return [
        step.writes[0] for step in workload.all_steps if isinstance(step, TorchOp) and step.span == span and step.writes
    ]


def _target(plan: _Plan, call: cst.Call, op: TorchOp, before: cst.Call) -> str:
    """How the type that ``call`` converts to can be written where ``before`` stands."""
    source = plan.source
    names = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "dtype"]
    for name in names:
        head = name
        while isinstance(head, cst.Attribute):
            head = head.value
        function = source.function(call)
        if not isinstance(head, cst.Name) or function is None or source.function(before) is not function:
            continue
        bindings = variable(source, head.value, function).bindings
        known = head.value in source.imports or (
            len(bindings) == 1
            and (isinstance(bindings[0], cst.Param) or source.end(bindings[0]) <= source.start(before))
        )
        if known:
            return source.code(name)
    return source.spelled(f"torch.{op.writes[0].dtype}")


# -- layouts ----------------------------------------------------------------------------------------------------------


def _keep_layouts(plan: _Plan) -> None:
    """Tensors made in the image of a copy stay contiguous."""
    source = plan.source
    for step, _ in plan.site.workload.walk():
        if not isinstance(step, TorchOp) or not step.name.endswith("_like") or not step.writes:
            continue
        before = step.writes[0]
        for made in _made(plan.after, step.span):
            if made.strides != before.strides and before.is_contiguous:
                call = source.at(step.span, cst.Call)
                form = source.spelled("torch.contiguous_format")
                plan.edits += source.set_argument(call, "memory_format", form)


# -- comments ---------------------------------------------------------------------------------------------------------


def _forget_comments(plan: _Plan) -> None:
    source = plan.source
    instead = {call: text for call in plan.skipped if (text := _view_comment(source, call)) is not None}
    plan.edits += stale_comments(source, plan.skipped, _SPEAKS_OF_COPIES, instead)
    functions = {id(f): f for call in plan.skipped if (f := source.function(call)) is not None}
    for function in functions.values():
        plan.edits += stale_docstring(source, function, _SPEAKS_OF_COPIES)


def _view_comment(source: Source, call: cst.Call) -> str | None:
    """What to say of ``name = w.t()`` where a copy was; None where the statement goes or is something else."""
    inner = _copied(source, call)
    statement = source.statement(call)
    while isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and inner.func.attr.value not in _VIEWS:
        inner = inner.func.value
    if isinstance(inner, cst.Attribute):
        viewed: cst.BaseExpression = inner.value
        is_view = inner.attr.value in _VIEWS
    else:
        is_view = isinstance(inner, cst.Call)
        viewed = inner.func.value if isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) else inner
    name = dotted_name(viewed)
    if not is_view or name is None or not isinstance(statement, cst.Assign):
        return None
    return f"view of {name}, read through its strides"


#: What makes a view of a tensor that its kernel sees in another order.
_VIEWS = frozenset({"t", "T", "mT", "transpose", "permute", "swapaxes", "movedim", "moveaxis"})


def _launches(plan: _Plan) -> list[tuple[Launch, Launch]]:
    old, new = plan.site.workload.launches(), plan.after.launches()
    if [launch.span for launch in old] != [launch.span for launch in new]:
        raise CannotRewrite("without the copy the program launches other kernels")
    return list(zip(old, new))


def _dtype(launch: Launch, name: str) -> Dtype | None:
    tensor = launch.tensor(name)
    return tensor.dtype if tensor is not None else None
