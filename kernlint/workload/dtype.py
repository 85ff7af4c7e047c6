"""Element types, under the one name that torch and Triton can both be asked about."""

from __future__ import annotations

from functools import cached_property

from kernlint.records import dataclass


@dataclass(frozen=True)
class Dtype:
    """An element type.

    ``name`` is the torch spelling (``float16``, ``int8``, ``float8_e4m3fn``, ``bool``); ``bits`` is its storage
    size; ``kind`` is one of ``float``, ``int``, ``uint``, ``bool``.
    """

    name: str
    bits: int
    kind: str

    @cached_property
    def bytes(self) -> int:
        """Storage size of one element in bytes."""
        return max(1, self.bits // 8)

    @cached_property
    def is_float(self) -> bool:
        return self.kind == "float"

    @cached_property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def triton(self) -> str:
        """What ``triton.language`` calls it."""
        return _TRITON.get(self.name, self.name)

    @property
    def is_fp8(self) -> bool:
        return self.kind == "float" and self.bits == 8

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)  # which tells them apart


_ALL = [
    Dtype("bool", 8, "bool"),
    Dtype("int8", 8, "int"),
    Dtype("int16", 16, "int"),
    Dtype("int32", 32, "int"),
    Dtype("int64", 64, "int"),
    Dtype("uint8", 8, "uint"),
    Dtype("uint16", 16, "uint"),
    Dtype("uint32", 32, "uint"),
    Dtype("uint64", 64, "uint"),
    Dtype("float8_e4m3fn", 8, "float"),
    Dtype("float8_e5m2", 8, "float"),
    Dtype("float8_e4m3fnuz", 8, "float"),
    Dtype("float8_e5m2fnuz", 8, "float"),
    Dtype("float8_e4b15", 8, "float"),
    Dtype("float16", 16, "float"),
    Dtype("bfloat16", 16, "float"),
    Dtype("float32", 32, "float"),
    Dtype("float64", 64, "float"),
]

_BY_NAME = {dtype.name: dtype for dtype in _ALL}

#: Names of Triton's for what torch calls otherwise.
_TRITON = {
    "bool": "int1",
    "float8_e4m3fn": "float8e4nv",
    "float8_e5m2": "float8e5",
    "float8_e4m3fnuz": "float8e4b8",
    "float8_e5m2fnuz": "float8e5b16",
    "float8_e4b15": "float8e4b15",
}

#: Other spellings of the same types: torch's short names first, then Triton's.
_ALIASES = {
    **{name: torch for torch, name in _TRITON.items()},
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}

BOOL = _BY_NAME["bool"]
UINT8 = _BY_NAME["uint8"]
INT8 = _BY_NAME["int8"]
INT16 = _BY_NAME["int16"]
INT32 = _BY_NAME["int32"]
INT64 = _BY_NAME["int64"]
FLOAT16 = _BY_NAME["float16"]
BFLOAT16 = _BY_NAME["bfloat16"]
FLOAT32 = _BY_NAME["float32"]
FLOAT64 = _BY_NAME["float64"]


def find(name: str) -> Dtype | None:
    """The type that torch, Triton or a user calls ``name``; None when there is none."""
    return _BY_NAME.get(_ALIASES.get(name, name))


#: Kinds of element types, each of which a higher one prevails over.
RANK = {"bool": 0, "uint": 1, "int": 1, "float": 2}


def promote(a: Dtype, b: Dtype) -> Dtype:
    """The common type of an elementwise operation on two tensors or blocks.

    Follows the shared core of torch's and Triton's promotion: floating beats integer, wider beats narrower, fp16
    with bf16 gives fp32 in Triton and torch alike.
    """
    if a == b:
        return a
    if RANK[a.kind] != RANK[b.kind]:
        return a if RANK[a.kind] > RANK[b.kind] else b
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    if a.is_float and a.bits == 16:
        return FLOAT32
    if a.is_fp8:
        return FLOAT16
    return a if a.kind == "uint" else b


def reduced(name: str, dtype: Dtype | None, wanted: object = None, indexed: bool = False) -> Dtype | None:
    """What Triton's ``tl.name`` over an axis makes of elements of type ``dtype``; ``wanted`` is what a sum was told to add up in.
    Narrow integers are summed, and all that is narrow compared, in 32 bits, but where the index is asked for too (``indexed``)."""
    if name.startswith("arg"):
        return INT32
    if name in ("sum", "cumsum", "cumprod") and isinstance(wanted, Dtype):
        return wanted
    if dtype is None or dtype.bits >= 32:
        return dtype
    if name in ("sum", "cumsum", "cumprod") and not dtype.is_float:
        return INT32 if dtype.kind == "int" else _BY_NAME["uint32"]  # `tl.int1` counts as unsigned
    if name in ("max", "min") and not indexed:
        return FLOAT32 if dtype.is_float else INT32
    return dtype
