"""What `torch.finfo` and `torch.iinfo` say of an element type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernlint.workload import Dtype

#: By floating type the largest value, the exponents of the smallest normal value and of the step from one.
_FLOATS: Mapping[str, tuple[float, int, int]] = {
    "float64": ((2 - 2**-52) * 2.0**1023, -1022, -52),
    "float32": ((2 - 2**-23) * 2.0**127, -126, -23),
    "float16": (65504.0, -14, -10),
    "bfloat16": ((2 - 2**-7) * 2.0**127, -126, -7),
    "float8_e4m3fn": (448.0, -6, -3),
    "float8_e5m2": (57344.0, -14, -2),
    "float8_e4m3fnuz": (240.0, -7, -3),
    "float8_e5m2fnuz": (57344.0, -15, -2),
}


def limits(dtype: Dtype) -> dict[str, Any]:
    """The attributes of ``torch.finfo(dtype)``, or of ``torch.iinfo(dtype)`` for whole numbers; none where they are not known."""
    if dtype.kind in ("int", "uint"):
        signed = dtype.kind == "int"
        return {
            "bits": dtype.bits,
            "min": -(2 ** (dtype.bits - 1)) if signed else 0,
            "max": 2 ** (dtype.bits - signed) - 1,
            "dtype": dtype.name,
        }
    if dtype.name not in _FLOATS:
        return {}
    largest, tiny, step = _FLOATS[dtype.name]
    normal = 2.0**tiny
    return {
        "bits": dtype.bits,
        "max": largest,
        "min": -largest,
        "tiny": normal,
        "smallest_normal": normal,
        "eps": 2.0**step,
        "dtype": dtype.name,
    }
