"""A chain of launches becomes one launch of one kernel."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

import libcst as cst

from kernlint.interpret.edits import NO_EDITS
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.epilogue import fold_epilogue, is_epilogue
from kernlint.rewrite.function import FunctionSource, LaunchSource
from kernlint.rewrite.fused_kernel import FusedKernel, Parameter, Part, heading, wrapped
from kernlint.rewrite.inlining import METADATA, inlined
from kernlint.rewrite.joining import append, append_to_tile, prepend
from kernlint.rewrite.mentions import mentions
from kernlint.rewrite.names import fresh_name, names_in_use
from kernlint.rewrite.paragraphs import stale_headings
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.rules.fusion.chains import Chain, Fuse, chain_at, chains
from kernlint.rules.fusion.merging import INTO_CONSUMER, INTO_PRODUCER
from kernlint.syntax.tree import parse_module
from kernlint.syntax.walk import walk
from kernlint.workload import Atomic, Launch, TorchOp


@codemod(Fuse, Effects(numerics="reordered", memory="less"))
def fuse(site: Site, transform: Fuse) -> list[TextEdit]:
    """The kernels of the chain as one, launched where the last of them was; the tensors between are no longer made."""
    chain = chain_at(site.workload, transform.places)
    if chain is None:
        raise CannotRewrite("the launches no longer follow from each other")
    if is_epilogue(chain):
        return fold_epilogue(site, chain)
    if any(not isinstance(step, Launch) for step in chain.steps):
        raise CannotRewrite("a torch call is part of the chain")
    places = [LaunchSource(site, step.span) for step in chain.steps]
    for place, step in zip(places, chain.steps):
        if place.launch is not step:
            raise CannotRewrite("one line makes several of the launches")
    if any(place.host.node is not places[-1].host.node for place in places):
        return _in_one_block(site, chain, places)
    host = HostCode(site.source, places)
    likened = _likened(site, host, chain)
    if likened != site.source.text:
        return _again(site, chain, likened)
    parts = [Part(site.source, place) for place in places]
    fused = joined(chain, parts)
    _check_repeatable(fused)
    edits = _kernel_edits(site.source, fused, parts)
    _check_decorators(fused)
    return [*edits, *_host_edits(site, host, chain, fused, places)]


def _in_one_block(site: Site, chain: Chain, places: Sequence[LaunchSource]) -> list[TextEdit]:
    """The same for launches in helpers, which are written out in the function that calls them first."""
    source = site.source
    caller = _function(source, site.workload.entry)
    helpers = {place.host.node.name.value: place.host.node for place in places if place.host.node is not caller}
    return _again(site, chain, inlined(source, caller, list(helpers.values())))


def _again(site: Site, chain: Chain, text: str) -> list[TextEdit]:
    """Edits that make the same change to ``text``, a version of the module that means the same."""
    module = parse_module(text, site.module.path, site.module.first_line)
    program = site.program.variant(module, site.program.question)
    workload = program.workload(site.workload.entry, NO_EDITS)
    if workload is None:
        raise CannotRewrite("the launches stand in different functions")
    names = [step.kernel.name for step in chain.steps if isinstance(step, Launch)]
    found = [c for c in chains(workload) if [launch.kernel.name for launch in c.launches] == names]
    if len(found) != 1 or found[0].torch_ops:
        raise CannotRewrite("the launches stand in different functions")
    result = apply_edits(text, fuse(Site(program, workload), Fuse(found[0].places)))
    return difference(site.source.text, result)


def _likened(site: Site, host: HostCode, chain: Chain) -> str:
    """The module's text in which what an intermediate has in common with the tensor it was made like is asked of that
    one, so that the intermediate can go."""
    edits: list[TextEdit] = []
    origins: dict[str, str] = {}
    for name, call in _intermediates(site, host, chain):
        if site.source.origin(call.func) != "torch.empty_like" or len(call.args) != 1:
            continue
        text = site.source.code(call.args[0].value)
        origin = origins.get(text, text)
        head = origin.partition(".")[0]
        after = site.source.end(call)
        if any(site.source.start(one) > after for one in host.function.bindings(head)):
            continue
        origins[name] = origin
        for read in host.function.reads(name):
            parent = host.function.parents[read]
            asked = isinstance(parent, cst.Attribute) and parent.attr.value in METADATA
            outer = host.function.parents[parent]
            like = isinstance(outer, cst.Call) and site.source.origin(outer.func) == "torch.empty_like"
            if asked or like:
                edits.append(site.source.replace(read, origin))
    return apply_edits(site.source.text, edits)


def _function(source: Source, symbol: str) -> cst.FunctionDef:
    """The function or method called ``symbol``."""
    owner, _, name = symbol.rpartition(".")
    for node in source.functions(name):
        outer = source.around(node, cst.ClassDef)
        if (outer.name.value if isinstance(outer, cst.ClassDef) else "") == owner:
            return node
    raise CannotRewrite("the launches stand in different functions")


def difference(before: str, after: str) -> list[TextEdit]:
    """Edits of whole lines that turn one text into the other."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        TextEdit(starts[i1], starts[i2], "".join(new[j1:j2]), describes=True)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def joined(chain: Chain, parts: Sequence[Part]) -> FusedKernel:
    """The parts put together in the ways that the chain's merges say."""
    fused = FusedKernel.of(parts[0])
    kept = {tensor.storage.id for tensor in chain.kept}
    for part, merge in zip(parts[1:], chain.merges):
        passed = {tensor.storage.id for tensor in merge.passed}
        if merge.anchor is None:
            if part.launch.autotuned:
                raise CannotRewrite(f"`{part.name}` is autotuned")
            append(fused, part, passed, kept)
        elif merge.way == INTO_PRODUCER:
            append_to_tile(fused, part, passed, kept, *merge.anchor)
        else:
            assert merge.way == INTO_CONSUMER
            guest, host = merge.anchor
            fused = prepend(fused, part, passed, host, guest)
    return fused


