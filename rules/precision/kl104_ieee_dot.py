from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from kernlint.interpret.edits import Edits
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.precision.rounding import rounded_findings
from kernlint.rules.precision.upcast import DOTS
from kernlint.rules.proofs.source_text import node_at
from kernlint.syntax.names import bound_by, origin_of
from kernlint.syntax.tree import Module
from kernlint.workload import Dot, Launch, Operand, Span
from kernlint.workload import dtype as dt


class IeeeDot(Rule):
    code = "KL104"
    name = "ieee-dot"
    summary = 'fp32 tl.dot with input_precision="ieee" leaves the tensor cores'
    what_it_does = """
        Finds `tl.dot` calls with `input_precision="ieee"` or `allow_tf32=False` whose operands are two fp32 tensors as they lie
        in memory: a plain matrix product. Also loops of such dots over 16-bit data (linear attention, attention in fp32): one
        operand at least of each is a 16-bit tensor that was widened, the kernel stores nothing wider, and what rounding does in
        one iteration is not fed back into the products of the next; all dots of the loop are then changed at once. The precision
        must be written down, at the dot, at the launch or as the kernel's default; one that a caller or an environment variable
        chooses is somebody's decision.
        """
    why = """
        There are no fp32 tensor cores: an ieee dot is computed by the FMA units, at a tenth of the tf32 rate or less.
        """
    when_not = """
        The result needs the full fp32 mantissa. Operands that the kernel computed itself from fp32 tensors, or that feed back
        into the next iteration's products (triangular solves, delta rules, a state that is multiplied on), are left alone: there
        ieee is nearly always deliberate. `input_precision="tf32x3"` gives nearly that from three tensor-core dots. AMD devices
        without tf32 have only ieee.
        """
    fix_safety = """
        Unsafe: tf32 keeps 10 bits of the operands' mantissa. tf32x3 keeps nearly all of it at a third of the rate. In loops over
        16-bit data what the kernel computed is rounded to the type of the data (fp16 keeps as many bits as tf32, bf16 three
        fewer, and fp16 ends at 65,504), but for an fp16 sum that a loop carries along: there the change is described, not made.
        """
    evidence = """
        H100, M=N=K=2048, tile 64x64x32, 4 warps, the same operands: ieee 499 us, tf32 166 us
        (`calibration/facts/h100-seed.txt`); with the best tile of each 773 us against 64 us (`h100-gemm.csv`).
        Pattern row PERF-001.
        """

    bad = DOTS.replace("y, acc", 'y, acc, input_precision="ieee"').replace("BK=64", "BK=32")
    good = bad.replace("ieee", "tf32x3")
    example = 'acc = tl.dot(x, y, acc, input_precision="ieee")'
    use_instead = 'acc = tl.dot(x, y, acc, input_precision="tf32")  # or "tf32x3"'

    def check(self, context: Context) -> Iterable[Finding]:
        if context.device.peak_tf32_tensor_dense_tflops is None:
            return
        slow = "ask for ieee precision, which no tensor core offers, so they run on the FMA units"
        yield from rounded_findings(
            self, context, "ieee", slow, lambda site, dot: _written_down(context, site.launch, dot)
        )
        seen: set[Span] = set()
        for launch in context.distinct_launches():
            plain = [
                (dot, loops[-1].id)
                for dot, loops in launch.kernel.walk(Dot)
                if loops  # a single small product gains nothing
                if dot.precision == "ieee" and dot.span not in seen and _plain_fp32(dot.a) and _plain_fp32(dot.b)
                if _written_down(context, launch, dot)
            ]
            for dot, loop in plain:
                if dot.span in seen:
                    continue
                seen.add(dot.span)
                # One alone leaves the others of its loop as slow as they are.
                together = {one.span for one, around in plain if around == loop}
                lines = ", ".join(map(str, sorted({span.line for span in together})))
                change = Change(
                    context.variant.then(Edits(precisions=frozenset((span, "tf32") for span in together))),
                    "The fp32 dot asks for ieee precision, which no tensor core offers, so it runs on the FMA units.",
                    'Use `input_precision="tf32"` (or "tf32x3" where nearly full fp32 accuracy is needed) so that the dot runs '
                    "on the tensor cores.",
                    f'At line{"s" * ("," in lines)} {lines} set `input_precision="tf32"`, compare the error against the reference, '
                    'and take "tf32x3" where it is too large.',
                )
                yield self.finding(
                    f"`{launch.kernel.name}` runs its fp32 tl.dot in ieee precision",
                    dot.span,
                    launch.kernel.name,
                    (Evidence(f"both operands are float32 in memory and the precision is {dot.precision}", dot.span),),
                    change,
                )


def _plain_fp32(operand: Operand) -> bool:
    """Whether an operand is known to be fp32 in memory and comes straight from there (a narrower one: KL103)."""
    return operand.known and operand.direct and operand.dtype == dt.FLOAT32 and not operand.casts


def _written_down(context: Context, launch: Launch, dot: Dot) -> bool:
    """Whether the source says the precision outright: a literal at the dot, a module's constant, or a constexpr of the kernel
    that the launch or the kernel's signature gives as a literal."""
    call = node_at(context, dot.span, cst.Call)
    if call is None:
        return False
    value = next((v for name, index in _ARGUMENTS if (v := _argument(call, name, index)) is not None), None)
    if _is_literal(value):
        return True
    if not isinstance(value, cst.Name):
        return False
    if value.value not in launch.constexprs:
        return _is_constant(context.program.kernel, value.value)
    if value.value not in launch.explicit:
        return True
    site = node_at(context, launch.span, cst.Call)
    return _is_literal(_argument(site, value.value, None)) if site is not None else False


#: The parameters of tl.dot that say the precision, with their places.
_ARGUMENTS = (("input_precision", 3), ("allow_tf32", 4))


def _argument(call: cst.Call, name: str, index: int | None) -> cst.BaseExpression | None:
    """What ``call`` passes as ``name``, or at ``index``; None where it passes nothing, or unpacks a list before that."""
    named = next((a.value for a in call.args if a.keyword is not None and a.keyword.value == name), None)
    if named is not None or index is None or index >= len(call.args):
        return named
    before = call.args[: index + 1]
    return None if any(a.keyword is not None or a.star for a in before) else before[index].value


def _is_literal(value: cst.BaseExpression | None) -> bool:
    return isinstance(value, cst.SimpleString) or (isinstance(value, cst.Name) and value.value in ("True", "False"))


def _is_constant(module: Module, name: str) -> bool:
    """Whether ``name`` is bound once, at the top of the module, to a literal or to ``tl.constexpr`` of one."""
    if sum(one.value == name for node in module.nodes for one in bound_by(node)) != 1:
        return False
    for line in module.tree.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, (cst.Assign, cst.AnnAssign)) and any(
                one.value == name for one in bound_by(statement)
            ):
                value = statement.value
                if isinstance(value, cst.Call) and len(value.args) == 1:
                    made = origin_of(value.func, module.imports)
                    value = value.args[0].value if made == "triton.language.constexpr" else None
                return _is_literal(value)
    return False
