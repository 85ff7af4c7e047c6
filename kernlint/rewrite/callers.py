"""Who else of the module comes to a launch than the call that was followed: it may bring operands of other types."""

from __future__ import annotations

from collections import Counter

import libcst as cst

from kernlint.rewrite import other_files
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.mentions import mentions
from kernlint.rewrite.site import Site
from kernlint.rewrite.source import Source
from kernlint.syntax.dialect import is_triton_jit

#: What Python or torch calls for those who hold the object or the class: they name the class, not the method.
_THROUGH_CLASS = frozenset({"forward", "backward", "setup_context", "__init__", "__call__"})
_BRANCHES = (
    cst.If, cst.IfExp, cst.While, cst.For, cst.Try, cst.With, cst.BooleanOperation, cst.Lambda, cst.CompFor,
)  # fmt: skip


def used_elsewhere(site: Site, kernel: cst.FunctionDef) -> Effects:
    """Unsafe where ``kernel``, in which something is to rest on what the launches that were followed pass, has others, here or in
    another file of the project."""
    name = kernel.name.value
    other = other_files.reader(site.module, name)
    if other is not None:
        return Effects("unsafe", notes=(f"what `{name}` is given by {other.name} was not followed",))
    return given_elsewhere(site, [kernel])


def given_elsewhere(site: Site, functions: list[cst.FunctionDef]) -> Effects:
    """Unsafe where kernels among ``functions``, or kernels that call these, are used beside the launches that were followed, or who
    comes to those launches beside the call that was: arguments may have other types there."""
    source = site.source
    followed = Counter(launch.span for launch in site.workload.launches())
    known = {function.name.value for function in functions}
    waiting = sorted(known)
    while waiting:
        name = waiting.pop()
        for mention in (one for one in mentions(site.module, name) if isinstance(one, cst.Name)):
            calls = (one for one in source.above(mention) if isinstance(one, cst.Call))
            span = next((site.module.span(call) for call in calls if site.module.span(call) in followed), None)
            around = source.function(mention)
            other: cst.CSTNode = mention
            if span is not None:
                found = another_caller(site, source.at(span, cst.Call), followed[span])
                if found is None:
                    continue
                name, other = found
            elif around is not None and any(is_triton_jit(one.decorator, source.imports) for one in around.decorators):
                if around.name.value not in known:
                    known.add(around.name.value)
                    waiting.append(around.name.value)
                continue
            line = source.line_number(source.start(other))
            return Effects("unsafe", notes=(f"what `{name}` is given, for one at line {line}, was not followed",))
    return Effects()


def another_caller(site: Site, launch: cst.Call, runs: int) -> tuple[str, cst.CSTNode] | None:
    """The name and the place of a use that was not, or may not have been, on the way to ``launch``, which ran ``runs`` times; None
    where each function on that way has no caller but the next."""
    source, sites = site.source, 1
    function = source.function(launch)
    seen: set[cst.FunctionDef] = set()
    while function is not None:
        if function in seen:
            return function.name.value, function  # it calls itself, with what is not known
        seen.add(function)
        name, uses = _uses(source, function)
        around = {source.function(use) for use in uses}
        within = [use for use in uses if source.function(use) is not None]
        if _is_entry(site, function):
            owner = _class_of(source, function)
            # Who makes an object of the class calls it from outside, as the followed call does.
            inner = within if owner is None else [use for use in within if source.around(use, cst.ClassDef) is owner]
            return (name, inner[-1]) if inner else None
        if not uses:
            return None
        # As many runs as places: each may be one of them, unless some are in other functions, or not always come to.
        sites *= len(uses)
        beside = len(around) > 1 or sites > runs
        if beside or (len(uses) > 1 and any(_perhaps(source, use) for use in uses)):
            return name, (within or uses)[-1]
        for use in uses:
            if not _is_called(source, use):
                return name, use
        function = around.pop()
    return None


def _is_entry(site: Site, function: cst.FunctionDef) -> bool:
    """Whether the call that was followed is one of ``function``, or of the object that it makes."""
    owner, _, name = site.workload.entry.rpartition(".")
    around = _class_of(site.source, function)
    if around is None:
        return not owner and function.name.value == name
    return around.name.value == owner.rpartition(".")[2] and function.name.value in {name, "__init__"}


