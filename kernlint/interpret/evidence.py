"""What speaks for the element type of an argument that nothing fixes: checks, comments, how kernels use it, what it is called.

None of it is proof. Each :class:`Clue` says where it is from, so that an answer that rests on it can say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from kernlint.interpret import docstrings
from kernlint.interpret.program import Program
from kernlint.records import dataclass, replace
from kernlint.syntax.tree import Module
from kernlint.workload import (
    Access,
    Compute,
    Dtype,
    Expr,
    HostSync,
    Launch,
    Loop,
    Opaque,
    Symbol,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload import dtype as dt

#: Where a clue is from, the weightiest first.
SOURCES = ("call", "check", "annotation", "docstring", "comment", "use", "name", "usual")


@dataclass(frozen=True)
class Clue:
    """``dtypes`` are the types that an argument may have, the likeliest first; ``source`` is one of :data:`SOURCES`, ``because``
    says what was seen, ``line`` where (0: nowhere in particular)."""

    dtypes: tuple[Dtype, ...]
    source: str
    because: str
    line: int = 0


#: Types in the names of functions, kernels and files (``w8a8_matmul``, ``gemm_fp8``).
_IN_NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"w8a8|int8|i8i8|s8s8|(?<![a-z0-9])i8(?![a-z0-9])", ("int8",)),
    (r"fp8|e4m3|float8", ("float8_e4m3fn",)),
    (r"bf16|bfloat16", ("bfloat16",)),
    (r"fp16|float16|half", ("float16",)),
    (r"fp32|float32", ("float32",)),
)
_NUMBERED = re.compile(
    r".*(idx|ind(ex|ices)|_ids?|ids|label|target|perm|order|position|pos|page|block_table|slot)s?.*|ids?"
)
_COUNTED = re.compile(r".*(offset|offs|cu_?seq|seq_?len|len(gth)?|indptr|ptrs|row_?ptr|count|start|bounds).*s?")
_MASKS = re.compile(r".*mask.*")
_FINE = re.compile(
    r".*(scale|rstd|mean|lse|var|inv_?freq|absmax|amax|logsumexp|delta|momentum|exp_avg|_max|_sum|sum_|max_).*s?"
)
_SCALES = re.compile(r".*scales?(_.*)?|s[abxw]")
_HALVES = (dt.FLOAT16, dt.BFLOAT16)
#: What a dot takes as it lies in memory, in ordinary code.
_FED = (dt.FLOAT16, dt.BFLOAT16, dt.FLOAT32)


def untyped(workload: Workload) -> list[Tensor]:
    """The arguments of the entry whose type is not known, and which launches get or torch's operations read; those of a forward pass
    too where its backward pass launches on what has no type, as that may follow from theirs."""
    launched = {
        value.storage.id: value.dtype
        for launch in workload.first_call().launches()
        for value in launch.arguments.values()
        if isinstance(value, Tensor)
    }
    used = {*launched, *_read_by_torch(workload)}
    given = {tensor.storage.id for tensor in workload.inputs}
    untold = any(dtype is None for storage, dtype in launched.items() if storage not in given)
    follow = untold and workload.entry.endswith(".backward")
    found: dict[str, Tensor] = {}
    for tensor in workload.inputs:
        if tensor.dtype is None and tensor.name and (follow or tensor.storage.id in used):
            found.setdefault(tensor.name, tensor)
    return list(found.values())


def _read_by_torch(workload: Workload) -> Iterator[int]:
    """The storages that torch's operations and what waits for them read."""
    for step in workload.first_call().all_steps:
        read = step.reads if isinstance(step, TorchOp) else (step.reads,) if isinstance(step, HostSync) else ()
        yield from (one.storage.id for one in read if one is not None)


def clues(program: Program, workload: Workload, tensor: Tensor) -> list[Clue]:
    """What speaks for the type of ``tensor``, the weightiest first; never nothing."""
    named = list(_named(workload, tensor))
    found = [*_stating(program.kernel, workload, tensor), *named]
    used = [*_used(workload, tensor, named[-1].source == "usual")]
    # Of the types that uses allow, the one that names speak for, or that what has scales is quantised to.
    likely = {dtype for clue in named if clue.source == "name" for dtype in clue.dtypes}
    likely |= {dt.INT8} if any(_SCALES.fullmatch(other.name.lower()) for other in workload.inputs) else set()
    found += [replace(c, dtypes=tuple(sorted(c.dtypes, key=lambda dtype: dtype not in likely))) for c in used]
    return sorted(found, key=_weight)


def _weight(clue: Clue) -> int:
    return SOURCES.index(clue.source)


