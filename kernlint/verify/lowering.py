"""Whether a change lowered as hoped: what the compiler made of both versions, compared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kernlint.verify.result import KernelBinary

#: Operand types of matrix instructions, the fastest first.
_RATES = (("e4m3", "e5m2", "s8", "u8", "i8", "fp8", "bf8"), ("f16", "bf16"), ("tf32", "xf32"), ("f64",))


def instruction(mma: Mapping[str, int]) -> str:
    """The most frequent matrix instruction in short, such as ``wgmma s8``; empty where there is none."""
    if not mma:
        return ""
    name = max(mma, key=lambda one: mma[one])
    family = "wgmma" if name.startswith("wgmma") else "tcgen05" if name.startswith("tcgen05") else "mma"
    if name.startswith("v_"):
        return name
    # Accumulator and operand types end the name: ....f32.tf32.tf32 and ....f32.f16.f16.f32.
    types = re.findall(r"\.(tf32|bf16|f16|f32|f64|s8|u8|s32|e4m3|e5m2|b1|s4|u4)(?=\.|$)", name)
    operand = _operand(family, types)
    return f"{family} {operand}".strip()


def _operand(family: str, types: Sequence[str]) -> str:
    if family == "wgmma" or len(types) < 3:
        return types[-1] if types else ""
    return types[1]


def _rank(mma: Mapping[str, int]) -> int:
    """0 for the fastest kind of matrix instruction; larger is slower, none is slowest."""
    short = instruction(mma)
    if not short:
        return 99
    for rank, kinds in enumerate(_RATES):
        if any(re.search(rf"(?<![a-z0-9]){kind}(?![a-z0-9])|{kind}$", short) for kind in kinds):
            return 2 * rank + (0 if short.startswith(("wgmma", "tcgen05", "v_")) else 1)
    return 98


def _usual_width(kernel: KernelBinary) -> int | None:
    """Width in bytes of most of the copies to shared memory, or where there are none of most of the loads: those of the
    loop, where it matters, outnumber the ones of the epilogue."""
    if kernel.tensor_copies:
        return None
    widths = {int(width): count for width, count in (kernel.async_copy_bytes or kernel.load_bytes).items()}
    return max(widths, key=lambda width: (widths[width], width), default=None)


def compared(kernels: Sequence[KernelBinary]) -> tuple[str, list[str]]:
    """``lowered`` (something became better and nothing worse), ``unchanged``, ``worse`` or ``failed``; and what differs, a
    sentence each."""
    broken = [k for k in kernels if k.error and k.version == "after"]
    if broken:
        return "failed", [f"`{k.kernel}` does not compile: {k.error}" for k in broken]
    before = {k.kernel: k for k in kernels if k.version == "before" and not k.error}
    after = {k.kernel: k for k in reversed(kernels) if k.version == "after"}
    better: list[str] = []
    worse: list[str] = []
    neutral: list[str] = []
    for name, new in after.items():
        old = before.get(name)
        if old is None:
            neutral.append(f"`{name}` is new: {_short(new)}")
            if new.spill_bytes:
                worse.append(f"`{name}` spills {new.spill_bytes} bytes a thread")
            continue
        _compare(name, old, new, better, worse, neutral)
    gone = [name for name in before if name not in after]
    better += [f"`{name}` is gone" for name in gone]
    outcome = "worse" if worse else "lowered" if better else "unchanged"
    return outcome, [*worse, *better, *neutral]


def _compare(
    name: str, old: KernelBinary, new: KernelBinary, better: list[str], worse: list[str], neutral: list[str]
) -> None:
    if instruction(old.mma) != instruction(new.mma):
        line = f"`{name}`: {instruction(old.mma) or 'no matrix instruction'} became {instruction(new.mma) or 'none'}"
        (better if _rank(new.mma) < _rank(old.mma) else worse).append(line)
    elif new.dot and not new.mma and new.load_bytes:
        neutral.append(f"`{name}`: its dot still uses no matrix instruction")
    if (old.spill_bytes or 0) != (new.spill_bytes or 0):
        line = f"`{name}`: spills {old.spill_bytes or 0} became {new.spill_bytes or 0} bytes a thread"
        (better if (new.spill_bytes or 0) < (old.spill_bytes or 0) else worse).append(line)
    widths = _usual_width(old), _usual_width(new)
    if None not in widths and widths[0] != widths[1]:
        line = f"`{name}`: loads of {_bytes(widths[0])} became {_bytes(widths[1])}"
        (better if (widths[1] or 0) > (widths[0] or 0) else neutral).append(line)
    copies = [sum(k.async_copy_bytes.values()) + k.tensor_copies for k in (old, new)]
    if bool(copies[0]) != bool(copies[1]):
        line = f"`{name}`: {copies[0]} asynchronous copies became {copies[1]}"
        (better if copies[1] else neutral).append(line)
    for label, a, b in (
        ("registers", old.registers, new.registers),
        ("bytes of shared memory", old.shared_bytes, new.shared_bytes),
        ("warps", old.num_warps, new.num_warps),
        ("stages", old.num_stages, new.num_stages),
    ):
        if a != b:
            neutral.append(f"`{name}`: {a} {label} became {b}")


def _bytes(width: int | None) -> str:
    return f"{width} byte{'s' * (width != 1)}"


def _short(kernel: KernelBinary) -> str:
    parts = [instruction(kernel.mma), f"{kernel.registers} registers", f"{kernel.shared_bytes} bytes of shared memory"]
    return ", ".join(part for part in parts if part)
