"""A weight stored K-contiguous once, when the module is built."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.layouts import moved_addresses
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.proofs.counterparts import find_dot
from kernlint.rules.proofs.operand_layout import KMajor, operand_tensor
from kernlint.syntax.walk import walk
from kernlint.workload import Tensor

#: What leads from a tensor to a module's attribute.
_KEEPERS = frozenset({"Parameter", "Buffer"})


@codemod(KMajor)
def store_k_major(site: Site, change: KMajor) -> Rewriting:
    """The weight's first value is laid out column by column; its shape, and so its state dict, stays."""
    source = site.source
    found = find_dot(site.workload, change.launch, change.dot)
    tensor = operand_tensor(found[0], getattr(found[1], change.side)) if found is not None else None
    if tensor is None or len(tensor.shape or ()) != 2:
        raise CannotRewrite("the weight is not a matrix of its own")
    value = _first_value(site, tensor)
    start, end = source.whole(value)
    loose = not isinstance(value, (cst.Call, cst.Name, cst.Attribute, cst.Subscript)) and not value.lpar
    laid_out = ".t().contiguous().t()"
    edits = [TextEdit(end, end, f"){laid_out}" if loose else laid_out)]
    if loose:
        edits.append(TextEdit(start, start, "("))
    edits.append(source.insert_before(value, "# Contiguous along its first axis, as the tensor cores read it."))
    notes = moved_addresses(site, edits)
    return Rewriting(tuple(edits), Effects("unsafe" if notes else "safe", notes=notes))


def _first_value(site: Site, tensor: Tensor) -> cst.BaseExpression:
    """What the parameter behind ``tensor`` is made from in the constructor."""
    source = site.source
    names = {
        node.attr.value
        for node, value in site.program.trace(site.workload.entry).host.items()
        if isinstance(node, cst.Attribute) and isinstance(value, Tensor) and value.storage.id == tensor.storage.id
    }
    found: list[cst.BaseExpression] = []
    for node in walk(site.module.tree):
        target = node.targets[0].target if isinstance(node, cst.Assign) and len(node.targets) == 1 else None
        if not isinstance(target, cst.Attribute) or target.attr.value not in names or not isinstance(node, cst.Assign):
            continue
        call = node.value
        kept = isinstance(call, cst.Call) and (source.origin(call.func) or "").rpartition(".")[2] in _KEEPERS
        if not isinstance(call, cst.Call) or not kept or not call.args or call.args[0].star:
            raise CannotRewrite(
                f"`{target.attr.value}` is not made by nn.Parameter(...) at line {source.module.span(node).line}"
            )
        found.append(call.args[0].value)
    if len(found) != 1:
        raise CannotRewrite("the statement that makes the weight was not found")
    return found[0]