def _stating(module: Module, workload: Workload, tensor: Tensor) -> Iterator[Clue]:
    """The clues that state the type, where others only speak for one."""
    yield from _checked(workload, tensor)
    yield from _written(module, workload, tensor)


def stated(program: Program, workload: Workload) -> dict[str, Clue]:
    """The untyped arguments whose element types the code or the prose beside it states, as far as that matters for speed, with
    what states them."""
    found = {}
    for tensor in untyped(workload):
        clue = min(_stating(program.kernel, workload, tensor), key=_weight, default=None)
        if clue is not None and len({(dtype.bits, dtype.kind) for dtype in clue.dtypes}) == 1:
            found[tensor.name] = clue
    return found


def is_data(found: Sequence[Clue]) -> bool:
    """Whether the tensor with the clues ``found`` may be what a kernel works on: no mask, index, scale or statistic."""
    indices = any(clue.source == "use" and clue.dtypes[0] in (dt.INT32, dt.INT64) for clue in found)
    return found[-1].source == "usual" and not indices


def _checked(workload: Workload, tensor: Tensor) -> Iterator[Clue]:
    hints = workload.hints
    names = {tensor.name}.union(*(group for group in hints.alike if tensor.name in group))
    for name in sorted(names):
        allowed = hints.dtypes.get(name)
        if allowed and name in hints.annotated:
            yield Clue(allowed, "annotation", f"its annotation lets {name} be {' or '.join(map(str, allowed))}")
        elif allowed:
            yield Clue(allowed, "check", f"a check lets {name} be {' or '.join(map(str, allowed))}")


def _written(module: Module, workload: Workload, tensor: Tensor) -> Iterator[Clue]:
    """Types that docstrings and comments of the entry, and comments at the parameters of its kernels, give beside the name."""
    for prose, name in _places(module, workload, tensor):
        for text, line in prose.about(name):
            dtype = docstrings.first_type(text)
            if dtype is not None and line:
                yield Clue((dtype,), "comment", f"line {line} says {dtype} of {name}", line)
            elif dtype is not None:
                because = f"the docstring of `{prose.function}` says {dtype} of {name}"
                yield Clue((dtype,), "docstring", because, prose.line)


def written_axes(module: Module, workload: Workload) -> dict[str, tuple[str, ...]]:
    """What docstrings and comments call the axes of arguments (``x: [batch, seq, dim]``), by the symbols of their sizes."""
    found: dict[str, tuple[str, ...]] = {}
    for tensor in workload.inputs:
        rank = len(tensor.shape) if tensor.shape is not None else None
        told = (text for prose, name in _places(module, workload, tensor) for text, _ in prose.about(name))
        names = next((axes for text in told if (axes := docstrings.axes(text)) and len(axes) == rank), ())
        found.update({f"{tensor.name}.shape[{axis}]": (name,) for axis, name in enumerate(names)})
    return found


def taps(module: Module, workload: Workload) -> dict[str, tuple[str, ...]]:
    """The sizes that are constants of kernels which loops there run over one by one, by their symbols, with what that makes of them:
    the taps of a filter, since a kernel is written out for each of them."""
    functions = {function.name.value: function for function in module.of(cst.FunctionDef)}
    found: dict[str, tuple[str, ...]] = {}
    for launch in workload.first_call().distinct_launches():
        kernel = functions.get(launch.kernel.name)
        loops = [loop.iter for loop in module.within(kernel, cst.For)] if kernel is not None else []
        runs = [one.args[0].value for one in loops if isinstance(one, cst.Call) and len(one.args) == 1]
        over = {run.value for run in runs if isinstance(run, cst.Name)}
        found.update({str(value): ("taps",) for name, value in launch.open_constexprs.items() if name in over})
    return found


def _places(module: Module, workload: Workload, tensor: Tensor) -> Iterator[tuple[docstrings.Prose, str]]:
    """Where something may be written of ``tensor``, and its name there: at the entry and at the kernels that it is given to."""
    written = module.once(docstrings.of_functions)
    entry = workload.entry.split(".")[-1], tensor.name.partition("[")[0]
    for at, name in (entry, *((launch.kernel.name, base) for launch, base in _bases(workload, tensor))):
        if at in written:
            yield written[at], name


# -- how it is used ----------------------------------------------------------------------------------------------------


def _bases(workload: Workload, tensor: Tensor) -> list[tuple[Launch, str]]:
    """The launches that get ``tensor`` or a view of it, with the kernel's name for it."""
    return [
        (launch, name)
        for launch in workload.first_call().distinct_launches()
        for name, value in launch.arguments.items()
        if isinstance(value, Tensor) and value.storage.id == tensor.storage.id
    ]


