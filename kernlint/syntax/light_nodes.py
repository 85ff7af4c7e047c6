"""Makes nodes of LibCST's, past their constructors: those check what Python's parser has checked already."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from typing import Any

import libcst as cst

from kernlint import records


def maker(cls: type[Any], *given: str) -> Callable[..., Any]:
    """A function that makes a node of ``cls`` of the values of the fields ``given``, by position; all others have their defaults.
    Past the constructor, which checks what Python's parser has checked already."""
    compiled: list[Callable[..., Any]] = []  # when the first node is made, which most kinds never see

    def made(*values: Any) -> Any:
        if not compiled:
            compiled.append(_compiled(cls, given))
            # Whoever looks it up by its name finds that from now on.
            globals().update({name: compiled[0] for name, one in globals().items() if one is made})
        return compiled[0](*values)

    return made


def _compiled(cls: type[Any], given: Sequence[str]) -> Callable[..., Any]:
    """What :func:`maker` gives, field by field written out."""
    names: dict[str, Any] = {"new": object.__new__, "cls": cls}
    lines = []
    for field in fields(cls):
        name, value = field.name, field.name
        names[f"put_{name}"] = getattr(cls, name).__set__
        if name not in given:
            make = field.default_factory
            names[f"default_{name}"] = field.default if field.default is not MISSING or make is MISSING else make()
            value = f"default_{name}"
        lines.append(f"put_{name}(node, {value})")
    return records.compiled(f"made({', '.join(given)})", ["node = new(cls)", *lines, "return node"], names)


