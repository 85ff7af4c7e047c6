"""Dots that compute in fp32 what comes from 16-bit tensors and goes back to them, so that 16-bit operands lose little."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.dependence import AFFINE, Dependence
from kernlint.rules.proofs.iteration import iteration
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.rules.proofs.softmax_state import softmax_state
from kernlint.workload import Dot, Dtype, Launch, Loop, Operand, Span
from kernlint.workload import dtype as dt
from kernlint.workload.kernel import Node


@dataclass(frozen=True)
class Product:
    """A dot of fp32 operands of which one at least is a 16-bit tensor that was widened; ``computed`` says that the other is a
    result of the kernel. ``narrow`` is the tensor's type."""

    dot: Dot
    narrow: Dtype
    computed: bool


def products_of_halves(launch: Launch) -> Iterator[tuple[Loop, list[Product]]]:
    """The loops of ``launch`` with such dots, which all come from one 16-bit type, of a kernel that stores nothing wider."""
    if any(store.dtype.bits != 16 or not store.dtype.is_float for store in launch.kernel.stores()):
        return
    for loop in launch.kernel.nodes(Loop):
        found = [_product(node) for node in loop.body if isinstance(node, Dot)]
        products = [one for one in found if one is not None]
        if len({one.narrow for one in products}) == 1:
            yield loop, products


def _product(dot: Dot) -> Product | None:
    narrow = [_widened_from(operand) for operand in (dot.a, dot.b)]
    first = narrow[0] or narrow[1]
    both = all(operand.known and operand.dtype == dt.FLOAT32 for operand in (dot.a, dot.b))
    if first is None or not both or any(one not in (None, first) for one in narrow):
        return None
    # The other operand is a widened tensor too, or computed; a tensor that is fp32 in memory keeps its bits.
    other = dot.b if narrow[0] is not None else dot.a
    computed = None in narrow
    return None if computed and other.direct else Product(dot, first, computed)


def _widened_from(operand: Operand) -> Dtype | None:
    """The 16-bit type that an operand has in memory, where casts alone made it fp32."""
    stored = operand.memory_dtype
    return stored if operand.direct and operand.casts and stored in (dt.FLOAT16, dt.BFLOAT16) else None


def errors_stay(launch: Launch, loop: Loop) -> bool:
    """Whether what rounding does in one iteration of ``loop`` is not fed back into products of the next: carried values are
    added to, scaled by what does not come from them, or are those of an online softmax."""
    steps = iteration(launch.kernel, loop)
    if steps is None:
        return False
    if softmax_state(launch.kernel, loop) is not None:
        return True
    dependence = Dependence(steps.values, steps.carried, steps.reached(steps.carried))
    ends = [(phi.id, dependence.of(steps.end(phi))) for phi in steps.carried]
    return all(set(form) == {id} and form[id] in AFFINE for id, form in ends)


@dataclass(frozen=True)
class Rounded(LaunchChange):
    """The workload with dots of a launch fed operands of the 16-bit type ``dtype``, on the tensor cores."""

    dots: frozenset[Span]
    dtype: Dtype

    def _node(self, node: Node) -> Node:
        if not isinstance(node, Dot) or node.span not in self.dots:
            return node
        return replace(node, a=self._rounded(node.a), b=self._rounded(node.b), precision="tf32")

    def _rounded(self, operand: Operand) -> Operand:
        return replace(operand, dtype=self.dtype, casts=())