def _used(workload: Workload, tensor: Tensor, data: bool) -> Iterator[Clue]:
    for launch, base in _bases(workload, tensor):
        kernel = launch.kernel
        loads = {load.id for load in kernel.loads() if load.base == base}
        if not loads:
            continue
        if loads & _addressing(launch):
            kinds = (dt.INT64, dt.INT32) if _NUMBERED.fullmatch(tensor.name.lower()) else (dt.INT32, dt.INT64)
            yield Clue(kinds, "use", f"`{kernel.name}` computes addresses or bounds from it")
            continue
        for dot in kernel.dots() if data else ():
            for operand in (dot.a, dot.b):
                if not operand.loads & loads:
                    continue
                if operand.known and not operand.alike:
                    # Its type is known although that in memory is not: it is cast on the way.
                    narrower = tuple(one for one in (*_HALVES, dt.INT8) if one.bits < operand.dtype.bits)
                    if narrower:
                        because = f"`{kernel.name}` casts it to {operand.dtype} for tl.dot"
                        yield Clue(narrower, "use", because, operand.span.line)
                elif operand.load in loads:
                    fed = (operand.dtype,) if operand.known else _FED
                    yield Clue(fed, "use", f"`{kernel.name}` feeds it to tl.dot as it is", operand.span.line)


def _addressing(launch: Launch) -> set[int]:
    """The loads whose values addresses, masks and trip counts of a kernel depend on."""
    found = (node.trip if isinstance(node, Loop) else node.offset for node in launch.kernel.nodes((Access, Loop)))  # type: ignore[attr-defined]
    atoms = (atom for expr in found if isinstance(expr, Expr) for atom in expr.atoms())
    return {atom.key for atom in atoms if isinstance(atom, Opaque) and atom.op == "load" and isinstance(atom.key, int)}


# -- what it is called -------------------------------------------------------------------------------------------------


def _named(workload: Workload, tensor: Tensor) -> Iterator[Clue]:
    name = tensor.name.rpartition(".")[2].lower()
    if _MASKS.fullmatch(name):
        yield Clue((dt.BOOL, dt.FLOAT32), "name", f"{tensor.name} is called a mask")
        return
    if _NUMBERED.fullmatch(name) or _COUNTED.fullmatch(name):
        kinds = (dt.INT32, dt.INT64) if _COUNTED.fullmatch(name) else (dt.INT64, dt.INT32)
        yield Clue(kinds, "name", f"{tensor.name} is called like an index")
        return
    if _FINE.fullmatch(name):
        yield Clue((dt.FLOAT32,), "name", f"{tensor.name} is called like a scale or a statistic")
        return
    around = [workload.entry, *(launch.kernel.name for launch in workload.first_call().launches()[:8])]
    for pattern, types in _IN_NAMES:
        said = next((one for one in around if re.search(pattern, one.lower())), None)
        if said is not None and _is_data(tensor):
            yield Clue(tuple(t for t in map(dt.find, types) if t is not None), "name", f"`{said}` is named after it")
            break
    if _upcast(workload, tensor):
        yield Clue((*_HALVES, dt.FLOAT32), "use", "it is cast to float32 as soon as it is loaded")
    dots = any(launch.kernel.dots() for launch in workload.first_call().launches())
    yield Clue(_FED if dots else (dt.FLOAT32, *_HALVES), "usual", "nothing in view tells it")


def _is_data(tensor: Tensor) -> bool:
    """Whether ``tensor`` may be one of the large operands that names of functions speak of."""
    return tensor.shape is None or len(tensor.shape) != 1


def _upcast(workload: Workload, tensor: Tensor) -> bool:
    """Whether a kernel loads ``tensor`` with ``tl.load(...).to(tl.float32)``."""
    for launch, base in _bases(workload, tensor):
        kernel = launch.kernel
        loaded = {(load.span.line, load.span.column) for load in kernel.loads() if load.base == base}
        casts = (one for one in kernel.nodes(Compute) if one.kind == "cast" and one.dtype == dt.FLOAT32)
        if any((cast.span.line, cast.span.column) in loaded for cast in casts):
            return True
    return False


def open_names(workload: Workload, missing: Sequence[str]) -> list[str]:
    """The open sizes that have to be given: those that times miss, and those of grids and tensors."""
    grids = (extent for launch in workload.first_call().distinct_launches() for extent in launch.grid)
    extents = (*grids, *(extent for tensor in workload.inputs for extent in tensor.shape or ()))
    atoms = (atom for one in extents if isinstance(one, Expr) and concrete(one) is None for atom in one.atoms())
    return list(dict.fromkeys((*missing, *(atom.name for atom in atoms if isinstance(atom, Symbol)))))
