"""Plausible sizes for a call whose sizes nobody tells: what an open size is by its name and its place, and three calls of such
sizes, as in decoding, as in an ordinary batch and as in a large one."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from kernlint.workload import Access, Expr, Repeat, Size, Symbol, Tensor, TorchOp, Workload
from kernlint.workload.expr import Atom, lift
from kernlint.workload.size_names import is_product

RUNGS = ("decode", "medium", "large")
#: The call that answers are about where nothing is known.
MIDDLE = RUNGS.index("medium")

#: What sizes of each role are on each rung.
_SIZES: Mapping[str, tuple[int, int, int]] = {
    "elements": (1 << 16, 1 << 22, 1 << 26),
    "rows": (16, 4096, 16384),
    "features": (4096, 4096, 8192),
    "batch": (1, 4, 8),
    "requests": (8, 64, 256),
    "heads": (32, 32, 32),
    "few heads": (8, 8, 8),
    "head dim": (128, 128, 128),
    "sequence": (512, 2048, 8192),
    "experts": (8, 8, 64),
    "classes": (32768, 32768, 131072),
    "channels": (64, 256, 512),
    "pixels": (28, 56, 112),
    "window": (3, 3, 3),
    "few": (8, 8, 8),
    "pages": (256, 2048, 16384),
    "page": (16, 16, 16),
    "one": (1, 1, 1),
    "none": (0, 0, 0),
}

#: The longest axis of a tile of a product that a program was seen to hold.
_LARGEST_TILE = 512

#: Names by role, as lower-case patterns over whole names; the first that fits counts.
_NAMES: tuple[tuple[str, str], ...] = (
    ("none", r"seed|start|begin|.*_start|.*offset"),
    ("one", r"(conv_?)?stride(_?[hw])?|.*dilation.*|.*padding.*|pad(_?[hw])?|groups|step"),
    ("window", r"taps|k[hwrs]|kernel(_?size)?(_?[hw])?|ksize|filter_size"),
    ("few heads", r".*(kv_?heads?|heads?_?kv|hkv|h_kv|nkv)"),
    ("head dim", r".*(head_?dim|dim_?head|d_?head|head_?size|dmodel_?head)|dh|hd|dk|dv|block_dmodel|block_d(head)?"),
    ("heads", r".*heads?|nh|hq"),
    ("experts", r".*experts?|e"),
    ("pages", r".*(num_?(blocks|pages|slots)|n_?pages)"),
    ("page", r"page|(page|block)_?(size|len)"),
    ("classes", r".*vocab(_?size)?|.*classes|v"),
    ("requests", r"(num|n)_?(seqs?|sequences|requests|reqs|prompts)"),
    ("sequence", r".*(seq|seq_?len|ctx|len|length|context)s?|seqlens?_?\w*|t|s|l|lq|lk|tq|tk|nq"),
    ("batch", r".*(batch|bsz)(_?size)?|b|bs|z|nb"),
    ("rows", r".*(rows?|tokens?|samples|points)|m|nrows"),
    ("elements", r".*(elements?|numel|nelem)|total|size"),
    ("channels", r".*channels?|c|cin|cout|c_in|c_out|ic|oc"),
    ("pixels", r".*(height|width)|w|oh|ow|ih|iw|h_out|w_out|h_in|w_in"),
    ("few", r"top_?k|num_groups|n_groups|g|splits?|.*_splits?|world_size"),
    ("features", r".*(cols?|columns?|hidden|dim|size|features?|model|width|inner)(_?size)?|n|k|d|f|i|o|j|dmodel|ncols"),
)
_PATTERNS = tuple((role, re.compile(pattern)) for role, pattern in _NAMES)

#: What the axes of a tensor are where no name tells, by rank.
_AXES: Mapping[int, tuple[str, ...]] = {
    1: ("features",),
    2: ("rows", "features"),
    3: ("batch", "sequence", "features"),
    4: ("batch", "heads", "sequence", "head dim"),
    5: ("batch", "channels", "few", "pixels", "pixels"),
}
#: Letters that mean one thing in an image and another in a sequence, by what they are in an image.
_IMAGE = {"n": "batch", "b": "batch", "c": "channels", "h": "pixels", "w": "pixels"}

_SHAPE = re.compile(r"(?P<tensor>[\w.\[\]]+)\.shape\[(?P<axis>-?\d+)\]")
_STRIDE = re.compile(r"(?P<tensor>[\w.\[\]]+)\.stride\((?P<axis>-?\d+)\)")


def ladder(workload: Workload, names: Sequence[str]) -> list[dict[Symbol, Size]] | None:
    """A call on each of :data:`RUNGS`: values for the open sizes ``names``. None where one of them cannot be told by name or place,
    or where the program's own checks allow none of the values."""
    found: list[dict[Symbol, Size]] = []
    ranks = {tensor.name: len(tensor.shape) for tensor in workload.inputs if tensor.shape is not None}
    called = workload.hints.names
    roles = {name: _role(name, called.get(name, ()), ranks) for name in names if not _STRIDE.fullmatch(name)}
    flat = max(ranks.values(), default=0) <= 2
    paged = {name.partition(".")[0] for name, role in roles.items() if role == "page"}
    headed = {name.removesuffix(".shape[1]") for name, role in roles.items() if role in ("heads", "few heads")}
    for name, role in roles.items():
        tensor = name.removesuffix(".shape[0]")
        tokens = (
            tensor in headed and ranks.get(tensor) == 3 and roles.get(f"{tensor}.shape[2]") in ("head dim", "features")
        )
        if role == "batch" and (flat or (tokens and not _spelt(called.get(name, ())))):
            roles[name] = "rows"  # each of them is one
        elif name.removesuffix(".shape[0]") in paged:
            roles[name] = "pages"
    for name in _looped(workload) & roles.keys():
        if not called.get(name):
            roles[name] = "few"  # problems of a list that the host goes through
    outer = [name for name in (*called, *names) if name.endswith(".shape[0]")]
    stacked = {name.partition(".")[0] for name in outer if _role(name, called.get(name, ()), ranks) == "experts"}
    picked = "topk" in "".join((workload.entry, *(k.kernel.name for k in workload.launches()))).lower().replace("_", "")
    if picked and "k" in roles:
        roles["k"] = "few"
    operands = (
        [tensor.name for tensor in workload.inputs if len(tensor.shape or ()) == 2] if _multiplies(workload) else []
    )
    for name in roles:
        if name.removesuffix(".shape[0]") in operands[1:] and not any(one.strip("_") for one in called.get(name, ())):
            roles[name] = "features"  # of a weight, whose axes nothing ties to those of the rows
        # Behind the axis of experts stand the two of a weight.
        if name.partition(".")[0] in stacked and not name.endswith("[0]") and not _spelt(called.get(name, ())):
            roles[name] = "features"
    if None in roles.values():
        return None
    for rung in range(len(RUNGS)):
        sizes: dict[Symbol, Size] = {}
        for name, role in roles.items():
            assert role is not None
            value = _SIZES[role][rung]
            allowed = workload.hints.values.get(name)
            sizes[Symbol(name)] = min(allowed, key=lambda one: abs(one - value)) if allowed else value
        if not _within(sizes, workload, frozenset(workload.hints.values)):
            return None
        found.append(sizes | _dense(workload, sizes, _SIZES["features"][rung]))
    return found


