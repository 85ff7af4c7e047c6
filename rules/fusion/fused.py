"""The finding for a chain of steps that could be one launch: its proof, and its change with what it saves."""

from __future__ import annotations

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.fusion.chains import Chain, Fuse
from kernlint.rules.fusion.checks import kept_apart
from kernlint.rules.proofs.step_graph import blamed
from kernlint.rules.wording import described, listed, step_name
from kernlint.workload import Launch, Tensor, TorchOp


def chain_finding(rule: Rule, context: Context, chain: Chain, message: str, method: str, plan: str) -> Finding | None:
    """The finding of ``rule`` for ``chain``; None where the model is sure that one launch would take longer.

    A chain that only hands on a small by-product of a large kernel saves launches alone and is told as ``info``.
    """
    variant = context.variant.then(transform=Fuse(chain.places))
    before, after = context.gpu_us(context.variant), context.gpu_us(variant)
    if before is not None and after is not None and after >= before:
        return None
    evidence = [Evidence(f"{step_name(step)} runs on its own", step.span) for step in chain.steps]
    for tensor in chain.passed:
        writer = next((s for s in chain.steps if _touches(s, tensor)), chain.steps[0])
        name, text = described(tensor)
        evidence.append(
            Evidence(f"`{name}` {text} is written here and read back by a later step of the chain alone", writer.span)
        )
    for tensor in chain.kept:
        name, text = described(tensor)
        evidence.append(
            Evidence(f"`{name}` {text} is also used elsewhere: it must still be written, but not read back")
        )
    for tensor in chain.shared:
        name, text = described(tensor)
        evidence.append(Evidence(f"`{name}` {text} is read by more than one step of the chain"))
    bottleneck = (
        f"{len(chain.steps)} launches, {listed([step_name(s) for s in chain.steps])}, pass "
        f"{_tensors(chain)} through global memory{_saving(chain)}, and each costs a launch of its own."
    )
    kernel = next(step.kernel.name for step in chain.launches)
    first = chain.steps[0]
    severity = "info" if chain.slight else rule.severity
    return rule.finding(
        message, first.span, blamed(context.workload, chain.steps), tuple(evidence),
        Change(variant, bottleneck, method, plan), kernel=kernel, severity=severity,
        doubts=tuple(kept_apart(context, chain.steps)),
    )  # fmt: skip


def _tensors(chain: Chain) -> str:
    names = [f"`{described(t)[0]}`" if t.name else described(t)[1] for t in (chain.passed or chain.kept)]
    return listed(list(dict.fromkeys(names)))


def _saving(chain: Chain) -> str:
    """The bytes that no longer move: each passed tensor once out and once in, each shared one in a second time."""
    sizes = [(t.nbytes, 2) for t in chain.passed] + [(t.nbytes, 1) for t in chain.shared]
    if any(size is None for size, _ in sizes):
        return ""
    moved = sum(size * times for size, times in sizes if size is not None)
    return f" ({moved / 1e6:.1f} MB of traffic)" if moved >= 50_000 else ""


def _touches(step: Launch | TorchOp, tensor: Tensor) -> bool:
    tensors = (
        step.writes if isinstance(step, TorchOp) else [v for v in step.arguments.values() if isinstance(v, Tensor)]
    )
    return any(t.storage.id == tensor.storage.id for t in tensors)