# -- the kernel -------------------------------------------------------------------------------------------------------


def _kernel_edits(source: Source, fused: FusedKernel, parts: Sequence[Part]) -> list[TextEdit]:
    """The fused kernel in the place of the first of ``parts``; the others go where nothing else mentions them."""
    calls = [part.place.call for part in parts]
    definitions = list({id(part.function.node): part.function.node for part in parts}.values())
    gone = [node for node in definitions if not _mentioned(source, node, calls)]
    text = kernel_text(source, fused, fused_name(source, parts))
    first = min(gone or definitions, key=source.start)
    edits = []
    for node in gone:
        start, end = source.with_heading(node)
        edits.append(TextEdit(start, end, text if node is first else "", describes=True))
    if not gone:
        _, end = source.with_heading(max(definitions, key=source.start))
        edits.append(TextEdit(end, end, f"\n\n{text}"))
    return edits


def kernel_text(source: Source, fused: FusedKernel, name: str) -> str:
    """The definition of the fused kernel."""
    decorators = [source.code(d) for d in fused.host.function.node.decorators]
    parameters = [(p.declaration, p.comment) for p in fused.used_parameters()]
    body = "\n".join(_body(fused)).strip("\n")
    names = fused.settle("\n".join([*(text for text, _ in parameters), body]))
    settled = names.split("\n")
    parameters = [(text, comment) for text, (_, comment) in zip(settled, parameters)]
    rows = [*decorators, wrapped(f"def {name}", parameters, ":", "")]
    return "\n".join([*rows, *(f"    {row}" if row else "" for row in settled[len(parameters) :])]) + "\n"


def _check_repeatable(fused: FusedKernel) -> None:
    """Raise where an autotuner would run a kernel several times that changes what it reads."""
    if not fused.host.launch.autotuned:
        return
    stored = {part.storage(c) for part in fused.parts for c in part.calls("store") if _stays(part, c)}
    loaded = {part.storage(c) for part in fused.parts for c in part.calls("load") if c not in part.texts}
    if stored & loaded or any(_has_atomic(part) for part in fused.parts[1:]):
        raise CannotRewrite("the autotuner would make the update once for each configuration that it tries")


def _stays(part: Part, call: cst.Call) -> bool:
    return id(part.function.line(call)) not in part.gone


def _has_atomic(part: Part) -> bool:
    return any(True for _ in part.launch.kernel.walk(Atomic))


def _check_decorators(fused: FusedKernel) -> None:
    """Raise where decorators of the kernel speak of parameters that no longer have their names."""
    part = fused.host
    if len(part.function.node.decorators) == 1:
        return
    used = {p.name for p in fused.used_parameters()}
    for name in part.parameters:
        now = part.names.get(name, name)
        if fused.settled.get(now, now) != name or now not in used:
            words = {word for d in part.function.node.decorators for word in re.findall(r"\w+", part.source.code(d))}
            if name in words:
                raise CannotRewrite(
                    f"the decorators of `{part.name}` speak of `{name}`, which the fused kernel has not"
                )


def _body(fused: FusedKernel) -> list[str]:
    rows: list[str] = []
    begun: set[int] = set()
    for line in fused.needed():
        if line.part is not None and id(line.part) not in begun:
            begun.add(id(line.part))
            rows += ["", *_introduction(line.part)]
        rows += fused.text_of(line).split("\n")
    return rows


