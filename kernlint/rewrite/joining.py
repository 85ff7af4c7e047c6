"""Moving one kernel's work into another: behind it in the same programs, into its tile, or in front of it."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.canonical import TILE_BOUND, Canonical
from kernlint.rewrite.function import MASK_POSITION, argument
from kernlint.rewrite.fused_kernel import FusedKernel, Line, Part, assigned, heading
from kernlint.rewrite.text import CannotRewrite
from kernlint.rules.fusion.pointwise import elements
from kernlint.syntax.walk import walk
from kernlint.workload import Reduce, Scan, Size, Span, Tensor
from kernlint.workload.kernel import Access


def append(fused: FusedKernel, part: Part, passed: set[int], kept: set[int]) -> None:
    """Do the work of ``part`` behind that of ``fused`` in each program: the same programs of the same tiles.

    ``passed`` are the storages handed over, ``kept`` those among them that must still be written.
    """
    handed = _hand_over(fused, part, passed, kept)
    fused.adopt(part, handed)
    _name_variables(fused, part)
    _guard_loads(fused, part)
    _add_lines(fused, part)


def append_to_tile(
    fused: FusedKernel, part: Part, passed: set[int], kept: set[int], host: Access, guest: Access
) -> None:
    """As :func:`append` where ``part`` has tiles of its own: its place in the tensor becomes that of the access ``host``
    of ``fused``, which lies at the same elements as its own access ``guest``."""
    owner, at = _call_at(fused.parts, host.span)
    mask = argument(at, "mask", MASK_POSITION[type(host)])
    mask_text = owner.render(mask, whole=True) if mask is not None else None
    place = " + ".join(owner.render(term, whole=True) for term in offset_terms(owner, _pointer(at)))
    index = _index_variable(part, guest)
    part.moved = True
    handed = _hand_over(fused, part, passed, kept)
    for name in handed.values():
        _check_shape(fused, name, host)
    fused.adopt(part, handed)
    _place_at(fused, part, index, place)
    _name_variables(fused, part, keep={index})
    _set_masks(part, mask_text, _elements(part, guest))
    _guard_loads(fused, part)
    _add_lines(fused, part)
    _check_moved(fused, part)


def prepend(fused: FusedKernel, part: Part, passed: set[int], host: Access, guest: Access) -> FusedKernel:
    """The work of ``fused``, elementwise, done where ``part`` loads its result: the kernel with the grid of ``part``.

    ``guest`` is the store of ``fused`` and ``host`` the load of ``part`` that lie at the same elements.
    """
    owner, store = _call_at(fused.parts, guest.span)
    _, load = _call_at([part], host.span)
    line = part.statement(load)
    if line is not part.function.line(load):
        raise CannotRewrite(f"`{part.name}` loads the intermediate in a loop or under a condition")
    (storage,) = passed
    index = _index_variable(fused.parts[0], guest)
    elements = _elements(owner, guest)
    value = _value(fused, owner, store, kept=False)
    result = FusedKernel(part, parameters=dict(fused.parameters), taken=set(fused.taken))
    _drop_type_reads(part, storage)
    _drop_type_reads(owner, storage)
    result.adopt(part, {part.base(load): value})
    for name in part.locals():
        part.names[name] = result.fresh(name)
    mask, other = argument(load, "mask", 1), argument(load, "other", 2)
    part.texts[load] = value
    if mask is not None:
        text = part.render(mask, whole=True)
        if other is not None and _combines_lanes(part):
            part.texts[load] = f"{part.place.tl}.where({part.render(mask)}, {value}, {part.render(other)})"
        for one in fused.parts:
            _set_masks(one, text, elements)
    place = " + ".join(part.render(term, whole=True) for term in offset_terms(part, _pointer(load)))
    first = fused.parts[0]
    moved = [one for one in fused.lines if not (one.part is first and one.node and assigned(one.node) == index)]
    start = Line(None, None, f"{first.names.get(index, index)} = {place}")
    for node in part.lines:
        result.lines += [start, *moved] if node is line else []
        result.lines.append(Line(part, node))
    result.parts = [*fused.parts, part]
    for one in fused.parts:
        _check_moved(result, one)
    return result


# -- what is handed over ----------------------------------------------------------------------------------------------


def _hand_over(fused: FusedKernel, part: Part, passed: set[int], kept: set[int]) -> dict[str, str]:
    """Put values in the place of the loads of ``part`` from ``passed``; the parameters that this makes needless, each
    with the name of its value."""
    handed: dict[str, str] = {}
    for storage in sorted(passed):
        stores = [(p, c) for p in fused.parts for c in p.calls("store") if p.storage(c) == storage]
        loads = [call for call in part.calls("load") if part.storage(call) == storage]
        if len(stores) != 1 or not loads:
            raise CannotRewrite("an intermediate is not stored once and loaded again in the kernels' own bodies")
        owner, store = stores[0]
        name = _value(fused, owner, store, storage in kept)
        for call in loads:
            part.texts[call] = name
            if _combines_lanes(part):
                _guard(part, call, owner, store)
            handed[part.base(call)] = name
        writes = [call for call in part.calls("store") if part.storage(call) == storage]
        if writes:
            # It is written again, by this kernel: then its pointer is still wanted, and the first store is not.
            handed.pop(part.base(writes[0]), None)
        else:
            _drop_type_reads(part, storage)
        if storage not in kept:
            _drop_type_reads(owner, storage)
    return handed


def _value(fused: FusedKernel, owner: Part, store: cst.Call, kept: bool) -> str:
    """The variable that holds what ``store`` stores, in the type that memory has; the store goes unless ``kept``."""
    value = argument(store, "value", 1)
    line = owner.function.line(store)
    if value is None or owner.statement(store) is not line:
        raise CannotRewrite(f"`{owner.name}` stores the intermediate in a loop or under a condition")
    tensor = owner.launch.tensor(owner.base(store))
    block = owner.block(value)
    if tensor is None or tensor.dtype is None:
        raise CannotRewrite("the element type of an intermediate is not known")
    cast = "" if block is not None and block.dtype == tensor.dtype else f".to({owner.place.tl}.{_spelt(tensor)})"
    position = next((i for i, one in enumerate(fused.lines) if one.node is line and one.part is owner), None)
    if position is None:
        raise CannotRewrite(f"`{owner.name}` stores the intermediate where its lines have gone already")
    if not cast and isinstance(value, cst.Name) and not _rebound_later(owner, value, line):
        if not kept:
            owner.gone.add(id(line))
        return owner.names.get(value.value, value.value)
    parameter = owner.parameters[owner.base(store)]
    wish = parameter.argument or ""
    name = fused.fresh(wish if wish.isidentifier() else parameter.name.removesuffix("_ptr"))
    comments = tuple(heading(owner.source, line))
    fused.lines.insert(position, Line(owner, value, target=name, cast=cast, comments=comments))
    if kept:
        owner.texts[value] = name
    else:
        owner.gone.add(id(line))
    return name


def _spelt(tensor: Tensor) -> str:
    """What ``triton.language`` calls the type of a tensor."""
    name = tensor.dtype.name if tensor.dtype is not None else ""
    return {"bool": "int1", "float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5"}.get(name, name)


def _rebound_later(owner: Part, value: cst.Name, line: cst.CSTNode) -> bool:
    start = owner.source.start(line)
    return any(owner.source.start(one) > start for one in owner.function.bindings(value.value))


def _guard(part: Part, call: cst.Call, owner: Part, store: cst.Call) -> None:
    """Note that a load of ``part``, which combines lanes, puts something into those that its mask leaves out."""
    mask, other = argument(call, "mask", 1), argument(call, "other", 2)
    if mask is None and argument(store, "mask", 2) is not None:
        raise CannotRewrite(f"`{part.name}` combines lanes that `{owner.name}` does not store")
    if mask is not None and other is not None:
        part.guarded.append(call)


def _guard_loads(fused: FusedKernel, part: Part) -> None:
    """Let the values in the place of guarded loads be what the load puts there in lanes that its mask leaves out."""
    for call in part.guarded:
        mask, other = argument(call, "mask", 1), argument(call, "other", 2)
        assert mask is not None and other is not None
        name = part.texts[call]
        part.texts[call] = f"{part.place.tl}.where({part.render(mask)}, {name}, {part.render(other)})"


def _combines_lanes(part: Part) -> bool:
    return any(True for _ in part.launch.kernel.walk((Reduce, Scan)))


def _drop_type_reads(part: Part, storage: int) -> None:
    """Write the element type out where ``pointer.dtype.element_ty`` asks for it, so that the pointer can go."""
    for line in part.function.body:
        for node in walk(line):
            if isinstance(node, cst.Attribute) and node.attr.value == "element_ty":
                pointer = node.value.value if isinstance(node.value, cst.Attribute) else None
                tensor = part.launch.tensor(pointer.value) if isinstance(pointer, cst.Name) else None
                if tensor is not None and tensor.storage.id == storage:
                    part.texts[node] = f"{part.place.tl}.{_spelt(tensor)}"


# -- lines and names --------------------------------------------------------------------------------------------------


def _name_variables(fused: FusedKernel, part: Part, keep: frozenset[str] | set[str] = frozenset()) -> None:
    """Names for the variables of ``part`` in ``fused``: those that hold what one of ``fused`` holds become that one."""
    values = Canonical(part).texts
    for name in part.locals():
        if name in keep:
            continue
        bound = part.function.bindings(name)
        value = part.function.definition(name) if len(bound) == 1 else None
        line = part.function.line(bound[0])
        top = value is not None and assigned(line) == name and part.statement(bound[0]) is line
        if value is not None and top and value not in part.guarded:
            known = part.texts[value] if value in part.texts else fused.holder(values.get(value, ""), name)
            if known is not None:
                part.names[name] = known
                part.gone.add(id(line))
                continue
        part.names[name] = fused.fresh(name)
    for call in part.calls("load"):
        if call in values and call not in part.texts and id(part.statement(call)) not in part.gone:
            known = fused.holder(values[call], part.base(call).removesuffix("_ptr"))
            if known is not None:
                part.texts[call] = known


def _add_lines(fused: FusedKernel, part: Part) -> None:
    fused.lines += [Line(part, node) for node in part.lines if id(node) not in part.gone]
    fused.parts.append(part)
    fused.hold(part)


def _place_at(fused: FusedKernel, part: Part, index: str, place: str) -> None:
    """Let the index variable of ``part`` be ``place``."""
    bound = part.function.bindings(index)
    if len(bound) != 1 or assigned(part.function.line(bound[0])) != index:
        raise CannotRewrite(f"`{index}` of `{part.name}` is not assigned once on a line of its own")
    part.gone.add(id(part.function.line(bound[0])))
    if place.isidentifier():
        part.names[index] = place
        part.given[index] = next((v for v, name in fused.held.items() if name == place), f"name {place}")
        return
    part.names[index] = fused.fresh(index)
    fused.lines.append(Line(None, None, f"{part.names[index]} = {place}"))


def _index_variable(part: Part, access: Access) -> str:
    """The variable that says which element of its tensor each lane of ``access`` is at."""
    for name in part.locals():
        for node in part.function.names(name):
            block = part.block(node)
            if block is not None and not block.base and block.expr == access.offset and block.shape == access.shape:
                return name
    raise CannotRewrite(f"`{part.name}` has no variable that says which element a lane is at")


def _set_masks(part: Part, mask: str | None, elements: Size | None) -> None:
    """Let the loads and stores of ``part``, elementwise, use ``mask``: alone where their own says no more than that the
    element is one of the ``elements`` of the tensor, else together with it."""
    if mask is None:
        return
    places = {block.expr for call in part.calls("store") if (block := part.block(_pointer(call))) is not None}
    for call in (*part.calls("load"), *part.calls("store")):
        if call in part.texts:
            continue
        own = argument(call, "mask", 2 if part.source.origin(call.func) == "triton.language.store" else 1)
        if own is None:
            last = call.args[-1]
            part.texts[last] = f"{part.render(last)}, mask={mask}"
            continue
        block = part.block(own)
        bounds = block.bounds if block is not None and not block.partly else None
        whole = bounds is not None and all(left in places and right == elements for left, right in bounds)
        plain = mask if mask.isidentifier() or mask.startswith("(") else f"({mask})"
        part.texts[own] = mask if whole else f"{plain} & ({part.render(own)})"


def _elements(part: Part, access: Access) -> Size | None:
    """Elements of the tensor that ``access`` walks."""
    tensor = part.launch.tensor(access.base)
    return elements(tensor.shape) if tensor is not None and tensor.shape is not None else None


def _check_shape(fused: FusedKernel, name: str, host: Access) -> None:
    """Raise unless the value ``name`` broadcasts to the tile of ``host`` as it is."""
    for part in fused.parts:
        for local in part.locals():
            if part.names.get(local, local) == name:
                shapes = {b.shape for n in part.function.names(local) if (b := part.block(n)) is not None}
                if not shapes <= {(), host.shape}:
                    raise CannotRewrite(f"`{name}` has another shape than the tile it would be used in")


def _check_moved(fused: FusedKernel, part: Part) -> None:
    """Raise where what is left of ``part`` still depends on its own grid or tile shape."""
    for line in fused.needed():
        if line.part is not part or line.node is None:
            continue
        for node in walk(line.node):
            if isinstance(node, cst.Call) and node not in part.texts:
                origin = part.source.origin(node.func) or ""
                if origin in TILE_BOUND:
                    raise CannotRewrite(f"`{part.name}` uses its own tile beyond the element index")
            if isinstance(node, cst.Subscript) and part.block(node) is not None:
                raise CannotRewrite(f"`{part.name}` reshapes its tile")


# -- places -----------------------------------------------------------------------------------------------------------


def _call_at(parts: list[Part], span: Span) -> tuple[Part, cst.Call]:
    """The load or store at ``span``, with the latest part that it stands in."""
    for part in reversed(parts):
        for call in (*part.calls("load"), *part.calls("store")):
            if part.place.module.span(call) == span:
                return part, call
    raise CannotRewrite("an access stands in a helper function")


def _pointer(call: cst.Call) -> cst.BaseExpression:
    pointer = argument(call, "pointer", 0)
    if pointer is None:
        raise CannotRewrite("an access has no pointer argument")
    return pointer


def offset_terms(part: Part, pointer: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What is added to a pointer parameter to make ``pointer``, through the variables that hold it."""
    block = part.block(pointer)
    if block is not None and not block.base:
        return [pointer]
    if isinstance(pointer, cst.BinaryOperation) and isinstance(pointer.operator, cst.Add):
        return [*offset_terms(part, pointer.left), *offset_terms(part, pointer.right)]
    if isinstance(pointer, cst.Name):
        if pointer.value in part.parameters and not part.function.bindings(pointer.value):
            return []
        definition = part.function.definition(pointer.value)
        if definition is not None:
            return offset_terms(part, definition)
    raise CannotRewrite(f"the address arithmetic of `{part.name}` is not a plain sum")
