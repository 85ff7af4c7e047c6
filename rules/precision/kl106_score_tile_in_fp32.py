from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.operators.dot_operands import Rounded
from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.operand_layout import operand_tensor
from kernlint.workload import Dot, Dtype, Launch, Loop, Operand, Reduce
from kernlint.workload import dtype as dt


class ScoreTileInFp32(Rule):
    code = "KL106"
    name = "score-tile-in-fp32"
    bare = True
    summary = "the softmax tile of an attention kernel meets a value tile that is widened to fp32"
    what_it_does = """
        Finds the second `tl.dot` of an attention loop (scores by a first dot, a running maximum of them) whose value tile is
        loaded in half precision and cast to fp32 so that it matches the fp32 probabilities. Follows values through casts,
        transposes and helpers. Where the type in memory is not known, it must be the first dot's operands that are fed as
        loaded, which makes the cast the only fp32 in the product.
        """
    why = """
        A dot of fp32 operands runs at the tf32 rate, half of fp16's, and keeps twice the shared memory and registers per tile.
        Rounding the probabilities, which lie between 0 and 1, to the type of the values is what every production attention
        kernel does.
        """
    when_not = """
        Models whose tensors are fp32. States of a recurrence and gradients that need the wider type: there is no running maximum
        of the scores then, and the rule is silent.
        """
    fix_safety = "Unsafe: the probabilities are rounded to half precision before the second product."
    evidence = """
        H100, dots of the same tile and shape: tf32 takes about twice the time of fp16 (`calibration/facts/h100-gemm.csv`).
        Compiled with Triton 3.9 for sm_90, D = 64: 8 wgmma and 108 registers against 12 and 128. Pattern row PERF-004.
        """

    bad = """
        @triton.jit
        def attend(Q, K, V, O, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
            base = tl.program_id(1) * N * D
            m, d, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, BN)
            q = tl.load(Q + base + m[:, None] * D + d[None, :])
            top, total = tl.full((BM,), -1e30, tl.float32), tl.zeros((BM,), tl.float32)
            acc = tl.zeros((BM, D), tl.float32)
            for start in range(0, N, BN):
                k = tl.load(K + base + (start + n)[None, :] * D + d[:, None])
                v = tl.load(V + base + (start + n)[:, None] * D + d[None, :]).to(tl.float32)
                s = tl.dot(q, k)
                new = tl.maximum(top, tl.max(s, 1))
                p = tl.exp2(s - new[:, None])
                scale = tl.exp2(top - new)
                total = total * scale + tl.sum(p, 1)
                acc = acc * scale[:, None] + tl.dot(p, v)
                top = new
            tl.store(O + base + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))
        """
    good = bad.replace(".to(tl.float32)\n", "\n").replace("tl.dot(p, v)", "tl.dot(p.to(v.dtype), v)")
    launch = "attend[(2048 // 64, 64)](q, k, v, o, 2048, BM=64, BN=64, D=64, num_warps=4)"
    takes, makes = "q, k, v", "o = torch.empty_like(q)"
    inputs = "torch.randn(64, 2048, 64, dtype=torch.float16) for _ in range(3)"
    example = "acc = acc * scale[:, None] + tl.dot(p, v.to(tl.float32))"
    use_instead = "acc = acc * scale[:, None] + tl.dot(p.to(v.dtype), v)"

    def check(self, context: Context) -> Iterable[Finding]:
        for product in _second_products(context):
            launch, dot, wide = product.launch, product.dot, product.wide
            kernel = launch.kernel.name
            name = tensor_name(operand_tensor(launch, wide), "the value tile")
            span = wide.casts[0].span if wide.casts else wide.span
            stored = f"is {product.narrow} in memory" if wide.casts else "is loaded in the type of its tensor"
            narrow = product.narrow or dt.FLOAT16
            yield self.finding(
                f"`{kernel}` widens `{name}` to fp32 for its second tl.dot, at line {dot.span.line}",
                span,
                kernel,
                (
                    Evidence(f"`{name}` {stored} and cast to fp32", span),
                    Evidence("the other operand is computed from a first tl.dot in the same loop", product.first.span),
                    Evidence(
                        "a running maximum of its scores is taken: probabilities between 0 and 1", product.top.span
                    ),
                ),
                Change(
                    context.variant.then(transform=Rounded(launch.span, frozenset({dot.span}), narrow)),
                    f"The second product of `{kernel}` runs on fp32 operands at the {context.device.single_precision} rate, "
                    f"although `{name}` holds no more than half precision.",
                    "Cast the probabilities down to the type of the value tile and leave that as it was loaded.",
                    f"At line {dot.span.line} write `tl.dot(p.to(v.dtype), v, acc)` for probabilities p and values v, and drop the "
                    f"cast at line {span.line}.",
                ),
                severity=self.severity if product.narrow is not None else "info",
            )


@dataclass(frozen=True)
class _Product:
    """A dot that follows the softmax of another in the same loop; ``narrow`` is the type of ``wide`` in memory, None where
    nothing tells it."""

    launch: Launch
    dot: Dot
    wide: Operand
    narrow: Dtype | None
    first: Dot
    top: Reduce


def _second_products(context: Context) -> Iterator[_Product]:
    seen = set()
    for launch in context.distinct_launches():
        for loop in launch.kernel.nodes(Loop):
            dots = [node for node in loop.body if isinstance(node, Dot)]
            tops = [node for node in loop.body if isinstance(node, Reduce) and node.op == "max" and not node.scalar]
            for dot in dots:
                found = _narrow_operand(launch, dot)
                first = next((d for d in dots if d is not dot and _computed_from(dot, d)), None)
                top = next((t for t in tops if first is not None and t.shape == (first.m, first.n)), None)
                if found is None or first is None or top is None or dot.span in seen:
                    continue
                wide, narrow = found
                if narrow is None and not all(one.direct and not one.known for one in (first.a, first.b)):
                    continue
                seen.add(dot.span)
                yield _Product(launch, dot, wide, narrow, first, top)


def _narrow_operand(launch: Launch, dot: Dot) -> tuple[Operand, Dtype | None] | None:
    """The operand of a dot of fp32 operands that only a cast made fp32, with its type in memory; the other one is computed."""
    for wide, other in ((dot.b, dot.a), (dot.a, dot.b)):
        fp32 = wide.known and wide.dtype == dt.FLOAT32 and other.known and other.dtype == dt.FLOAT32
        if not (fp32 and wide.direct and not other.direct):
            continue
        if wide.casts and wide.memory_dtype in (dt.FLOAT16, dt.BFLOAT16):
            return wide, wide.memory_dtype
        tensor = operand_tensor(launch, wide)
        # A load of unknown type is fp32 only because a cast made it so.
        if not wide.casts and (tensor is None or tensor.dtype is None):
            return wide, None
    return None


def _computed_from(dot: Dot, first: Dot) -> bool:
    """Whether the computed operand of ``dot`` contains what the operands of ``first`` were loaded as."""
    computed = dot.b.loads if dot.a.direct else dot.a.loads
    return bool(first.a.loads and first.b.loads) and first.a.loads | first.b.loads <= computed