def _uses(source: Source, function: cst.FunctionDef) -> tuple[str, list[cst.CSTNode]]:
    """What ``function`` is used by, and where."""
    name, module = function.name.value, source.module
    owner = _class_of(source, function)
    if owner is None:
        if source.function(function) is not None:
            return name, [call.func for call in source.calls(name)]
        return name, _named(source, name)
    reads = [one for one in module.of(cst.Attribute) if one.attr.value == name]
    if name not in _THROUGH_CLASS:
        return name, [*reads]
    attributes = [one for one in reads if name != "__init__" and not _of_super(one)]
    bound = [call.func for call in source.calls("self") if source.around(call, cst.ClassDef) is owner]
    return owner.name.value, [*attributes, *bound, *_objects(source, owner.name.value)]


def _named(source: Source, name: str, seen: frozenset[str] = frozenset()) -> list[cst.CSTNode]:
    """Where the module's ``name`` is used, or another one that it is bound to for the whole module (``matmul = Matmul.apply``)."""
    found: list[cst.CSTNode] = []
    for one in mentions(source.module, name):
        if not isinstance(one, cst.Name) or _only_asked(source, one):
            continue
        whole = _chain(source, one)
        above = source.parent(whole)
        if isinstance(above, cst.Assign) and above.value is whole and source.function(above) is None:
            targets = [target.target for target in above.targets]
            if all(isinstance(target, cst.Name) and target.value not in seen for target in targets):
                aliases = [target.value for target in targets if isinstance(target, cst.Name)]
                found += [use for alias in aliases for use in _others(source, alias, name, seen)]
                continue
        found.append(one)
    return found


def _only_asked(source: Source, name: cst.Name) -> bool:
    """Whether ``name`` stands for a type alone: in an annotation, ``super(Model, self)`` or ``isinstance(x, Model)``."""
    if source.around(name, cst.Annotation) is not None:
        return True
    arg = source.parent(name)
    call = source.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in ("super", "isinstance")


def _others(source: Source, alias: str, name: str, seen: frozenset[str]) -> list[cst.CSTNode]:
    return [] if alias == name else [*_read(source, _named(source, alias, seen | {name}))]


def _read(source: Source, uses: list[cst.CSTNode]) -> list[cst.CSTNode]:
    """``uses`` without those that a statement binds."""
    return [use for use in uses if not isinstance(source.parent(use), cst.AssignTarget)]


def _objects(source: Source, name: str) -> list[cst.CSTNode]:
    """Where the class ``name`` is used: an object kept as an attribute, where that is read."""
    found: list[cst.CSTNode] = []
    for use in _named(source, name):
        call = source.parent(use)
        statement = source.parent(call) if isinstance(call, cst.Call) and call.func is use else None
        kept = statement.targets if isinstance(statement, cst.Assign) and statement.value is call else ()
        names = {one.target.attr.value for one in kept if isinstance(one.target, cst.Attribute)}
        if len(names) == len(kept) > 0:
            reads = [one for one in source.module.of(cst.Attribute) if one.attr.value in names]
            found += _read(source, [*reads])
        else:
            found.append(use)
    return found


def _chain(source: Source, node: cst.CSTNode) -> cst.CSTNode:
    """``Class.apply`` around the name ``Class``."""
    above = source.parent(node)
    return above if isinstance(above, cst.Attribute) and above.value is node else node


def _is_called(source: Source, use: cst.CSTNode) -> bool:
    """Whether ``use`` is called there and then, and not handed on to who knows whom."""
    for one in (use, _chain(source, use)):
        call = source.parent(one)
        if isinstance(call, cst.Call) and call.func is one:
            return True
    return False


def _perhaps(source: Source, use: cst.CSTNode) -> bool:
    """Whether a call of the function around ``use`` may leave ``use`` out."""
    for above in source.above(use):
        if isinstance(above, cst.FunctionDef):
            return False
        if isinstance(above, _BRANCHES):
            return True
    return False


def _of_super(attribute: cst.Attribute) -> bool:
    called = attribute.value
    return isinstance(called, cst.Call) and isinstance(called.func, cst.Name) and called.func.value == "super"


def _class_of(source: Source, function: cst.FunctionDef) -> cst.ClassDef | None:
    """The class whose method ``function`` is."""
    around = next((one for one in source.above(function) if isinstance(one, (cst.FunctionDef, cst.ClassDef))), None)
    return around if isinstance(around, cst.ClassDef) else None
