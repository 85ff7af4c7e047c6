"""Which formats a version computes in: what its errors may be, where a change is declared to be one of precision."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from kernlint.records import dataclass
from kernlint.syntax.positions import python_tree
from kernlint.verify.significand import BITS, FP8_SUMS
from kernlint.workload import Dtype, Launch, Tensor, Workload
from kernlint.workload.access import Store
from kernlint.workload.kernel import Compute, Dot, Reduce
from kernlint.workload.steps import TorchOp
from kernlint.workload.tensor import Storage

#: Of a computation: ``operands`` of its contractions, ``results`` of its other steps, ``sums`` while they are added up.
KINDS = ("operands", "results", "sums")
#: How sources name them, beside their own names.
_SPELLINGS = {
    "float16": ("half", "fp16"),
    "bfloat16": ("bf16",),
    "tf32": ("allow_tf32",),
    "tf32x3": (),
    "float8_e4m3fn": ("float8e4nv", "fp8e4nv", "e4m3"),
    "float8_e5m2": ("float8e5", "fp8e5", "e5m2"),
    "float8_e4m3fnuz": ("float8e4b8",),
    "float8_e5m2fnuz": ("float8e5b16",),
}
_NAMES = {spelling: name for name, others in _SPELLINGS.items() for spelling in (name, *others)}
#: Kinds of torch operations that round nothing.
_MOVING = ("copy", "transpose", "fill", "gather", "cat", "alloc", "unknown")

Formats = Mapping[str, str]


def formats_of(workload: Workload) -> dict[str, str]:
    """The narrowest floating-point format of each kind that ``workload`` computes in, where it is narrower than float32."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    ends = {tensor.storage for tensor in (*workload.inputs, *workload.outputs)}
    for step in workload.all_steps:
        if isinstance(step, Launch):
            for launch in (step, *step.alternatives):
                for kind, name in _of_launch(launch, ends):
                    found[kind].append(name)
        elif isinstance(step, TorchOp) and step.kind not in _MOVING:
            found["results"] += [t.dtype.name for t in step.writes if t.dtype is not None and t.storage not in ends]
    narrowest = {kind: _narrowest(names) for kind, names in found.items()}
    return {kind: name for kind, name in narrowest.items() if name is not None}


def _of_launch(launch: Launch, ends: set[Storage]) -> Iterator[tuple[str, str]]:
    for node in launch.kernel.nodes((Dot, Reduce, Compute, Store)):
        if isinstance(node, Dot):
            for operand in (node.a, node.b):
                yield "operands", node.precision if operand.dtype.name == "float32" else operand.dtype.name
                if operand.dtype.is_fp8:
                    yield "sums", FP8_SUMS
            yield "sums", node.out.name
        elif isinstance(node, Reduce):
            if node.dtype is not None and node.op == "sum":
                yield "sums", node.dtype.name
        elif isinstance(node, Compute):
            if node.kind in ("arith", "special"):
                yield "results", node.dtype.name
        elif isinstance(node, Store):
            tensor = launch.arguments.get(node.base)
            if isinstance(tensor, Tensor) and tensor.storage not in ends and isinstance(tensor.dtype, Dtype):
                yield "results", tensor.dtype.name


def named_formats(source: str) -> frozenset[str]:
    """The formats that the code of ``source`` names; what comments and docstrings say does not count."""
    tree = python_tree(source)
    if tree is None:
        return frozenset()
    words = (getattr(node, field, None) for node in ast.walk(tree) for field in ("attr", "id", "name", "value", "arg"))
    return frozenset(_NAMES[word] for word in words if isinstance(word, str) and word in _NAMES)


@dataclass(frozen=True)
class Precision:
    """The formats that each version computes in, and those that its source names. ``declared`` is what the user says of the
    changed one (empty: nothing); ``changed`` whether the change is one of precision at all."""

    before: Formats = field(default_factory=dict)
    after: Formats = field(default_factory=dict)
    named_before: frozenset[str] = frozenset()
    named_after: frozenset[str] = frozenset()
    declared: str = ""
    changed: bool = False

    def numerics(self) -> tuple[str, str]:
        """What can be asked of a changed version that nobody said this of: that its precision is what it was, where it computes
        in no other format; and why that, or less, is asked."""
        named = _narrowest(self.named_after - self.named_before)
        new = named or _narrowest(name for kind, name in self.after.items() if name != self.before.get(kind))
        if new is not None:
            return "changed", f"it computes in {new}, as the version before does not"
        return "reordered", "it computes in the formats of the version before"

    def granted(self, backend: str) -> dict[str, dict[str, str]]:
        """``before``: the formats of the version before; ``after``: those that the errors of the changed version may be of,
        beyond what the version before shows."""
        before, after = _on(backend, self.before), _on(backend, self.after)
        if not self.changed:
            return {"before": before, "after": {}}
        # Who names a format may compute in it where the analysis does not see it.
        only = self.declared or _narrowest(self.named_after - self.named_before)
        named = {} if not only else _on(backend, {"operands": only, "results": only})
        return {"before": before, "after": _narrower(after, named)}


def _on(backend: str, formats: Formats) -> dict[str, str]:
    """What of ``formats`` there is on ``backend``: the interpreter's dots do not round float32."""
    return {kind: name for kind, name in formats.items() if backend == "gpu" or not name.startswith("tf32")}


def _narrower(one: Formats, other: Formats) -> dict[str, str]:
    kinds = (kind for kind in KINDS if kind in one or kind in other)
    return {kind: min((f[kind] for f in (one, other) if kind in f), key=_bits) for kind in kinds}


def _bits(name: str) -> int:
    return BITS.get(name, BITS["float32"])


def _narrowest(names: Iterable[str]) -> str | None:
    narrow = [name for name in names if _bits(name) < BITS["float32"]]
    return min(narrow, key=lambda name: (_bits(name), name), default=None)