def _introduction(part: Part) -> list[str]:
    """What comments and docstring said of a kernel, above its part of the fused one."""
    said = [*heading(part.source, part.function.node)]
    said += [f"# {part.docstring}"] if part.docstring else []
    return said


def fused_name(source: Source, parts: Iterable[Part]) -> str:
    """A name that says what the parts do: ``scale_shift_silu_kernel`` for ``scale_shift_kernel`` and ``silu_kernel``."""
    names = [part.name for part in parts]
    suffix = next((s for s in ("_kernel", "_fwd", "_forward") if all(name.endswith(s) for name in names)), "")
    stems = [name.removesuffix(suffix).strip("_") for name in names]
    common = [words[0] for words in zip(*(stem.split("_") for stem in stems)) if len(set(words)) == 1]
    if common and len(set(stems)) > 1:
        stems = ["_".join(common)]
    lead = "_" if all(name.startswith("_") for name in names) else ""
    return fresh_name(lead + "_".join(stems) + suffix, names_in_use(source.module))


def _mentioned(source: Source, node: cst.FunctionDef, calls: Sequence[cst.Call]) -> bool:
    """Whether the module names a kernel anywhere but in the launches that go."""
    inside = {id(inner) for call in calls for inner in walk(call.func)}
    return any(id(mention) not in inside for mention in mentions(source.module, node.name.value))


# -- the host ---------------------------------------------------------------------------------------------------------


class HostCode:
    """The host function that makes the launches ``places``, one after the other in one block."""

    def __init__(self, source: Source, places: Sequence[LaunchSource]) -> None:
        self.source = source
        self.places = places
        self.function: FunctionSource = places[0].host
        if any(place.host.node is not self.function.node for place in places):
            raise CannotRewrite("the launches stand in different functions")
        self.lines = [self.function.line(place.call) for place in places]
        block = self.function.parents[self.lines[0]]
        if any(self.function.parents[line] is not block for line in self.lines):
            raise CannotRewrite("the launches do not stand in one block")
        for line, place in zip(self.lines, places):
            if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
                raise CannotRewrite("a launch shares its line with something else")
            if getattr(line.body[0], "value", None) is not place.call:
                raise CannotRewrite("a launch is part of a larger statement")
        self.block: list[cst.CSTNode] = list(block.body)  # type: ignore[attr-defined]

    @property
    def between(self) -> list[cst.CSTNode]:
        """The statements from the first launch to the last, the launches left out."""
        first, last = self.block.index(self.lines[0]), self.block.index(self.lines[-1])
        return [line for line in self.block[first : last + 1] if all(line is not one for one in self.lines)]

    def rebound(self) -> dict[str, list[cst.CSTNode]]:
        """Names that statements between the launches bind, with those statements."""
        found: dict[str, list[cst.CSTNode]] = {}
        for line in self.between:
            for node in walk(line):
                if isinstance(node, cst.Name) and self.function.is_bound(node):
                    found.setdefault(node.value, []).append(line)
        return found


def _host_edits(
    site: Site, host: HostCode, chain: Chain, fused: FusedKernel, places: Sequence[LaunchSource]
) -> list[TextEdit]:
    source = site.source
    used = fused.used_parameters()
    keeper = fused.host.place
    name = fused_name(source, fused.parts)
    call = _call_text(source, keeper, fused, used, name, source.indent(source.start(host.lines[-1])))
    gone: list[cst.CSTNode] = list(host.lines[:-1])
    texts = [p.argument or "" for p in used] + [source.code(keeper.call.func)]
    gone += _moved_bindings(host, keeper, fused, used)
    gone += _allocations(site, host, chain, gone, texts)
    edits = [source.replace(places[-1].call, call), *source.delete_statements(gone)]
    return [*edits, *stale_headings(source, gone)]


def _call_text(
    source: Source, keeper: LaunchSource, fused: FusedKernel, used: Sequence[Parameter], name: str, indent: str
) -> str:
    """The launch of the fused kernel with the grid and the options of ``keeper``."""
    items: list[str] = []
    stars: list[str] = []
    keywords = False
    for parameter in used:
        if parameter.argument is None:
            if "=" not in parameter.declaration and parameter.name not in _tuned(keeper):
                raise CannotRewrite(f"the launch does not say what `{parameter.name}` is")
            keywords = True
            continue
        if parameter.argument.startswith("**"):
            stars += [] if parameter.argument in stars else [parameter.argument]
            keywords = True
            continue
        keywords = keywords or parameter.keyword
        name_there = fused.settled.get(parameter.name, parameter.name)
        items.append(f"{name_there}={parameter.argument}" if keywords else parameter.argument)
    known = {p.name for part in fused.parts for p in part.parameters.values()}
    for arg in keeper.call.args:
        if arg.keyword is not None and arg.keyword.value not in known:
            items.append(f"{arg.keyword.value}={source.code(arg.value)}")
        elif arg.star == "**" and f"**{source.code(arg.value)}" not in stars:
            stars.append(f"**{source.code(arg.value)}")
    function = keeper.call.func
    assert isinstance(function, cst.Subscript)
    grid = source.text[source.end(function.value) : source.end(function)]
    text = wrapped(f"{name}{grid}", [(item, "") for item in (*items, *stars)], "", indent)
    return text[len(indent) :]


