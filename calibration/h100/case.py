"""What one measurement is: plain data, built the same way in every process, with no GPU call in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BYTES = {
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "int64": 8
}  # fmt: skip


def cdiv(a: int, b: int) -> int:
    """Ceiling division: the number of blocks of `b` that cover `a`."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is not below `n` (n >= 1)."""
    return 1 << (n - 1).bit_length()


@dataclass(frozen=True)
class Buffer:
    """A flat device buffer. Equal `name`, `dtype` and `below` share memory between cases.

    `below` = 0 fills with normal noise (integers: uniform over int8); `below` > 0 with indices in [0, below), uniformly at
    random or in the `order` that `fill.py` knows (`segments`: row pointers `below` apart).
    """

    name: str
    dtype: str
    numel: int
    below: int = 0
    order: str = "random"

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.numel * BYTES[self.dtype]


@dataclass(frozen=True)
class Launch:
    """One kernel launch: run-time `args` in parameter order (buffers, ints, floats), then constexpr `constants`."""

    kernel: Any
    args: tuple[Buffer | int | float, ...]
    constants: dict[str, Any]
    grid: tuple[int, ...]
    num_warps: int = 4
    num_stages: int = 3


@dataclass(frozen=True)
class Case:
    """One row of a result file: the launches of one timed call, in order, and what is said about them.

    `params` are the configuration columns; `bytes` the least device-memory traffic of the call; `flops` its arithmetic.
    """

    table: str
    term: str
    params: dict[str, Any]
    launches: tuple[Launch, ...]
    bytes: int = 0
    flops: int = 0

    @property
    def key(self) -> str:
        """`term` and `params` as one line: unique among the cases, and the `params` column of micro rows."""
        return self.term + "," + ";".join(f"{name}={value}" for name, value in self.params.items())


def micro(term: str, params: dict[str, Any], *launches: Launch, bytes: int = 0, flops: int = 0) -> Case:
    """A case whose row goes to the micro-benchmark file."""
    return Case("micro", term, params, launches, bytes, flops)
