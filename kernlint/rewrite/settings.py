"""Tile sizes and launch options: integer literals, and keywords at a launch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain

import libcst as cst

from kernlint.interpret.edits import Edits
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.readers import read_elsewhere, watched
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.proofs.kernel_copies import once_of_copies
from kernlint.rules.proofs.other_calls import other_calls
from kernlint.rules.proofs.tile_independence import difference
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk
from kernlint.workload import Launch, Reduce, Scan, Span


def set_literals(site: Site, literals: Iterable[tuple[Span, int]]) -> Rewriting:
    """Each integer literal with its new value, where that differs."""
    edits = []
    changed = set()
    effects = Effects()
    for span, value in sorted(literals):
        node = site.source.at(span, cst.Integer)
        if node.evaluated_value != value:
            edits.append(site.source.replace(node, str(value)))
            changed.add(span)
            effects |= for_launches_alone(site, node)
    for launch in site.workload.launches():
        names = {name for name, spans in launch.literals.items() if changed.intersection(spans)}
        effects |= order_of_sums(launch, names)
    return Rewriting(tuple(edits), effects)


def for_launches_alone(site: Site, number: cst.Integer) -> Effects:
    """What becomes of others that read ``number``, which is to be another one for launches."""
    other = read_elsewhere(site.source, number, site.workload.launches_by_span.keys())
    where = f"`{number.value}` at line {site.source.line_number(site.source.start(number))}"
    return Effects("unsafe", notes=(f"{where} is not for the launch alone: {other}",)) if other else Effects()


def same_work(site: Site, edits: Edits) -> Effects:
    """What another tile does beside another order of sums: nothing where the rest of the program is proven not to depend on
    it. Raises :class:`CannotRewrite` where it surely does."""
    tiles = Edits(literals=edits.literals, options=frozenset(one for one in edits.options if one[1] not in _OPTIONS))
    if not tiles:
        return Effects()
    found = difference(site.workload, site.after(edits), edits)  # which has been asked for its price
    if found is not None and found.certain:
        raise CannotRewrite(found.what)
    note = found.what if found is not None else _elsewhere(site, tiles) or _watched(site, tiles)
    return Effects("unsafe", notes=(f"whether the tile is free is not proven: {note}",)) if note else Effects()


def _watched(site: Site, tiles: Edits) -> str:
    """Who sees the grids that ``tiles`` change; empty where nobody."""
    changed = {*tiles.new_literals, *tiles.new_options}
    launches = (one for one in site.workload.launches() if changed & {one.span, *chain(*one.literals.values())})
    kernels = sorted({launch.kernel.name for launch in launches})
    return next(filter(None, (watched(site.source, name) for name in kernels)), "")


def _elsewhere(site: Site, tiles: Edits) -> str:
    """What ``tiles`` change at sizes that the present tiles divide and they may not; empty where nothing."""
    for call in other_calls(site.program, site.workload, _step(site, tiles)):
        some = once_of_copies(call.program.kernel, call.workload, tiles)
        after = call.program.workload(site.workload.entry, some, site.workload.bare)
        found = difference(call.workload, after, some)
        if found is not None:
            return f"{found.what} where {call.sizes}" if call.sizes else found.what
    return ""


def _step(site: Site, tiles: Edits) -> int:
    """What every present tile divides."""
    present: list[object] = [site.source.at(span, cst.Integer).evaluated_value for span, _ in tiles.literals]
    present += [_current(site.launch(span), name) for span, name, _ in tiles.options]
    return math.lcm(*(one for one in present if isinstance(one, int) and one > 0))


def set_options(site: Site, options: Iterable[tuple[Span, str, int]]) -> Rewriting:
    """Each launch with its constexprs and options set."""
    edits: list[TextEdit] = []
    effects = Effects()
    names: dict[Span, set[str]] = {}
    # Launch options stand behind constexprs, warps before stages, as people write them.
    for span, name, value in sorted(
        options, key=lambda one: (one[0], one[1] in _OPTIONS, one[1] == "num_stages", one[1])
    ):
        made, apart = _set_option(site, span, name, value)
        effects |= apart
        edits += made
        if made:
            names.setdefault(span, set()).add(name)
    for launch in site.workload.launches():
        effects |= order_of_sums(launch, names.get(launch.span, set()))
    return Rewriting(_in_one_place(edits), effects)


#: Not a constexpr of the kernel, and the number of programs does not depend on it.
_DEFAULTS = {"num_warps": 4, "num_stages": 3}
_OPTIONS = frozenset(_DEFAULTS)


def order_of_sums(launch: Launch, names: set[str]) -> Effects:
    """A tile of another shape, and a reduction over another number of threads, add up in another order; stages do not
    matter, nor does any of it where nothing is summed in floating point."""
    kernel = launch.kernel
    names = names - {"num_stages"}
    dots = any(dot.out.is_float for dot in kernel.dots()) and bool(names - _OPTIONS)
    reductions = kernel.has((Reduce, Scan)) and bool(names)
    return Effects(numerics="reordered") if dots or reductions else Effects()


def _in_one_place(edits: list[TextEdit]) -> tuple[TextEdit, ...]:
    """``edits`` with those that insert at one offset made one, so that their order is theirs."""
    merged: dict[tuple[int, int], TextEdit] = {}
    for edit in edits:
        key = (edit.start, edit.end)
        if key in merged and edit.start == edit.end:
            merged[key] = TextEdit(edit.start, edit.end, merged[key].text + edit.text)
        else:
            merged[key] = edit
    return tuple(merged.values())


def _set_option(site: Site, span: Span, name: str, value: int) -> tuple[list[TextEdit], Effects]:
    source = site.source
    launch, call = site.launch(span), source.at(span, cst.Call)
    current = _current(launch, name)
    if current == value and (name in launch.explicit or current == _DEFAULTS.get(name)):
        return [], Effects()
    given = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)
    if given is None:
        given = _positional(site, launch, call, name)
    if given is not None:
        constant = _constant(site, given.value)
        if constant is not None:
            return [source.replace(constant, str(value))], for_launches_alone(site, constant)
        return [source.replace(given.value, str(value))], Effects()
    if name in launch.explicit and any(arg.star == "**" for arg in call.args):
        entry = _in_dictionary(site, call, name)
        return [source.replace(entry, str(value))], for_launches_alone(site, entry)
    if any(arg.star == "*" for arg in call.args) and name in launch.explicit:
        raise CannotRewrite(f"{name} is among the starred arguments of the launch")
    if launch.autotuned:
        raise CannotRewrite(f"{name} is up to the configurations of the tuner")
    return source.add_keyword(call, name, str(value)), Effects()


def _current(launch: Launch, name: str) -> object:
    return {"num_warps": launch.num_warps, "num_stages": launch.num_stages}.get(name, launch.constexprs.get(name))


def _positional(site: Site, launch: Launch, call: cst.Call, name: str) -> cst.Arg | None:
    """The positional argument of the launch that binds the constexpr ``name``."""
    for function in site.source.functions(launch.kernel.name):
        params = [param.name.value for param in (*function.params.posonly_params, *function.params.params)]
        if name in params and site.module.span(function) == launch.kernel.span:
            index = params.index(name)
            before = call.args[: index + 1]
            if index < len(call.args) and all(arg.keyword is None and not arg.star for arg in before):
                return call.args[index]
    return None


def _constant(site: Site, value: cst.BaseExpression) -> cst.Integer | None:
    """The literal of the constant that ``value`` names, where nothing else reads that constant."""
    name = dotted_name(value)
    if name is None or "." in name:
        return None
    keywords = {id(arg.keyword) for arg in site.module.of(cst.Arg)}
    uses = [n for n in site.module.of(cst.Name) if n.value == name and id(n) not in keywords]
    assigned = (node for node in site.module.of(cst.Assign) if len(node.targets) == 1)
    bound = [node for node in assigned if dotted_name(node.targets[0].target) == name]
    if len(bound) != 1 or len(uses) != 2 or not isinstance(bound[0].value, cst.Integer):
        return None
    return bound[0].value


def _in_dictionary(site: Site, call: cst.Call, name: str) -> cst.Integer:
    """The literal under ``name`` in the one dictionary of the module that has it, for ``**LAUNCH``."""
    found: list[cst.BaseExpression] = []
    for node in walk(site.module.tree):
        if isinstance(node, cst.DictElement) and isinstance(node.key, cst.SimpleString):
            if node.key.raw_value == name:
                found.append(node.value)
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "dict":
            found += [arg.value for arg in node.args if arg.keyword is not None and arg.keyword.value == name]
    if len(found) != 1 or not isinstance(found[0], cst.Integer):
        raise CannotRewrite(
            f"{name} comes from a dictionary at line {site.source.line_number(site.source.start(call))}"
        )
    return found[0]
