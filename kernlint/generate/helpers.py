"""Functions that generated kernels call: what puts two neighbouring parts of a reduction or of a recurrence together."""

from __future__ import annotations

from kernlint.generate.kernel import function_text
from kernlint.generate.spelling import extreme
from kernlint.workload import dtype as dt

_LINEAR = ("keep", "add", "next_keep", "next_add")
_HELPERS = {
    "linear": ("two_linear_steps", _LINEAR, "keep * next_keep, add * next_keep + next_add"),
    # What a condition sets to nothing stays nothing, infinite or not.
    "reset": (
        "two_steps_or_reset",
        _LINEAR,
        "keep * next_keep, tl.where(next_keep == 0.0, next_add, add * next_keep + next_add)",
    ),
    "maximum": ("larger_of_two", ("a", "b"), extreme("maximum", "a", "b", dt.FLOAT32)),
    "minimum": ("smaller_of_two", ("a", "b"), extreme("minimum", "a", "b", dt.FLOAT32)),
}


def helper(kind: str) -> tuple[str, str]:
    """The name and the source of a function."""
    name, parameters, made = _HELPERS[kind]
    return name, function_text(name, parameters, [f"return {made}"])
