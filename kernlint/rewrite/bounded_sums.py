"""Integer sums that int32 is sure to hold: K is written in the program, or the launcher asserts how large it is at most."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import FunctionSource, LaunchSource
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.proofs.dot_tiles import MAX_EXACT_K, contracted
from kernlint.syntax.names import bound_by, variables
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import Dot, Launch, Loop, Span, concrete
from kernlint.workload.expr import Expr, ceildiv, floordiv

_NOTE = f"K is not known, by a name of the launcher: int32 sums of more than {MAX_EXACT_K:,} products may overflow"


def bounded_sums(site: Site, dot: Span) -> Rewriting:
    """Has each launcher assert that the K that the integer dot at ``dot`` adds up is none at which the sum may overflow; nothing where
    the program fixes K, unsafe where the launcher has no name for it. Raises :class:`CannotRewrite` where K is larger already."""
    made = Rewriting()
    for launch in site.workload.distinct_launches():
        for node, loops in launch.kernel.walk(Dot):
            if node.span == dot:
                made |= _bounded(site, launch, node, loops)
    return Rewriting(tuple(dict.fromkeys(made.edits)), made.effects)


def _bounded(site: Site, launch: Launch, dot: Dot, loops: tuple[Loop, ...]) -> Rewriting:
    total = contracted(dot, loops)
    if total is not None and total > MAX_EXACT_K:
        raise CannotRewrite(f"K = {total:,} can overflow an int32 sum of int8 products (limit {MAX_EXACT_K:,})")
    try:
        place = LaunchSource(site, launch.span)
        given = _given(place, loops)
        if total is not None and not given:
            return Rewriting()
        tiles = {name for name in given if launch.constexprs.get(name) == dot.k}
        sizes = {site.source.code(given[name]): name for name in given.keys() - tiles}
        (name,) = sizes.values()
        if _is_k(launch, name, dot, loops):
            return Rewriting((_assert(place, given[name]),))
    except (CannotRewrite, ValueError):
        pass
    return Rewriting((), Effects("unsafe", notes=(_NOTE,)))


def _given(place: LaunchSource, loops: tuple[Loop, ...]) -> Mapping[str, cst.BaseExpression]:
    """What the launch passes, other than numbers in the text, for the kernel's parameters that say how often ``loops`` run."""
    heads = [place.source.at(loop.span, cst.For) for loop in loops]
    if not all(head in place.kernel for head in heads):
        raise CannotRewrite("the loop stands in a function of its own")
    known = {param.name.value for param in parameters(place.kernel.node)}
    passed = {name: place.argument(name) for name in sorted(_read(place.kernel, [head.iter for head in heads]) & known)}
    return {name: arg.value for name, arg in passed.items() if arg is not None and not _is_written(place, arg.value)}


def _read(function: FunctionSource, waiting: list[cst.BaseExpression]) -> set[str]:
    """The names that expressions are computed from, those in between included."""
    found: set[str] = set()
    while waiting:
        for name in {one.value for one in variables(waiting.pop())} - found:
            found.add(name)
            for bound in function.bindings(name):
                value = bound.iter if isinstance(bound, cst.For) else getattr(bound, "value", None)
                waiting += [value] if value is not None else []
    return found


def _is_k(launch: Launch, name: str, dot: Dot, loops: tuple[Loop, ...]) -> bool:
    """Whether ``loops`` go through as many elements as the parameter says, a tile of ``dot`` at a time."""
    size, total = {**launch.arguments, **launch.constexprs}.get(name), contracted(dot, loops)
    if not isinstance(size, (int, Expr)) or (concrete(size) or dot.k) < dot.k:
        return False
    rounds = (ceildiv(size, dot.k), floordiv(size, dot.k))
    return (
        total in {dot.k * one for one in rounds} if total is not None else len(loops) == 1 and loops[0].trip in rounds
    )


def _is_written(place: LaunchSource, value: cst.BaseExpression) -> bool:
    """Whether ``value`` is a number in the text, or a constant of the module."""
    value = place.host.resolved(value)
    if isinstance(value, cst.Name) and value.value not in {param.name.value for param in parameters(place.host.node)}:
        bound = [node for node in walk(place.module.tree) if any(one.value == value.value for one in bound_by(node))]
        if len(bound) == 1 and isinstance(bound[0], cst.Assign) and place.source.function(bound[0]) is None:
            value = bound[0].value
    return isinstance(value, cst.Integer)


def _assert(place: LaunchSource, size: cst.BaseExpression) -> TextEdit:
    """The assert, behind the launcher's others and what ``size`` is bound by, where each call goes on from there to the launch; else
    right before it."""
    source, host = place.source, place.host
    if not isinstance(size, cst.Name) or source.around(place.call, (cst.Lambda, cst.BaseComp)) is not None:
        raise CannotRewrite("K has no name where a statement can stand")
    text = f'assert {size.value} < {MAX_EXACT_K + 1:_}, "an int32 sum of int8 products may overflow"'
    bound = {host.line(binding) for binding in host.bindings(size.value)}
    before = host.body[: host.top_level(place.call) + 1]
    asserts = {
        line
        for line in before[:-1]
        if isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Assert)
    }
    above = [i for i, line in enumerate(before[:-1]) if line in bound | asserts]
    straight = above and all(
        isinstance(line, (cst.SimpleStatementLine, cst.FunctionDef)) for line in before[above[-1] :]
    )
    if straight and bound <= {*before[:-1]}:
        return source.insert_after(before[above[-1]], text)
    return source.insert_before(place.call, text)