def held(workload: Workload, asked: Workload, sizes: Mapping[Symbol, Size]) -> dict[Symbol, Size]:
    """Those of the ``sizes`` of the call ``workload`` that are an axis of a tile of ``tl.dot``, which no program holds so much of, as
    heads have them; ``asked`` is the call with sizes open."""
    dots = [dot for launch in workload.first_call().launches() for dot in launch.kernel.dots()]
    extents = {extent for dot in dots for extent in (dot.m, dot.n, dot.k) if extent > _LARGEST_TILE}
    named = {lift(one) for launch in asked.first_call().launches() for one in launch.open_constexprs.values()}
    spanned = (name for name, size in sizes.items() if size in extents and Expr.atom(name) in named)
    return dict.fromkeys(spanned, _SIZES["head dim"][MIDDLE])


def ranks(workload: Workload, names: Sequence[str], indices: Container[str] = ()) -> dict[str, int]:
    """The fewest axes that those arguments of unknown rank have of which the open sizes ``names`` are asked: two where any axis is, and
    as many as others of them have where only the number of elements is, but one of ``indices`` then."""
    found: dict[str, int] = {}
    unranked = {tensor.name for tensor in workload.inputs if tensor.shape is None}
    for step in workload.first_call().all_steps:
        if isinstance(step, TorchOp) and step.kind == "matmul":
            found.update((tensor.name, 2) for tensor in step.reads if tensor.name in unranked)
    for name in names:
        asked = _SHAPE.fullmatch(name)
        tensor = asked["tensor"] if asked is not None else name.removesuffix(".numel")
        if tensor in unranked:
            axis = int(asked["axis"]) if asked is not None else None
            least = 1 if axis is None else max(2, axis + 1, -axis)
            found[tensor] = max(least, found.get(tensor, 1))
    most = max(found.values(), default=1)
    return {name: most if rank == 1 and name not in indices else rank for name, rank in found.items() if most > 1}


def _multiplies(workload: Workload) -> bool:
    return any(launch.kernel.dots() for launch in workload.first_call().launches())


def _looped(workload: Workload) -> set[str]:
    """The sizes that loops of the host run over."""
    counts = (step.count for step in workload.first_call().all_steps if isinstance(step, Repeat))
    atoms = (atom for count in counts if isinstance(count, Expr) for atom in count.atoms())
    return {atom.name for atom in atoms if isinstance(atom, Symbol)}


