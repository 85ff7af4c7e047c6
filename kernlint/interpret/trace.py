"""What the expressions of a program stood for when one entry was followed: the bridge from values to source nodes."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import libcst as cst

from kernlint.records import dataclass
from kernlint.workload import Span

#: Each expression that was evaluated, and each name that was bound, with its last value.
Values = dict[cst.CSTNode, Any]


@dataclass
class Trace:
    """``host`` holds the values of host code; ``kernels`` those of each kernel's body, by the span of the launch (of its
    first autotune configuration, and of the first launch where a loop or a second call makes several)."""

    host: Values = field(default_factory=dict)
    kernels: dict[Span, Values] = field(default_factory=dict)
