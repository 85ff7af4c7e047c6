"""Where a kernel computes an index from its program id, and where it uses the id in any other way."""

from __future__ import annotations

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.records import dataclass
from kernlint.rewrite.function import FunctionSource, callee
from kernlint.rewrite.text import CannotRewrite
from kernlint.rules.proofs.indices import Indices
from kernlint.syntax.walk import walk
from kernlint.workload import Expr, ProgramId
from kernlint.workload.expr import floordiv, lift, mod


@dataclass(frozen=True)
class IndexSite:
    """An expression that computes a program index; ``name`` is the variable that it is assigned to as it is, if any."""

    node: cst.BaseExpression
    name: str


class ProgramIndices:
    """The program indices of ``kernel``, as the source spells them."""

    def __init__(self, kernel: FunctionSource, indices: Indices) -> None:
        self.kernel = kernel
        self.indices = indices

    def value(self, node: cst.CSTNode) -> Expr | None:
        """The index expression of a scalar."""
        value = self.kernel.values.get(node)
        return value.expr if isinstance(value, Block) and value.shape == () and not value.base else None

    def original(self, index: ProgramId) -> Expr:
        """``index`` in terms of the program ids of the launch."""
        for split in self.indices.splits:
            if index in (split.high, split.low):
                digit = floordiv if index == split.high else mod
                return lift(digit(Expr.atom(ProgramId(split.axis)), split.divisor))
        return Expr.atom(index)

    def sites(self, index: ProgramId) -> list[IndexSite]:
        """Where the kernel computes ``index``, not where it only names it. Raises where a helper does it."""
        wanted = self.original(index)
        found = [
            IndexSite(node, self.assigned_name(node))
            for node in walk(self.kernel.node.body)
            if isinstance(node, cst.BaseExpression) and not isinstance(node, cst.Name) and self.value(node) == wanted
        ]
        if not found:
            raise CannotRewrite("an index that follows the program id is computed in a helper function")
        return found

    def assigned_name(self, node: cst.BaseExpression) -> str:
        """The variable that ``node`` alone gives its value to, in an assignment of its own or in one of tuples."""
        parent = self.kernel.parent(node)
        target: cst.CSTNode | None = None
        if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
            target = parent.targets[0].target
        elif isinstance(parent, cst.Element):
            values = self.kernel.parent(parent)
            assign = self.kernel.source.parent(values)
            if isinstance(assign, cst.Assign) and isinstance(values, cst.Tuple) and len(assign.targets) == 1:
                targets = assign.targets[0].target
                if isinstance(targets, cst.Tuple) and len(targets.elements) == len(values.elements):
                    target = targets.elements[list(values.elements).index(parent)].value
        if isinstance(target, cst.Name) and len(self.kernel.bindings(target.value)) == 1:
            return target.value
        return ""

    def other_uses(self, sites: list[IndexSite]) -> list[cst.BaseExpression]:
        """Where a program id behind ``sites`` is read in any other way than to compute them."""
        covered = {id(inner) for site in sites for inner in walk(site.node)}
        values = [self.value(site.node) for site in sites]
        ids = {atom for value in values if value is not None for atom in value.atoms() if isinstance(atom, ProgramId)}
        found = []
        for node in walk(self.kernel.node.body):
            if id(node) in covered or not isinstance(node, cst.BaseExpression):
                continue
            value = self.value(node)
            if value in values or not any(value == Expr.atom(atom) for atom in ids):
                continue
            if isinstance(node, cst.Name) and self.kernel.binding(node) is not None:
                continue
            if self._is_program_id(node) and self.assigned_name(node):
                continue  # it is on its way to a name, and that is looked at where it is read
            found.append(node)
        return found

    def _is_program_id(self, node: cst.BaseExpression) -> bool:
        return callee(node) == "program_id"
