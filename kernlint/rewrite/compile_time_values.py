"""Values that a kernel needs at compile time: made ``tl.constexpr`` where they are defined."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.bindings import variable
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.mended_faults import mends
from kernlint.rewrite.readers import read_by_others
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.kl720_plain_global_in_kernel import host_reads
from kernlint.rules.faults import MendedFault
from kernlint.rules.launch.kl609_constexpr_not_specialised import AnnotationDropped
from kernlint.syntax.names import bound_by, variables
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import Launch


@mends("plain-global")
def constexpr_global(site: Site, fault: MendedFault) -> Rewriting:
    """``SCALE = 2.0`` at module level becomes ``SCALE = tl.constexpr(2.0)``, unless host code reads it, which would get an object
    that is no plain number then."""
    source, name = site.source, fault.name
    bindings = [node for node in walk(site.module.tree) if any(one.value == name for one in bound_by(node))]
    bindings = [
        node for node in bindings if source.function(node) is None and source.around(node, cst.ClassDef) is None
    ]
    binding = bindings[0] if len(bindings) == 1 else None
    target, value = _assignment(binding)
    if binding is None or not isinstance(target, cst.Name) or value is None:
        raise CannotRewrite(f"`{name}` is not assigned once, and alone, in this file")
    start, end = source.whole(value)
    lines = host_reads(site.module, name)
    if lines:
        raise CannotRewrite(f"host code reads `{name}` at line {lines[0]}, which a tl.constexpr object would break")
    # The annotation of `SCALE: tl.constexpr = 2.0` makes no constexpr, and goes.
    head = source.end(target) if isinstance(binding, cst.AnnAssign) else start
    opening = f"{_before(source, 'triton.language.constexpr', binding)}("
    edits = [TextEdit(head, start, f" = {opening}" if head < start else opening), TextEdit(end, end, ")")]
    other = read_by_others(source, name)
    if other:
        return Rewriting(tuple(edits), Effects("unsafe", notes=(f"{other} `{name}`, a tl.constexpr object then",)))
    return Rewriting(tuple(edits))


def _assignment(node: cst.CSTNode | None) -> tuple[cst.BaseExpression | None, cst.BaseExpression | None]:
    """(target, value) of an assignment to one name."""
    if isinstance(node, cst.AnnAssign):
        return node.target, node.value
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        return node.targets[0].target, node.value
    return None, None


def _before(source: Source, origin: str, statement: cst.CSTNode) -> str:
    """How the module writes ``origin`` at ``statement``: the import must stand above it."""
    text = source.spelled(origin)
    head = text.partition(".")[0]
    imports = [n for n in walk(source.module.tree) if isinstance(n, (cst.Import, cst.ImportFrom))]
    made = [n for n in imports if any(one.value == head for one in bound_by(n))]
    if made and min(map(source.start, made)) > source.start(statement):
        raise CannotRewrite(f"`{head}` is imported further down")
    return text


@mends("runtime-shape")
def constexpr_extent(site: Site, fault: MendedFault) -> Rewriting:
    """The parameter or local number that an extent is made of gets the annotation ``tl.constexpr``."""
    source = site.source
    call = source.at(fault.place, cst.Call)
    function = source.function(call)
    if function is None:
        raise CannotRewrite("the call is in no function")
    names = {node.value for arg in call.args for node in variables(arg.value)}
    edits: list[TextEdit] = []
    effects = Effects()
    annotation = f": {source.spelled('triton.language.constexpr')}"
    for name in sorted(names):
        found = variable(source, name, function)
        if not found.bindings:
            continue
        if len(found.bindings) > 1:
            raise CannotRewrite(f"`{name}` gets its value at several places")
        (binding,) = found.bindings
        if isinstance(binding, cst.Param):
            if binding.annotation is None:
                effects |= _given_at_compile_time(site, function, name)
                end = source.end(binding.name)
                edits.append(TextEdit(end, end, annotation))
        elif isinstance(binding, cst.Assign) and len(binding.targets) == 1:
            if not _is_constant(source, binding.value, function):
                raise CannotRewrite(f"`{name}` is computed from run-time values")
            end = source.end(binding.targets[0].target)
            edits.append(TextEdit(end, end, annotation))
        elif not isinstance(binding, cst.AnnAssign):
            raise CannotRewrite(f"`{name}` is a run-time value")
    if not edits:
        raise CannotRewrite("no parameter or local number is to blame")
    return Rewriting(tuple(edits), effects)


def _given_at_compile_time(site: Site, function: cst.FunctionDef, name: str) -> Effects:
    """What making the parameter a constexpr may do to the launches in view. Raises where one passes no number."""
    launches = [one for one in site.workload.launches() if one.kernel.name == function.name.value]
    if not launches:
        raise CannotRewrite(f"`{function.name.value}` is a helper: what its callers pass for `{name}` decides")
    if site.workload.bare:
        return Effects("unsafe", notes=(f"no launch in view says what is passed for `{name}`",))
    values = [_value(one, name) for one in launches]
    if not all(isinstance(value, int) and value > 0 and value & (value - 1) == 0 for value in values):
        return Effects("unsafe", notes=(f"`{name}` gets a value that is not known to be a power of two",))
    return Effects()


def _value(launch: Launch, name: str) -> object:
    value = launch.arguments.get(name)
    return getattr(value, "value", value)


def _is_constant(source: Source, node: cst.BaseExpression, function: cst.FunctionDef) -> bool:
    """Whether arithmetic on numbers and constexprs of ``function`` alone makes up ``node``."""
    kinds = (cst.Integer, cst.Name, cst.BinaryOperation, cst.UnaryOperation, cst.Comparison, cst.IfExp)
    if not isinstance(node, kinds):
        return False
    if any(isinstance(inner, (cst.Call, cst.Subscript, cst.Attribute)) for inner in walk(node)):
        return False
    fixed = {p.name.value for p in parameters(function) if says_constexpr(source, p.annotation)}
    fixed |= {
        one.target.value
        for one in walk(function)
        if isinstance(one, cst.AnnAssign)
        and isinstance(one.target, cst.Name)
        and says_constexpr(source, one.annotation)
    }
    return all(inner.value in fixed for inner in variables(node))


def says_constexpr(source: Source, annotation: cst.Annotation | None) -> bool:
    """Whether ``annotation``, of a parameter or variable, is ``tl.constexpr``."""
    return annotation is not None and source.origin(annotation.annotation) == "triton.language.constexpr"


@codemod(AnnotationDropped, Effects())
def annotation_dropped(site: Site, transform: AnnotationDropped) -> list[TextEdit]:
    """Parameters that are listed in ``do_not_specialize`` lose the annotation ``tl.constexpr``."""
    source = site.source
    function = source.at(transform.kernel, cst.FunctionDef)
    edits = []
    for param in parameters(function):
        if param.name.value not in transform.names:
            continue
        if param.annotation is None:
            raise CannotRewrite(f"`{param.name.value}` has no annotation")
        _check_run_time(source, function, param.name.value)
        edits.append(TextEdit(source.end(param.name), source.whole(param.annotation.annotation)[1], ""))
    return edits


def _check_run_time(source: Source, function: cst.FunctionDef, name: str) -> None:
    """Raise unless each read of the parameter works with a run-time value: arithmetic, comparisons, addresses and masks."""
    for read in variable(source, name, function).reads:
        above = next(
            one for one in source.above(read) if not isinstance(one, (cst.BinaryOperation, cst.UnaryOperation))
        )
        while isinstance(above, (cst.Comparison, cst.ComparisonTarget, cst.BinaryOperation, cst.Subscript)):
            above = source.parent(above) or above
        call = source.parent(above) if isinstance(above, cst.Arg) else None
        origin = source.origin(call.func) if isinstance(call, cst.Call) else None
        if origin not in ("triton.language.load", "triton.language.store"):
            line = source.line_number(source.start(read))
            raise CannotRewrite(f"`{name}` may be needed at compile time at line {line}")
