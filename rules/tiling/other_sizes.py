"""One launch at sizes other than the given ones: a spread of what its source leaves open, or around what it is given.

A rule that advises one tile for all calls asks what the tile costs at each of a few calls that differ in one size, in all of
them, and in none. The interpreter reads the program anew for each, but not for each tile at each: see :class:`Call`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from math import prod

from kernlint.errors import KernlintError
from kernlint.interpret.program import Program
from kernlint.records import dataclass
from kernlint.rules.finding import Context
from kernlint.rules.proofs.counterparts import launches_at
from kernlint.rules.proofs.dot_tiles import Tile
from kernlint.rules.proofs.iteration_domain import agrees
from kernlint.workload import Dtype, Expr, Launch, Size, Span, Symbol, Tensor, Workload, concrete
from kernlint.workload.expr import lift

#: More open sizes than a batched matmul has: what a spread of them would look like is a guess.
_MOST_SIZES = 4
#: All sizes at once; one of them while the others are average.
_ALL = (256, 1024, 4096)
_ONE = ((64, 4096), (16_384, 1024))
#: Sizes of which every tile leaves another rest, apart from each other.
_ODD_STEP, _ODD_REST = 1024, 5
#: Factors for sizes that are given.
_FACTORS = (4.0, 0.25)
_LEAST_SIZE = 16

_SHAPE = re.compile(r"(?P<tensor>.+)\.shape\[\d+\]")
_AXIS = re.compile(r"(?P<tensor>.+)\.(shape\[|stride\()(?P<axis>\d+)[\])]")
_STRIDE = re.compile(r"(?P<tensor>.+)\.stride\((?P<axis>\d+)\)")


@dataclass(frozen=True)
class Call:
    """One call of the program, as ``context`` has it. Where a program with open sizes is asked about calls that give them, that
    program is ``opened``, and ``sizes`` are what this call gives: a variant has to be read only once for all such calls.
    ``typical`` is false of a call whose best tiles are like those of others. ``times`` are what launches take in it, in
    microseconds by place in the source, number there and tile (None where the tile does not fit)."""

    context: Context
    opened: Context | None = None
    sizes: Mapping[Symbol, Size] = field(default_factory=dict)
    typical: bool = True
    times: dict[tuple[Span, int, Tile], float | None] = field(default_factory=dict, compare=False)


def open_calls(context: Context, dtype: Dtype) -> list[Call]:
    """``context``, whose sizes are open, at a spread of sizes that it does not refuse; the last has sizes that no tile divides.

    Strides that are open are those of contiguous tensors, arguments of unknown element type have ``dtype``. Empty where
    the open names are not all sizes or strides of tensors, or too many.
    """
    workload = context.workload
    names = workload.symbols
    sizes = [name for name in names if _SHAPE.fullmatch(name) or name.isidentifier()]
    strides = [name for name in names if _STRIDE.fullmatch(name)]
    if not sizes or len(sizes) + len(strides) < len(names) or len(_independent(workload, sizes)) > _MOST_SIZES:
        return []
    dtypes = {t.name: dtype for t in workload.inputs if t.dtype is None and t.name}
    opened = _context_of(context, context.program.at(dtypes=dtypes))
    found = []
    for values, typical in _spread(_independent(workload, sizes)):
        whole: dict[Symbol, Size] = {Symbol(name): values.get(name, max(values.values())) for name in sizes}
        for name in strides:
            stride = _contiguous_stride(workload, name, whole)
            if stride is None:
                return []
            whole[Symbol(name)] = stride
        if not agrees(workload, {symbol: size for symbol, size in whole.items() if isinstance(size, int)}):
            continue
        other = _context_of(context, context.program.at(whole, dtypes=dtypes))
        if other is None:
            return []
        found.append(Call(other, opened, whole, typical))
    return found


def _independent(workload: Workload, sizes: list[str]) -> list[str]:
    """The ``sizes`` that launches are given as numbers or grids are computed from; the others only make strides."""
    used: set[str] = set()
    for launch in workload.launches():
        values = [*launch.grid, *(v for v in launch.arguments.values() if not isinstance(v, (Tensor, float)))]
        used |= {a.name for v in values if v is not None for a in lift(v).atoms() if isinstance(a, Symbol)}
    return [name for name in sizes if name in used]


def _spread(names: list[str]) -> Iterator[tuple[dict[str, int], bool]]:
    """Sizes by name, and whether they are typical: those with one large size want the tiles of a large problem."""
    for size in _ALL:
        yield dict.fromkeys(names, size), True
    for one, others in _ONE:
        for name in names:
            yield {**dict.fromkeys(names, others), name: one}, one < others
    yield {name: _ODD_STEP * (index + 1) + _ODD_REST for index, name in enumerate(names)}, False


def _contiguous_stride(workload: Workload, name: str, sizes: Mapping[Symbol, Size]) -> int | None:
    """What the stride called ``name`` is where its tensor is contiguous."""
    match = _STRIDE.fullmatch(name)
    assert match is not None
    axis = int(match["axis"])
    tensors = [v for launch in workload.launches() for v in launch.arguments.values() if isinstance(v, Tensor)]
    tensor = next((t for t in (*tensors, *workload.inputs) if t.name == match["tensor"] and t.shape is not None), None)
    extents: list[Size] = []
    if tensor is not None and tensor.shape is not None:
        extents = list(tensor.shape[axis + 1 :])
    else:
        # Of unknown rank: it has the axes that are asked about.
        asked = [
            int(m["axis"])
            for n in workload.symbols
            for m in (_AXIS.fullmatch(n),)
            if m and m["tensor"] == match["tensor"]
        ]
        extents = [Expr.atom(Symbol(f"{match['tensor']}.shape[{i}]")) for i in range(axis + 1, max(asked) + 1)]
    numbers = [concrete(lift(extent).substitute(sizes)) for extent in extents]  # type: ignore[arg-type]
    return prod(n for n in numbers if n is not None) if None not in numbers else None


def scaled_calls(context: Context, launch: Launch) -> list[Context]:
    """``context``, whose sizes are given, and calls around it: each module-level constant that the launch is given as a size
    larger and smaller, and all of them. Only ``context`` itself where the sizes do not come from such constants."""
    base = context.workload.sizes
    moving = {name: size for name, size in base.items() if size >= _LEAST_SIZE and _is_size(context, launch, name)}
    if not 0 < len(moving) <= _MOST_SIZES:
        return [context]
    found = [context]
    for factor in _FACTORS:
        for names in [*([name] for name in moving), list(moving)]:
            values = {name: max(_LEAST_SIZE, int(moving[name] * factor)) for name in names}
            other = _context_of(context, context.program.at(constants=values))
            if other is not None and _fits_device(other):
                found.append(other)
    return found


def _is_size(context: Context, launch: Launch, name: str) -> bool:
    """Whether the module-level constant ``name`` changes what ``launch`` is given and no constant of its kernel."""
    try:
        program = context.program.at(constants={name: 2 * context.workload.sizes[name]})
    except KernlintError:
        return False
    other = _context_of(context, program)
    now = launches_at(other.workload if other is not None else None, launch.span)
    if not now:
        return False
    numbers = {n: v for n, v in launch.arguments.items() if isinstance(v, int)}
    moved = any(now[0].arguments.get(n) != v for n, v in numbers.items()) or now[0].grid != launch.grid
    return moved and dict(now[0].constexprs) == dict(launch.constexprs)


def _context_of(context: Context, program: Program) -> Context | None:
    """The question of ``context`` about ``program``."""
    try:
        workload = program.workload(context.workload.entry, context.variant.edits)
    except KernlintError:
        return None
    if workload is None or context.variant.transforms:
        return None
    return Context(program, workload, context.device, context.variant, price=context.price, options=context.options)


def _fits_device(context: Context) -> bool:
    tensors = {
        t.storage.id: t
        for launch in context.workload.launches()
        for t in launch.arguments.values()
        if isinstance(t, Tensor)
    }
    return sum(t.nbytes or 0 for t in tensors.values()) <= context.device.memory_gb * 1e9 / 2