def _role(name: str, called: Sequence[str], ranks: Mapping[str, int]) -> str | None:
    """What an open size is; None where nothing tells."""
    if name.endswith(".numel"):
        return "elements"
    if name.startswith("len("):
        return "few"
    if is_product(Symbol(name)):
        return "rows"
    shape = _SHAPE.fullmatch(name)
    names = [one.lower() for one in called]
    if shape is not None:
        # The stride of a kernel may be a size of a dense tensor, which that says nothing of.
        names = [one for one in names if not set(_by_name(one)) & {"one", "none"}]
    else:
        names.insert(0, name.lower())
        if not re.fullmatch(r"[a-z_]\w*", names[0]):
            return None
    rank = ranks.get(shape["tensor"], 0) if shape is not None else 0
    axis = int(shape["axis"]) if shape is not None else 0
    # A name of several letters says more than the place, and the place of one of four axes more than a single letter.
    spelt = _spelt(names)
    if spelt:
        return spelt[0]
    axes = _AXES.get(rank, ())
    place = axes[axis] if -len(axes) <= axis < len(axes) else None
    if rank >= 4 and place is not None:
        if rank == 4 and axis == 1 and "c" in names:
            return "channels"
        return "pixels" if rank == 4 and axis >= 2 and names and _IMAGE.get(names[0]) == "pixels" else place
    lettered = [role for one in names for role in _by_name(one)]
    if rank == 3 and lettered[:1] == ["features"] and place != "features":
        lettered = []
    return lettered[0] if lettered else place or ("features" if axis == -1 else "rows" if shape is not None else None)


def _spelt(names: Sequence[str]) -> list[str]:
    """The roles that names of several letters give."""
    return [role for one in names if len(one.strip("_")) > 1 for role in _by_name(one.lower())]


def _by_name(name: str) -> list[str]:
    return [role for role, pattern in _PATTERNS if pattern.fullmatch(name)][:1]


def _dense(workload: Workload, sizes: Mapping[Symbol, Size], usual: int) -> dict[Symbol, Size]:
    """The strides of tensors of which nothing tells the layout, as those of contiguous ones; ``usual`` is the size of an axis of
    which nothing at all is known."""
    found: dict[Symbol, Size] = {}
    asked: dict[str, list[int]] = {}
    for name in workload.symbols:
        if place := _STRIDE.fullmatch(name):
            asked.setdefault(place["tensor"], []).append(int(place["axis"]))
    for name, axes in asked.items():
        # As many axes as anybody asks about, the last of them the innermost unless addresses run on within it.
        step: Size = usual if _run_within(workload, name, axes) else 1
        for axis in range(max(axes), -1, -1):
            found[Symbol(f"{name}.stride({axis})")] = step
            extents = (Symbol(f"{name}.shape[{number}]") for number in (axis, axis - max(axes) - 1))
            step = step * next((sizes[extent] for extent in extents if extent in sizes), usual)
    for tensor in workload.inputs:
        if tensor.shape is None or tensor.strides is not None:
            continue
        stride: Size = 1
        for axis in range(len(tensor.shape) - 1, -1, -1):
            found[Symbol(f"{tensor.name}.stride({axis})")] = stride
            stride = stride * tensor.shape[axis]
    return found


def _run_within(workload: Workload, tensor: str, axes: Sequence[int]) -> bool:
    """Whether kernels also step through ``tensor`` without any of its strides along ``axes``."""
    strides: dict[Atom, Size] = {Symbol(f"{tensor}.stride({axis})"): 0 for axis in axes}
    return any(
        access.offset is not None and access.offset.substitute(strides).value is None
        for launch in workload.first_call().distinct_launches()
        for access in launch.kernel.nodes(Access)
        if isinstance(given := launch.arguments.get(access.base), Tensor) and given.name == tensor
    )


def _within(sizes: dict[Symbol, Size], workload: Workload, fixed: frozenset[str]) -> bool:
    """Halve and double ``sizes`` until the bounds of the program's checks hold; whether they do. ``fixed`` sizes stay."""
    for _ in range(64):
        broken = next((b for b in workload.bounds if b not in workload.hints.ways and _violated(b, sizes)), None)
        if broken is None:
            return True
        left, right = (
            [atom for atom in side.atoms() if isinstance(atom, Symbol) and atom in sizes and atom.name not in fixed]
            for side in broken
        )
        shrinks = [atom for atom in left if lift(sizes[atom]).value != 0 and (lift(sizes[atom]).value or 0) > 1]
        if shrinks:
            largest = max(shrinks, key=lambda atom: lift(sizes[atom]).value or 0)
            sizes[largest] = (lift(sizes[largest]).value or 2) // 2
        elif right:
            sizes[right[0]] = 2 * max(1, lift(sizes[right[0]]).value or 1)
        else:
            return False
    return False


def _violated(bound: tuple[Expr, Expr], sizes: Mapping[Symbol, Size]) -> bool:
    """Whether ``left < right`` is surely false at ``sizes``."""
    given: dict[Atom, Size] = dict(sizes.items())
    values = [side.substitute(given).value for side in bound]
    return values[0] is not None and values[1] is not None and values[0] >= values[1]