name = maker(cst.Name, "value", "lpar", "rpar")
integer, float_, imaginary = (maker(kind, "value", "lpar", "rpar") for kind in (cst.Integer, cst.Float, cst.Imaginary))
string = maker(cst.SimpleString, "value", "lpar", "rpar")
ellipsis = maker(cst.Ellipsis, "lpar", "rpar")
attribute = maker(cst.Attribute, "value", "attr", "lpar", "rpar")
call = maker(cst.Call, "func", "args", "lpar", "rpar")
arg = maker(cst.Arg, "value", "keyword", "star")
subscript = maker(cst.Subscript, "value", "slice", "lpar", "rpar")
subscript_element = maker(cst.SubscriptElement, "slice", "comma")
index = maker(cst.Index, "value", "star")
slice_ = maker(cst.Slice, "lower", "upper", "step", "first_colon", "second_colon")
colon = maker(cst.Colon)
comma = maker(cst.Comma)
binary = maker(cst.BinaryOperation, "left", "operator", "right", "lpar", "rpar")
boolean = maker(cst.BooleanOperation, "left", "operator", "right", "lpar", "rpar")
unary = maker(cst.UnaryOperation, "operator", "expression", "lpar", "rpar")
comparison = maker(cst.Comparison, "left", "comparisons", "lpar", "rpar")
comparison_target = maker(cst.ComparisonTarget, "operator", "comparator")
if_exp = maker(cst.IfExp, "test", "body", "orelse", "lpar", "rpar")
lambda_ = maker(cst.Lambda, "params", "body", "lpar", "rpar")
tuple_, list_, set_, dict_ = (
    maker(kind, "elements", "lpar", "rpar") for kind in (cst.Tuple, cst.List, cst.Set, cst.Dict)
)
element, starred_element = maker(cst.Element, "value"), maker(cst.StarredElement, "value")
dict_element, starred_dict_element = maker(cst.DictElement, "key", "value"), maker(cst.StarredDictElement, "value")
list_comp, set_comp, generator = (
    maker(kind, "elt", "for_in", "lpar", "rpar") for kind in (cst.ListComp, cst.SetComp, cst.GeneratorExp)
)
dict_comp = maker(cst.DictComp, "key", "value", "for_in", "lpar", "rpar")
comp_for = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
comp_if = maker(cst.CompIf, "test")
asynchronous = maker(cst.Asynchronous)
await_ = maker(cst.Await, "expression", "lpar", "rpar")
yield_ = maker(cst.Yield, "value", "lpar", "rpar")
from_ = maker(cst.From, "item")
named_expr = maker(cst.NamedExpr, "target", "value", "lpar", "rpar")
line = maker(cst.SimpleStatementLine, "body")
suite = maker(cst.SimpleStatementSuite, "body")
block = maker(cst.IndentedBlock, "body")
expr = maker(cst.Expr, "value")
return_ = maker(cst.Return, "value")
pass_, break_, continue_ = (maker(kind) for kind in (cst.Pass, cst.Break, cst.Continue))
assign, assign_target = maker(cst.Assign, "targets", "value"), maker(cst.AssignTarget, "target")
aug_assign = maker(cst.AugAssign, "target", "operator", "value")
ann_assign, annotation = maker(cst.AnnAssign, "target", "annotation", "value"), maker(cst.Annotation, "annotation")
raise_, assertion, del_ = maker(cst.Raise, "exc", "cause"), maker(cst.Assert, "test", "msg"), maker(cst.Del, "target")
global_, nonlocal_, name_item = (
    maker(cst.Global, "names"),
    maker(cst.Nonlocal, "names"),
    maker(cst.NameItem, "name"),
)
import_, import_alias = maker(cst.Import, "names"), maker(cst.ImportAlias, "name", "asname")
import_from = maker(cst.ImportFrom, "module", "names", "relative")
import_star, dot, as_name = maker(cst.ImportStar), maker(cst.Dot), maker(cst.AsName, "name")
if_ = maker(cst.If, "test", "body", "orelse")
else_, finally_ = maker(cst.Else, "body"), maker(cst.Finally, "body")
while_ = maker(cst.While, "test", "body", "orelse")
for_ = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
with_, with_item = maker(cst.With, "items", "body", "asynchronous"), maker(cst.WithItem, "item", "asname")
try_ = maker(cst.Try, "body", "handlers", "orelse", "finalbody")
handler = maker(cst.ExceptHandler, "body", "type", "name")
function = maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous")
class_ = maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")
decorator = maker(cst.Decorator, "decorator")
parameters = maker(cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params", "posonly_ind")
param = maker(cst.Param, "name", "annotation", "default", "star")
param_star, param_slash = maker(cst.ParamStar), maker(cst.ParamSlash)
left, right = maker(cst.LeftParen), maker(cst.RightParen)
BINARY = {
    getattr(ast, theirs): (maker(getattr(cst, ours)), maker(getattr(cst, f"{ours}Assign")))
    for theirs, ours in (
        ("Add", "Add"), ("Sub", "Subtract"), ("Mult", "Multiply"), ("MatMult", "MatrixMultiply"), ("Div", "Divide"),
        ("Mod", "Modulo"), ("Pow", "Power"), ("LShift", "LeftShift"), ("RShift", "RightShift"), ("BitOr", "BitOr"),
        ("BitXor", "BitXor"), ("BitAnd", "BitAnd"), ("FloorDiv", "FloorDivide"),
    )
}  # fmt: skip
BOOLEAN = {ast.And: maker(cst.And), ast.Or: maker(cst.Or)}
UNARY = {
    ast.Not: maker(cst.Not), ast.USub: maker(cst.Minus), ast.UAdd: maker(cst.Plus), ast.Invert: maker(cst.BitInvert)
}  # fmt: skip
COMPARED = {
    getattr(ast, theirs): maker(getattr(cst, ours))
    for theirs, ours in (
        ("Eq", "Equal"), ("NotEq", "NotEqual"), ("Lt", "LessThan"), ("LtE", "LessThanEqual"), ("Gt", "GreaterThan"),
        ("GtE", "GreaterThanEqual"), ("Is", "Is"), ("IsNot", "IsNot"), ("In", "In"), ("NotIn", "NotIn"),
    )
}  # fmt: skip
