"""What the source says of types and sizes without fixing them: the names that sizes go by, the values that checks allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kernlint.records import dataclass
from kernlint.workload.dtype import Dtype
from kernlint.workload.expr import Expr


@dataclass(frozen=True)
class Hints:
    """Of a call whose sizes or types are open: the ``names`` that each open size goes by on the host and in kernels, the
    ``values`` that checks leave it, the ``dtypes`` that checks (of ``annotated`` arguments annotations) leave a tensor argument,
    the groups of arguments that checks say are of one type (``alike``), and those bounds that hold on the ``ways`` alone that
    conditions nobody can decide were taken to go. Sizes by their symbols, tensors by their names."""

    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dtypes: Mapping[str, tuple[Dtype, ...]] = field(default_factory=dict)
    alike: tuple[frozenset[str], ...] = ()
    annotated: frozenset[str] = frozenset()
    ways: frozenset[tuple[Expr, Expr]] = frozenset()


NO_HINTS = Hints()
