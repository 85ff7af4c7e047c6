"""The columns of a result: names, types and meanings, the same for every row whatever became of it.

``schema/batch.schema.json`` describes the same for readers of JSON; a test holds the two together.
"""

from __future__ import annotations

from typing import Any

from kernlint.records import dataclass

#: What can become of a row. Of ``ok`` rows the times may still be unknown, where sizes are open.
STATUSES = (
    "ok",
    "no-verdict",  # read, but no verdict: no Triton kernel, nothing launched that can be followed
    "invalid-source",  # not Python, or not text at all
    "bad-row",  # the row asks what cannot be answered: no source, an unknown device, a broken reference
    "gave-up",  # took longer than a row may
    "crashed",  # the process died of it
    "failed",  # needs more memory or nests deeper than can be, or met a bug of kernlint
    "not-run",  # no process could be started for it
)


@dataclass(frozen=True)
class Field:
    """A column: ``type`` is string, number, integer or boolean; every one but ``id`` and ``status`` may be null."""

    name: str
    type: str
    meaning: str


FIELDS = (
    Field("id", "string", "that of the task; its number, from 0, where it has none"),
    Field("status", "string", "what became of the row"),
    Field("error", "string", "why there is no verdict"),
    Field("kernlint_version", "string", "version of kernlint"),
    Field("model_version", "string", "version of the cost model"),
    Field("device", "string", "the GPU that times are predicted for"),
    Field("scope", "string", "which time the verdict is about: gpu or call"),
    Field("worth_optimizing", "boolean", "the verdict"),
    Field("certainty", "string", "what it rests on: proven facts, also assumed ones (plausible sizes), or unknown"),
    Field("reason", "string", "its sentence"),
    Field("bottleneck", "string", "what holds the program back; empty where it is not worth it, as are the next three"),
    Field("optimisation_method", "string", "what to do"),
    Field("modification_plan", "string", "how to do it"),
    Field("expected_speedup", "string", "the 80 % interval in words"),
    Field("category", "string", "category of the cause"),
    Field("rule", "string", "code of the rule, null for a cause that no rule knows"),
    Field("kernel", "string", "the kernel that the change is in"),
    Field("line", "integer", "its line"),
    Field("fix_automatic", "boolean", "whether kernlint fix can make the change"),
    Field("gpu_us", "number", "predicted device time of a call"),
    Field("call_us", "number", "predicted wall time of a call of an eager loop"),
    Field("reference_gpu_us", "number", "the same of the reference, by torch's own kernels"),
    Field("reference_call_us", "number", "the same of the reference"),
    Field("gpu_speedup", "number", "reference over program, device time"),
    Field("gpu_speedup_low", "number", "lower end of its 80 % interval"),
    Field("gpu_speedup_high", "number", "upper end"),
    Field("call_speedup", "number", "reference over program, wall time"),
    Field("call_speedup_low", "number", "lower end of its 80 % interval"),
    Field("call_speedup_high", "number", "upper end"),
    Field("after_us", "number", "predicted time with the change made, in the scope"),
    Field("gain", "number", "predicted speedup of the change, in the scope"),
    Field("gain_low", "number", "lower end of its 80 % interval"),
    Field("gain_high", "number", "upper end"),
    Field("achievable_us", "number", "device time of a well-written version"),
    Field("bound_us", "number", "device time that no version of what the program computes can be below"),
    Field("reference_bound_us", "number", "the same of what the reference computes"),
    Field("launches", "integer", "launches of Triton kernels in a call"),
    Field("torch_calls", "integer", "calls of torch that take device time in a call"),
    Field("coverage", "number", "share of the device time that is spent in the program's own Triton kernels, 0 to 1"),
    Field("errors", "integer", "findings by which the program surely fails or computes something else"),
    Field("error_rules", "string", "their codes, with spaces between"),
    Field("finding_rules", "string", "the codes of all findings that the verdict lists, with spaces between"),
)

NAMES = tuple(field.name for field in FIELDS)


def record(**known: Any) -> dict[str, Any]:
    """A whole row: what is ``known``, and null for the rest."""
    unknown = known.keys() - set(NAMES)
    if unknown:
        raise ValueError(f"no such column: {', '.join(sorted(unknown))}")
    return {name: known.get(name) for name in NAMES}