def _tuned(place: LaunchSource) -> set[str]:
    """The constexprs that the autotuner of the kernel sets."""
    return set(place.launch.constexprs) - set(place.launch.explicit) if place.launch.autotuned else set()


def _moved_bindings(
    host: HostCode, keeper: LaunchSource, fused: FusedKernel, used: Sequence[Parameter]
) -> list[cst.CSTNode]:
    """Check that what the launch reads means at the last launch what it meant at its own; the bindings in between that
    only a launch that goes reads are returned, to go too."""
    gone: list[cst.CSTNode] = []
    rebound = host.rebound()
    last_call = host.places[-1].call
    texts = [p.argument or "" for p in used if p.call is not last_call]
    names = {node.value for text in texts for node in _names_in(text)}
    if keeper.call is not last_call:
        options = [arg for arg in keeper.call.args if arg.keyword is not None or arg.star]
        names |= {n.value for node in (keeper.call.func, *options) for n in walk(node) if isinstance(n, cst.Name)}
    last = host.lines[-1]
    for name in sorted(names & set(rebound)):
        for line in rebound[name]:
            later = [read for read in host.function.reads(name) if host.source.start(read) > host.source.end(line)]
            only_grids = all(_in_dropped_grid(host, keeper, read) for read in later)
            if not only_grids or not isinstance(line, cst.SimpleStatementLine) or line is last:
                raise CannotRewrite(f"`{name}` changes between the launches")
            gone.append(line)
    return gone


def _in_dropped_grid(host: HostCode, keeper: LaunchSource, read: cst.Name) -> bool:
    around = {id(node) for node in host.function.around(read)}
    for place in host.places:
        if place is not keeper and isinstance(place.call.func, cst.Subscript) and id(place.call.func) in around:
            return True
    return False


def _allocations(
    site: Site, host: HostCode, chain: Chain, gone: Sequence[cst.CSTNode], texts: Sequence[str]
) -> list[cst.CSTNode]:
    """The statements that allocate tensors which nothing uses any more."""
    ids = {id(node) for line in gone for node in walk(line)}
    ids |= {id(node) for place in host.places for node in walk(place.call)}
    words = {node.value for text in texts for node in _names_in(text)}
    found: list[cst.CSTNode] = []
    for name, call in _intermediates(site, host, chain):
        if name in words or any(id(read) not in ids for read in host.function.reads(name)):
            raise CannotRewrite(f"`{name}` is still used for its shape or type")
        found.append(host.function.line(call))
    return found


def _intermediates(site: Site, host: HostCode, chain: Chain) -> list[tuple[str, cst.Call]]:
    """The variables that hold what the launches hand over, with the calls that allocate them."""
    kept = {tensor.storage.id for tensor in chain.kept}
    storages = {tensor.storage.id for tensor in chain.passed} - kept
    found: list[tuple[str, cst.Call]] = []
    for step, _ in site.workload.walk():
        if not isinstance(step, TorchOp) or step.kind not in ("alloc", "fill"):
            continue
        if not {t.storage.id for t in step.writes} <= storages or step.span.file != site.module.path:
            continue
        call = site.source.at(step.span, cst.Call)
        if call not in host.function.parents:
            raise CannotRewrite("an intermediate is allocated in another function")
        name = _single_target(host.function.line(call))
        if name is None:
            raise CannotRewrite("an intermediate is allocated in a larger statement")
        found.append((name, call))
    return found


def _single_target(line: cst.CSTNode) -> str | None:
    if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and isinstance(line.body[0], cst.Assign):
        targets = line.body[0].targets
        if len(targets) == 1 and isinstance(targets[0].target, cst.Name):
            return targets[0].target.value
    return None


def _names_in(text: str) -> list[cst.Name]:
    try:
        tree = cst.parse_expression(text.removeprefix("**"))
    except cst.ParserSyntaxError:
        return []
    return [node for node in walk(tree) if isinstance(node, cst.Name)]
