"""A reduction in every iteration of a loop becomes one behind the loop."""

from __future__ import annotations

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import LaunchSource
from kernlint.rewrite.names import fresh_name, names_in_use
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rewrite.tile_length import tile_length
from kernlint.rules.proofs.folded_reductions import joined_by
from kernlint.rules.proofs.iteration import iteration
from kernlint.rules.tiling.kl209_scalar_reduction_per_iteration import ReducedOnce
from kernlint.syntax.walk import walk
from kernlint.workload import Dtype, Loop

#: Call that combines two tiles, and the value that leaves the other as it is.
_PAIRWISE = {"max": "maximum", "min": "minimum"}
_NEUTRAL = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}


@codemod(ReducedOnce, Effects(numerics="reordered"))
def reduced_once(site: Site, transform: ReducedOnce) -> list[TextEdit]:
    """The loop combines tiles, ``total += tl.sum(x)`` becomes ``partial += x``, and the tile is reduced behind it."""
    source = site.source
    place = LaunchSource(site, transform.launch)
    loop = source.at(transform.loop, cst.For)
    if loop not in place.kernel:
        raise CannotRewrite("the loop stands in a helper function")
    reductions = [
        node
        for node in walk(loop.body)
        if isinstance(node, cst.Call) and (source.origin(node.func) or "").removeprefix("triton.language.") in _NEUTRAL
    ]
    if len(reductions) != 1:
        raise CannotRewrite("the loop does not reduce one tile")
    (call,) = reductions
    op = (source.origin(call.func) or "").rpartition(".")[2]
    value = call.args[0].value
    block = place.kernel.values.get(value)
    if not isinstance(block, Block) or len(block.shape) != 1 or block.dtype is None:
        raise CannotRewrite("the reduced tile was not followed")
    statement, total, state = _joining(place, loop, call)
    taken = names_in_use(source.module)
    partial = fresh_name(f"partial_{op}" if op != "sum" else "partial", taken)
    tl, text = place.tl, source.code(value)
    length = tile_length(source, place.kernel, block.shape[0])
    accumulate = f"{partial} += {text}" if op == "sum" else f"{partial} = {tl}.{_PAIRWISE[op]}({partial}, {text})"
    start = _start(place, total, loop)
    reduced = f"{tl}.{op}({partial}, axis=0)"
    first = None if start is None else place.kernel.values.get(start.value)
    neutral = first == _NEUTRAL[op]
    if neutral:
        final = f"{total} = {reduced}"
    else:
        final = f"{total} += {reduced}" if op == "sum" else f"{total} = {tl}.{_PAIRWISE[op]}({total}, {reduced})"
    edits = [source.replace(statement, accumulate), source.insert_after(loop, final)]
    if isinstance(first, int) and block.dtype.is_float:
        raise CannotRewrite(f"`{total}` begins as an integer")
    # What is added to a float becomes one, and to an integer of 64 bits one of these: sums of narrower ones could overflow.
    wider = op == "sum" and state is not None and (state.is_float or state.bits > block.dtype.bits)
    dtype = state if wider and state is not None else block.dtype
    tile = f"{partial} = {_tile(tl, length, op, dtype)}"
    if neutral and start is not None:
        edits.append(source.replace(start, tile))
    else:
        edits.append(source.insert_before(loop, tile))
    if place.kernel.parent(call) is not statement and isinstance(place.kernel.parent(call), cst.Assign):
        edits += source.delete_statements([call])
    return edits


def _joining(place: LaunchSource, loop: cst.For, call: cst.Call) -> tuple[cst.CSTNode, str, Dtype | None]:
    """(The statement that joins the reduction's result to a variable, the variable, its type)."""
    module, kernel = place.module, place.launch.kernel
    found = next((one for one in kernel.nodes(Loop) if one.span == module.span(loop)), None)
    steps = iteration(kernel, found) if isinstance(found, Loop) else None
    for made in steps.values if steps is not None else ():
        phi = joined_by(steps, made) if steps is not None and made.span == module.span(call) else None
        if steps is None or phi is None:
            continue
        for line in loop.body.body:
            for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                parts = [statement, *([statement.value] if isinstance(statement, cst.Assign) else [])]
                if steps.end(phi).span in map(module.span, parts) and _binds_alone(loop, statement, phi.name):
                    return statement, phi.name, steps.end(phi).dtype
    raise CannotRewrite("the reduced value is not accumulated by a statement of its own")


def _binds_alone(loop: cst.For, statement: cst.CSTNode, name: str) -> bool:
    """Whether ``statement`` binds the variable ``name`` and nothing else, and nothing else in ``loop`` mentions that."""
    targets = [one.target for one in statement.targets] if isinstance(statement, cst.Assign) else []
    targets += [statement.target] if isinstance(statement, cst.AugAssign) else []
    own, all_of_it = (
        sum(isinstance(one, cst.Name) and one.value == name for one in walk(node)) for node in (statement, loop.body)
    )
    return [one.value for one in targets if isinstance(one, cst.Name)] == [name] and own == all_of_it


def _start(place: LaunchSource, total: str, loop: cst.For) -> cst.Assign | None:
    """The assignment that gives ``total`` its first value, where it is a statement of its own before the loop."""
    begin = place.module.span(loop)
    bound = [b for b in place.kernel.bindings(total) if isinstance(b, cst.Assign) and place.module.span(b) < begin]
    if len(bound) != 1 or not isinstance(bound[0].targets[0].target, cst.Name):
        return None
    reads = [r for r in place.kernel.reads(total) if place.module.span(bound[0]) < place.module.span(r) < begin]
    same = place.kernel.parent(place.kernel.line(bound[0])) is place.kernel.parent(loop)
    return bound[0] if same and not reads else None


def _tile(tl: str, length: str, op: str, dtype: Dtype) -> str:
    """A tile of values that leave others as they are, in the type that the sum or extremum has."""
    if op == "sum":
        wide = "float32" if dtype.is_float and dtype.bits < 64 else "int32" if dtype.bits < 32 else dtype.name
        return f"{tl}.zeros([{length}], dtype={tl}.{wide})"
    if not dtype.is_float:
        raise CannotRewrite("the extremum of integers has no infinity to start from")
    sign = "-" if op == "max" else ""
    wide = dtype.name if dtype.bits > 16 else "float32"
    return f'{tl}.full([{length}], {sign}float("inf"), {tl}.{wide})'
