"""Write in place: a launch stores to the tensor that its result is copied over afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import libcst as cst

from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass, replace
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import LaunchSource
from kernlint.rewrite.function import parameters as parameters_of
from kernlint.rewrite.lists import change_parameters
from kernlint.rewrite.paragraphs import stale_headings
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.finding import Context, Variant, tensor_name
from kernlint.rules.proofs.indices import addresses, always_run
from kernlint.rules.proofs.liveness import uses
from kernlint.syntax.walk import walk
from kernlint.workload import Access, Launch, Load, Span, Step, Store, Tensor, TorchOp, Workload
from kernlint.workload.steps import allocates


@dataclass(frozen=True)
class Copy(Place):
    """A torch call that puts the elements of one tensor over those of another."""

    op: TorchOp


@dataclass(frozen=True)
class CopyBack:
    """``copy`` puts ``new``, which ``launch`` wrote through ``parameter``, over ``target``; it could have written there."""

    copy: TorchOp
    launch: Launch
    new: Tensor
    target: Tensor
    parameter: str


class _WriteInPlace(Operator[Copy, CopyBack]):
    name: ClassVar[str] = "write in place"
    causes: ClassVar[frozenset[str]] = frozenset({"copies", "round trips"})

    def sites(self, context: Context) -> Iterator[Copy]:
        for op in context.workload.all_steps:
            plain = isinstance(op, TorchOp) and (op.kind, len(op.reads), len(op.writes)) == ("copy", 1, 1)
            if isinstance(op, TorchOp) and plain and op.name in ("copy_", "setitem"):
                name = tensor_name(op.writes[0], "a tensor")
                yield Copy(f"the copy over `{name}`", op.span, op.function, "", op)

    def check(self, context: Context, site: Copy) -> CopyBack | WhyNot:
        copy, workload = site.op, context.workload
        new, target = copy.reads[0], copy.writes[0]
        same = (new.shape, new.strides, new.dtype) == (target.shape, target.strides, target.dtype)
        if new.shape is None or new.strides is None or not same:
            return WhyNot("what is copied has another type, shape or layout, or one that is not known")
        if new.storage.origin != "empty" or new.storage.id == target.storage.id:
            return WhyNot("what is copied was not allocated in this call for a kernel to write")
        if any(output.storage.id == new.storage.id for output in workload.outputs):
            return WhyNot("what is copied is returned as well")
        users = [(step, loops) for step, loops in uses(workload, new.storage.id) if not allocates(step)]
        if len(users) != 2 or users[1][0] is not copy or users[0][1] != users[1][1]:
            return WhyNot("more than one launch and this copy touch what is copied")
        launch = users[0][0]
        if not isinstance(launch, Launch):
            return WhyNot("no kernel writes what is copied")
        if not _untouched_between(workload, launch, copy, target.storage.id):
            return WhyNot(f"another step touches the original between `{launch.kernel.name}` and the copy")
        names = launch.bound_to(new.storage.id)
        if len(names) != 1 or launch.tensor(names[0]) is None:
            return WhyNot(f"`{launch.kernel.name}` is passed the result more than once")
        if not launch.under_each(lambda one: _in_place_is_safe(one, new, target)):
            return WhyNot(
                f"a program of `{launch.kernel.name}` may read elements of the original that another one writes"
            )
        return CopyBack(copy, launch, new, target, names[0])

    def apply(self, context: Context, proofs: Sequence[CopyBack]) -> Variant:
        outputs = tuple((one.launch.span, one.new.storage.span, one.parameter, one.target) for one in proofs)
        return context.variant.then(transform=WriteInPlace(outputs, frozenset(one.copy.span for one in proofs)))


WRITE_IN_PLACE = _WriteInPlace()


def _untouched_between(workload: Workload, launch: Launch, copy: TorchOp, storage: int) -> bool:
    steps = workload.all_steps
    first = next(i for i, step in enumerate(steps) if step is launch)
    last = next(i for i, step in enumerate(steps) if step is copy)
    between = {id(step) for step in steps[first + 1 : last]}
    return first < last and not any(id(step) in between for step, _ in uses(workload, storage))


def _in_place_is_safe(launch: Launch, new: Tensor, target: Tensor) -> bool:
    """Whether the launch means the same when its stores to ``new`` go to ``target``.

    It does when it writes each element once, all of them, and reads ``target`` only at those addresses, before.
    """
    names = launch.bound_to(new.storage.id)
    stores = [(store, loops) for store, loops in always_run(launch.kernel, Store) if store.base in names]
    touching = launch.accesses(new.storage.id, Access)
    reads = launch.accesses(target.storage.id, Access)
    if not launch.kernel.complete or len(stores) != 1 or len(touching) != 1:
        return False
    store, loops = stores[0]
    if not store.mask_known:
        return False
    view = launch.tensor(store.base)
    written = addresses(launch, store, loops)
    if view is None or view.numel != new.numel or view.offset != 0 or written is None or not written.distinct:
        return False
    if new.shape is None or new.is_contiguous is not True or not written.cover(new.elements or 0):
        return False
    order = [node for node, _ in launch.kernel.walk()]
    position = next(i for i, node in enumerate(order) if node is store)
    for read in reads:
        before = next(i for i, node in enumerate(order) if node is read) < position
        source = launch.tensor(read.base)
        starts = source is not None and source.offset == target.offset
        alike = (read.offset, read.shape) == (store.offset, store.shape)
        if not (isinstance(read, Load) and before and starts and alike):
            return False
    return True


@dataclass(frozen=True)
class WriteInPlace:
    """The workload with launches that store to the original tensors, without the copies back.

    ``outputs`` holds (launch, allocation, parameter, original tensor) of each; ``copies`` the copies that go.
    """

    outputs: tuple[tuple[Span, Span | None, str, Tensor], ...]
    copies: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        return workload.mapped(self._step)

    def _step(self, step: Step) -> Step | None:
        if isinstance(step, TorchOp):
            freed = {allocation for _, allocation, _, _ in self.outputs}
            return None if step.span in self.copies or (step.kind == "alloc" and step.span in freed) else step
        if isinstance(step, Launch):
            given = {parameter: tensor for launch, _, parameter, tensor in self.outputs if launch == step.span}
            if given:
                alternatives = tuple(replace(a, arguments={**a.arguments, **given}) for a in step.alternatives)
                return replace(step, arguments={**step.arguments, **given}, alternatives=alternatives)
        return step


# -- the same as text -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Output:
    """``parameter`` was passed the temporary ``name``, and ``copy`` put that over ``target``."""

    parameter: str
    name: str
    target: str
    copy: cst.CSTNode


@codemod(WriteInPlace, Effects(memory="less"))
def write_in_place(site: Site, transform: WriteInPlace) -> list[TextEdit]:
    """The launch gets the original tensors as its outputs, through the parameter it reads them by where it has one; the
    temporaries and the copies go."""
    edits: list[TextEdit] = []
    for span in dict.fromkeys(launch for launch, _, _, _ in transform.outputs):
        chosen = [output for output in transform.outputs if output[0] == span]
        edits += _one_launch(site, span, [parameter for _, _, parameter, _ in chosen], transform.copies)
    return edits


def _one_launch(site: Site, span: Span, names: Sequence[str], copies: Iterable[Span]) -> list[TextEdit]:
    source = site.source
    place = LaunchSource(site, span)
    if place.launch.autotuned:
        raise CannotRewrite("the autotuner would make the update once for each configuration that it tries")
    passed = {name: _argument(place, name) for name in names}
    outputs = [
        output
        for copy in copies
        for output in [_copied(source, place, copy, passed)]
        if output is not None
    ]  # fmt: skip
    if {output.parameter for output in outputs} != set(names):
        raise CannotRewrite("a copy back stands in another function than the launch")
    gone = [place.host.line(output.copy) for output in outputs]
    edits, allocations = _allocations(source, place, outputs, gone)
    edits += source.delete_statements([*(output.copy for output in outputs), *allocations])
    edits += stale_headings(source, [*gone, *(place.host.line(node) for node in allocations)])
    return [*edits, *_pass_originals(source, place, outputs)]


def _argument(place: LaunchSource, name: str) -> cst.Arg:
    found = place.argument(name)
    if found is None or not isinstance(found.value, cst.Name):
        raise CannotRewrite(f"what the launch passes as `{name}` is not a variable")
    return found


def _copied(source: Source, place: LaunchSource, copy: Span, passed: dict[str, cst.Arg]) -> _Output | None:
    """The output that ``copy`` (``target.copy_(name)`` or ``target[...] = name``) puts in its place."""
    for node in walk(place.host.node.body):
        found: tuple[cst.CSTNode, cst.BaseExpression, cst.BaseExpression] | None = None
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "copy_":
            found = (node, node.func.value, node.args[0].value) if node.args else None
        elif isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Subscript):
            found = (node, node.targets[0].target.value, node.value)
        places = [node, node.targets[0].target, node.targets[0]] if isinstance(node, cst.Assign) else [node]
        if found is None or all(source.module.span(place) != copy for place in places):
            continue
        statement, target, value = found
        line = place.host.line(node)
        plain = isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], (cst.Expr, cst.Assign))
        if not plain or len(line.body.body if isinstance(line.body, cst.BaseSuite) else line.body) != 1:
            raise CannotRewrite("the copy back is part of a larger statement")
        for parameter, arg in passed.items():
            if isinstance(value, cst.Name) and isinstance(arg.value, cst.Name) and value.value == arg.value.value:
                return _Output(parameter, value.value, source.code(target), statement)
    return None


def _allocations(
    source: Source, place: LaunchSource, outputs: Sequence[_Output], gone: Sequence[cst.CSTNode]
) -> tuple[list[TextEdit], list[cst.CSTNode]]:
    """(Edits that shorten a tuple assignment, statements to delete): where the temporaries are allocated."""
    edits: list[TextEdit] = []
    deleted: list[cst.CSTNode] = []
    shortened: dict[int, tuple[cst.Assign, set[str]]] = {}
    ignored = {id(node) for line in (*gone, place.call) for node in walk(line)}
    for output in outputs:
        bound = place.host.bindings(output.name)
        if any(id(read) not in ignored for read in place.host.reads(output.name)):
            raise CannotRewrite(f"`{output.name}` is used for more than the copy")
        if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or len(bound[0].targets) != 1:
            raise CannotRewrite(f"`{output.name}` is not allocated by a statement of its own")
        target = bound[0].targets[0].target
        if isinstance(target, cst.Name):
            deleted.append(bound[0])
        elif isinstance(target, (cst.Tuple, cst.List)) and isinstance(bound[0].value, (cst.Tuple, cst.List)):
            shortened.setdefault(id(bound[0]), (bound[0], set()))[1].add(output.name)
        else:
            raise CannotRewrite(f"`{output.name}` is not allocated by a statement of its own")
    for assign, names in shortened.values():
        target, value = assign.targets[0].target, assign.value
        assert isinstance(target, (cst.Tuple, cst.List)) and isinstance(value, (cst.Tuple, cst.List))
        pairs = list(zip(target.elements, value.elements))
        kept = [(a, b) for a, b in pairs if not (isinstance(a.value, cst.Name) and a.value.value in names)]
        if not kept:
            deleted.append(assign)
            continue
        left = ", ".join(source.code(a.value) for a, _ in kept)
        right = ", ".join(source.code(b.value) for _, b in kept)
        edits.append(source.replace(assign, f"{left} = {right}"))
    return edits, deleted


def _pass_originals(source: Source, place: LaunchSource, outputs: Sequence[_Output]) -> list[TextEdit]:
    """The launch and the kernel with the original tensors as outputs."""
    twins = _twins(source, place, outputs)
    if twins is None:
        return [source.replace(_argument(place, o.parameter).value, o.target) for o in outputs]
    edits = change_parameters(source, place, (), tuple(twins))
    for name, twin in twins.items():
        edits += [source.replace(read, twin) for read in place.kernel.reads(name)]
    return edits


def _twins(source: Source, place: LaunchSource, outputs: Sequence[_Output]) -> dict[str, str] | None:
    """For each output the parameter that is passed the original already; None where the signature has to stay: another
    launch, or a parameter without such a twin."""
    try:
        place.check_only_launch()
    except CannotRewrite:
        return None
    found: dict[str, str] = {}
    names = [param.name.value for param in parameters_of(place.kernel.node)]
    for output in outputs:
        twin = next(
            (
                name
                for name in names
                for arg in [place.argument(name)]
                if name != output.parameter and arg is not None and source.code(arg.value) == output.target
            ),
            None,
        )
        rebound = place.kernel.bindings(output.parameter) or (twin and place.kernel.bindings(twin))
        if twin is None or rebound:
            return None
        found[output.parameter] = twin
    return found
