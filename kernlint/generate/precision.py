"""Which numbers an element type holds."""

from __future__ import annotations

import math
import struct

from kernlint.generate.values import CannotGenerate
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt


def rounded(value: float, dtype: Dtype) -> float:
    """``value`` as an element of ``dtype``, a half type, keeps it."""
    if not math.isfinite(value):
        return value
    if dtype == dt.FLOAT16:
        try:
            return float(struct.unpack("e", struct.pack("e", value))[0])
        except OverflowError:
            return math.copysign(math.inf, value)
    if dtype != dt.BFLOAT16:
        raise CannotGenerate(f"a number in {dtype}")
    (bits,) = struct.unpack("I", struct.pack("f", value))
    bits += 0x7FFF + (bits >> 16 & 1)  # ties go to the even neighbour
    return float(struct.unpack("f", struct.pack("I", bits & 0xFFFF0000))[0])


def is_single(value: float) -> bool:
    """Whether float32 holds ``value`` as it is."""
    try:
        return bool(struct.unpack("f", struct.pack("f", value))[0] == value)
    except OverflowError:
        return False
