"""Narrow: dots that compute in fp32 what comes from 16-bit tensors and goes back to them are fed 16-bit operands, which lose little."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import ClassVar

from kernlint.headroom import kernels
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass, replace
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.native_dots import feed_natively
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite
from kernlint.rules.finding import Context, Variant
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


# -- the operator -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WideLoop(Place):
    """The ``products`` of one ``loop`` of a ``launch`` that are fed fp32, one of them at least with what the kernel computes."""

    launch: Launch
    loop: Loop
    products: tuple[Product, ...]

    @property
    def narrow(self) -> Dtype:
        """The 16-bit type of their tensors."""
        return self.products[0].narrow

    @property
    def dots(self) -> frozenset[Span]:
        """Where they stand."""
        return frozenset(one.dot.span for one in self.products)


class _Narrow(Operator[WideLoop, WideLoop]):
    name: ClassVar[str] = "narrow"
    causes: ClassVar[frozenset[str]] = frozenset({kernels.UNIT})

    def sites(self, context: Context) -> Iterator[WideLoop]:
        """Where every operand is a widened tensor nothing is rounded: that is no place, and KL103 words it."""
        for launch in context.distinct_launches():
            for loop, products in products_of_halves(launch):
                if any(one.computed for one in products):
                    name = launch.kernel.name
                    subject = f"the dots of `{name}` at lines {_lines(one.dot.span for one in products)}"
                    yield WideLoop(subject, products[0].dot.span, launch.function, name, launch, loop, tuple(products))

    def check(self, context: Context, site: WideLoop) -> WideLoop | WhyNot:
        if not errors_stay(site.launch, site.loop):
            return WhyNot("what rounding does in one iteration is multiplied on in the next")
        return site

    def apply(self, context: Context, proofs: Sequence[WideLoop]) -> Variant:
        variant = context.variant
        for proof in proofs:
            variant = variant.then(transform=Rounded(proof.launch.span, proof.dots, proof.narrow))
        return variant


NARROW = _Narrow()


def _lines(spans: Iterable[Span]) -> str:
    return ", ".join(map(str, sorted({span.line for span in spans})))


# -- the same as text -------------------------------------------------------------------------------------------------

#: What becomes of the numbers, by the type that is fed.
_NOTES = {
    dt.FLOAT16: "what the kernel computes is rounded to float16, which ends at 65,504",
    dt.BFLOAT16: "what the kernel computes is rounded to the 7 bits of bfloat16's mantissa",
}


@codemod(Rounded)
def round_operands(site: Site, transform: Rounded) -> Rewriting:
    """Casts of loaded operands go, and what is computed is cast to their type."""
    launches = [one for one in site.workload.launches() if one.span == transform.launch]
    if transform.dtype == dt.FLOAT16 and any(_feeds_sums(one, transform.dots) for one in launches):
        raise CannotRewrite("a sum that a loop carries along may exceed float16's 65,504")
    made = feed_natively(site, transform.dots, transform.dtype)
    return made | Rewriting((), Effects("unsafe", "changed", notes=(_NOTES[transform.dtype],)))


def _feeds_sums(launch: Launch, spans: Collection[Span]) -> bool:
    """Whether an operand of one of the dots at ``spans`` is made of a state of floats that their loop carries, other than those of an
    online softmax, whose weights are 1 at most."""
    for loop in launch.kernel.nodes(Loop):
        dots = {node.id: node for node in loop.body if isinstance(node, Dot) and node.span in spans}
        if not dots or softmax_state(launch.kernel, loop) is not None:
            continue
        steps = iteration(launch.kernel, loop)
        if steps is None:
            return True
        sums = steps.reached(one for one in steps.carried if one.dtype is not None and one.dtype.is_float)
        found = [value for value in steps.values if value.op == "dot" and value.node in dots]
        if len(found) < len(dots) or any(one.id in sums for value in found for one in steps.values.operands(value)[:2]):
            return True
    return False
