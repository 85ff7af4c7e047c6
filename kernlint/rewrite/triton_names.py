"""Names and parameters of Triton that moved: the ones that the target release has for the same thing."""

from __future__ import annotations

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.rewrite.compile_time_values import says_constexpr
from kernlint.rewrite.conversions import followed_by
from kernlint.rewrite.function import argument
from kernlint.rewrite.mended_faults import mends
from kernlint.rewrite.names import names_in_use
from kernlint.rewrite.site import Site
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.faults import MendedFault
from kernlint.syntax.walk import parameters

_LIBDEVICE = "triton.language.extra.libdevice"


@mends("removed-name", "deprecated-name")
def renamed(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``tl.view`` becomes ``tl.reshape``, ``tl.math.tanh`` ``libdevice.tanh`` with its import."""
    source, target = site.source, site.program.question.target or Target()
    change = target.change(fault.name)
    name = change.rename if change is not None else target.moved(fault.name)
    if not name:
        raise CannotRewrite(f"nothing that takes the place of {fault.name} has its arguments and meaning")
    if not (target.has(name) or target.has_module(name)):
        raise CannotRewrite(f"Triton {target.release} has no {name}")
    node = source.expression_at(fault.place)
    if not isinstance(node, cst.Attribute):
        raise CannotRewrite("the name is imported by itself")
    if not name.startswith(_LIBDEVICE):
        return [source.replace(node, source.spelled(name))]
    edits, libdevice = _imported(source, _LIBDEVICE)
    return [*edits, source.replace(node, libdevice + name.removeprefix(_LIBDEVICE))]


def _imported(source: Source, module: str) -> tuple[list[TextEdit], str]:
    """Edits that import ``module`` where nothing does so far, and the name that it goes by."""
    known = next((name for name, origin in source.imports.items() if origin == module), None)
    if known is not None:
        return [], known
    package, _, name = module.rpartition(".")
    if any(bound == name for bound in source.imports) or name in _bound_names(source):
        raise CannotRewrite(f"`{name}` means something else here")
    lines = [line for line in source.module.tree.body if isinstance(line, cst.SimpleStatementLine)]
    imports = [
        line
        for line in lines
        if isinstance(line.body[0], (cst.Import, cst.ImportFrom)) and "triton" in source.code(line.body[0])
    ]
    if not imports:
        raise CannotRewrite("no import of Triton at the head of the module to write another one behind")
    return [source.insert_after(imports[-1].body[0], f"from {package} import {name}")], name


def _bound_names(source: Source) -> set[str]:
    """The names of the module but those of attributes such as ``tl.libdevice``."""
    attributes = {node.attr.value for node in source.module.of(cst.Attribute)}
    return names_in_use(source.module) - attributes


@mends("removed-parameter", "deprecated-parameter")
def without_parameter(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``allow_tf32=False`` becomes ``input_precision="ieee"``, ``trans_b=True`` a ``tl.trans`` around the operand, and
    ``can_reorder`` goes: the order that it leaves open is kept."""
    source = site.source
    arg = source.at(fault.place, cst.Arg)
    call = source.parent(arg)
    if not isinstance(call, cst.Call) or arg.keyword is None:
        raise CannotRewrite("the parameter is not given by name")
    keyword = arg.keyword.value
    value = arg.value.value if isinstance(arg.value, cst.Name) else ""
    if keyword == "can_reorder":
        return source.drop_arguments(call, [arg])
    if keyword == "allow_tf32":
        if argument(call, "input_precision", None) is not None:
            raise CannotRewrite("the call names an input_precision too")
        precision = {"True": '"tf32"', "False": '"ieee"'}.get(value, f'"tf32" if {value} else "ieee"')
        if value not in ("True", "False") and not _is_constexpr(source, arg.value):
            raise CannotRewrite(f"`{keyword}` is neither True nor False nor a constexpr of the kernel")
        return [source.replace(arg.keyword, "input_precision"), source.replace(arg.value, precision)]
    if value not in ("True", "False"):
        raise CannotRewrite(f"`{keyword}` is not given as True or False")
    if keyword not in ("trans_a", "trans_b"):
        raise CannotRewrite(f"nothing takes the place of `{keyword}` as it stands")
    edits = source.drop_arguments(call, [arg])
    operand = argument(call, *(("input", 0) if keyword == "trans_a" else ("other", 1)))
    if operand is None:
        raise CannotRewrite("the operand is not written in the call")
    if value == "True":
        start, end = source.whole(operand)
        edits += [TextEdit(start, start, f"{source.spelled('triton.language.trans')}("), TextEdit(end, end, ")")]
    return edits


def _is_constexpr(source: Source, node: cst.BaseExpression) -> bool:
    """Whether ``node`` names a parameter of its kernel that is annotated ``tl.constexpr``."""
    function = source.function(node)
    return function is not None and any(
        isinstance(node, cst.Name) and param.name.value == node.value and says_constexpr(source, param.annotation)
        for param in parameters(function)
    )


@mends("where-condition")
def boolean_condition(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``tl.where(flags, a, b)`` becomes ``tl.where(flags != 0, a, b)``."""
    source = site.source
    condition = argument(source.at(fault.place, cst.Call), "condition", 0)
    if condition is None:
        raise CannotRewrite("the condition is not written in the call")
    return followed_by(source, condition, " != 0")
