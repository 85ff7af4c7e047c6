"""How precise formats are: known to the process that judges and to the child that runs."""

#: The fp8 tensor cores of Hopper add up in about this.
FP8_SUMS = "fp8 sums"

#: Bits of the significand of each format, the hidden one counted.
BITS = {
    "float64": 53,
    "float32": 24,
    "tf32x3": 21,
    FP8_SUMS: 14,
    "tf32": 11,
    "float16": 11,
    "bfloat16": 8,
    "float8_e4m3fn": 4,
    "float8_e4m3fnuz": 4,
    "float8_e5m2": 3,
    "float8_e5m2fnuz": 3,
}
#: Tensor cores cut float32 operands off where tf32 ends: all errors point towards zero, which scales results down.
CUT = frozenset({"tf32"})
