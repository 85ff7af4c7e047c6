"""What the three operand-upcast rules share: dots fed with operands that were widened on the way from memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kernlint.interpret.edits import Edits
from kernlint.operators.product_tiles import priced_depth
from kernlint.records import dataclass, replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant, doubted, tensor_name
from kernlint.rules.proofs.counterparts import find_dot
from kernlint.rules.proofs.operand_layout import k_major_remedy, operand_tensor, wants_k_major
from kernlint.workload import Cast, Dot, Dtype, Launch, Operand, Span

#: Predicted gain of a deeper tile over the narrow one alone below which it is not worth another change.
_DEEPER = 1.1
#: Rows (and columns) of a tile on the tensor cores: of fewer products the operands' bytes take longer than any unit's arithmetic.
_ROWS = 16

#: The program of examples about what a dot is fed with: floats as they lie in memory, ``b`` K-major.
DOTS = """
        @triton.jit
        def kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                x = tl.load(a + m[:, None] * K + (start + k)[None, :])
                y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
                acc = tl.dot(x, y, acc)
            tl.store(c + m[:, None] * BN + n[None, :], acc)

        def launch(a, b):
            assert a.dtype == torch.float32 and b.dtype == torch.float32
            c = torch.empty(64, 64, device=a.device)
            kernel[(1,)](a, b, c, 4096, BM=64, BN=64, BK=64)
            return c
        """
#: The same with operands that are widened as they are loaded.
WIDENED_DOTS = (
    DOTS.replace("[None, :])\n", "[None, :]).to(tl.float32)\n").replace("* K)\n", "* K).to(tl.float32)\n")
    .replace("acc = tl.dot(x, y, acc)", "acc += tl.dot(x, y)")
)  # fmt: skip


@dataclass(frozen=True)
class Upcast:
    """A dot whose two operands both lie in memory as ``narrow`` and are fed as ``wide``. Operands that are scaled on the way
    appear in ``dot`` without their factors."""

    launch: Launch
    dot: Dot
    narrow: Dtype
    wide: Dtype

    @property
    def cast(self) -> Cast:
        """The change of type that loses the narrow tensor-core rate: the first on operand a, else on b."""
        return (self.dot.a.casts or self.dot.b.casts)[0]

    @property
    def factors(self) -> tuple[Span, ...]:
        """Where operands are multiplied by what their product can be multiplied by as well."""
        return tuple(sorted({*self.dot.a.factors, *self.dot.b.factors}))

    @property
    def offsets(self) -> tuple[Span, ...]:
        """Where operands are moved by what sums of the other operand make good behind the loop."""
        return tuple(sorted({*self.dot.a.offsets, *self.dot.b.offsets}))


def upcasts(context: Context, narrow: Callable[[Dtype], bool]) -> Iterator[Upcast]:
    """The dots that could run natively on ``narrow`` operands: both operands reach the dot through casts alone, or through
    factors that can wait until behind the loop, from the same type in memory, and at least one of them was widened to a
    floating type."""
    seen = set()
    for launch in context.launches():
        for dot in launch.kernel.dots():
            key = (launch.span, dot.span)
            a, b = dot.a.unscaled or dot.a, dot.b.unscaled or dot.b
            if key in seen or not (a.direct and b.direct and (a.casts or b.casts)):
                continue
            seen.add(key)
            stored = a.memory_dtype
            if stored != b.memory_dtype or not narrow(stored):
                continue
            if (a.dtype.is_float and a.dtype.bits > stored.bits) or (a.dtype.is_float and stored.is_integer):
                yield Upcast(launch, replace(dot, a=a, b=b), stored, a.dtype)


def of_one_loop(found: Iterable[Upcast]) -> Iterator[tuple[Upcast, frozenset[Span]]]:
    """Each of ``found`` with the dots of the same loop, itself among them, that are fed the same way: one alone leaves the
    others as slow as they are."""
    loops: dict[tuple[object, ...], list[Upcast]] = {}
    for upcast in found:
        around = next(around for node, around in upcast.launch.kernel.walk(Dot) if node.span == upcast.dot.span)
        place = tuple(loop.id for loop in around) if around else upcast.dot.span
        loops.setdefault((upcast.launch.span, place, upcast.narrow, upcast.wide), []).append(upcast)
    for together in loops.values():
        spans = frozenset(upcast.dot.span for upcast in together)
        yield from ((upcast, spans) for upcast in together)


def upcast_finding(
    rule: Rule, context: Context, upcast: Upcast, together: frozenset[Span], bottleneck: str, native: str
) -> Finding:
    """The finding for ``upcast``, its change being the native dot, with those at ``together``, and whatever layout that dot
    needs to be fast.

    ``native`` says what the dot should be, such as "an int8 dot with an int32 accumulator".
    """
    launch, dot = upcast.launch, upcast.dot
    kernel = launch.kernel.name
    edited = context.variant.then(Edits(native_dots=together))
    variant, methods, plans = edited, [f"Feed `tl.dot` {native}"], []
    evidence = [_operand_evidence(launch, dot.a), _operand_evidence(launch, dot.b)]
    if wants_k_major(context.device, upcast.narrow):
        for side in ("a", "b"):
            found = find_dot(context.after(variant), launch.span, dot.span)
            remedy = k_major_remedy(context, variant, *found, side) if found is not None else None
            if remedy is not None and _pays(context, variant, remedy.variant):
                variant = remedy.variant
                methods.append(remedy.method)
                plans.append(remedy.plan)
                evidence += remedy.evidence
                narrow = upcast.narrow
                evidence.append(
                    Evidence(
                        f"{context.device.id} reads {narrow} dot operands fast only when they are K-contiguous",
                        dot.span,
                    )
                )
    deeper = _deeper(context, variant, upcast)
    if deeper is not None:
        name, depth, variant = deeper
        methods.append(f"set {name}={depth}, as the narrow tiles leave room for it")
        plans.append(f"Set {name}={depth}: a step along K then loads as many bytes as it holds now.")
    casts = {cast.span for operand in (dot.a, dot.b) for cast in operand.casts}
    lines = sorted({span.line for span in casts.difference(upcast.factors, upcast.offsets)})
    steps = [f"Remove the casts at line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}; feed {native}."]
    if not lines:
        steps = [f"Feed {native}."]
    others = sorted(span.line for span in together - {dot.span})
    if others:
        methods.append(
            f"the dot{'s' * (len(others) > 1)} at line{'s' * (len(others) > 1)} {', '.join(map(str, others))} likewise"
        )
        steps.append(f"Do the same for the dots at lines {', '.join(map(str, sorted((*others, dot.span.line))))}.")
    if upcast.factors:
        methods.append("apply the factors to the accumulator, once")
        lines = sorted({span.line for span in upcast.factors})
        steps.append(
            f"Multiply the finished accumulator by the factor{'s' * (len(upcast.factors) > 1)} of line{'s' * (len(lines) > 1)} "
            f"{', '.join(map(str, lines))}, which no step of the loop changes."
        )
    if upcast.offsets:
        methods.append("apply the offset behind the loop, to the sums of the other operand along K")
        lines = sorted({span.line for span in upcast.offsets})
        steps.append(
            f"Take the offset{'s' * (len(upcast.offsets) > 1)} of line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))} out of the "
            "loop: sum_k (a - z) b = sum_k a b - z sum_k b. Add up the other operand along K in the loop "
            "(int32, one sum for each row or column), or once for all calls where it is a weight, and take the offset times these "
            "sums from the finished accumulator."
        )
    if upcast.narrow.is_integer:
        steps.append("Cast the finished accumulator to float32 in the epilogue, before the scales.")
    return rule.finding(
        f"`{kernel}` casts {upcast.narrow} operands to {upcast.wide} before tl.dot at line {dot.span.line}",
        upcast.cast.span,
        upcast.cast.function or kernel,
        tuple(evidence),
        Change(variant, bottleneck, " and ".join(methods) + ".", " ".join(steps + plans)),
        kernel=kernel,
        doubts=doubted(
            min(dot.m, dot.n) < _ROWS and context.gpu_us(context.variant) is None,
            "an operand is used for few rows or columns, so that loading it takes the time",
        ),
    )


def _deeper(context: Context, variant: Variant, upcast: Upcast) -> tuple[str, int, Variant] | None:
    """(constexpr, extent, program): ``variant`` with as many more elements along K in a step as they have fewer bytes now.

    None where that does not fit, gains little, or is for the autotuner to find; for integers too, whose change is exact
    only as long as it is the type alone that changes.
    """
    found = find_dot(context.after(variant), upcast.launch.span, upcast.dot.span)
    if found is None or context.autotune or upcast.narrow.is_integer:
        return None
    depth = upcast.dot.k * upcast.wide.bits // upcast.narrow.bits
    before, priced = context.gpu_us(variant), priced_depth(context, variant, *found, depth)
    if before is None or priced is None or before < _DEEPER * priced[0]:
        return None
    _, name, deeper = priced
    return name, depth, deeper


def _pays(context: Context, before: Variant, after: Variant) -> bool:
    """Whether a further step makes the change faster (open sizes: assume that it does, the layout is a lowering
    fact)."""
    old, new = context.gpu_us(before), context.gpu_us(after)
    return old is None or new is None or new < old


def _operand_evidence(launch: Launch, operand: Operand) -> Evidence:
    name = tensor_name(operand_tensor(launch, operand), "a tensor")
    casts = ", ".join(f"cast to {cast.target} at line {cast.span.line}" for cast in operand.casts) or "not cast"
    layout = {True: "K-contiguous", False: "not K-contiguous", None: "layout unknown"}[operand.k_major]
    span = operand.casts[0].span if operand.casts else operand.span
    lines = ", ".join(str(line) for line in sorted({factor.line for factor in operand.factors}))
    scaled = f", multiplied by a factor at line {lines}" if lines else ""
    moved = ", ".join(str(line) for line in sorted({offset.line for offset in operand.offsets}))
    scaled += f", moved by an offset at line {moved}" if moved else ""
    return Evidence(f"operand from `{name}` is {operand.memory_dtype} in memory ({layout}), {casts}{scaled}", span)
