"""`row * stride` of a row kernel is a 32-bit product: 131073 rows of 16384 elements are one row too many.

    python row_times_stride.py

Stands for the row kernels of liger-kernel that docs/found-in-the-wild.md lists. Compiled for sm_90, which needs no GPU.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile


@triton.jit
def scale_rows(x, stride, rows_per_program, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    block = tl.program_id(0).to(tl.int64) if WIDE else tl.program_id(0)
    for row in range(block * rows_per_program, (block + 1) * rows_per_program):
        at = x + row * stride + column
        tl.store(at, tl.load(at, mask=column < n) * 2.0, mask=column < n)


def products(wide):
    """The integer widths in which the compiled kernel multiplies."""
    types = {
        "x": "*bf16",
        "stride": "i32",
        "rows_per_program": "i32",
        "n": "i32",
        "WIDE": "constexpr",
        "BLOCK": "constexpr",
    }
    source = ASTSource(scale_rows, types, constexprs={"WIDE": wide, "BLOCK": 1024})
    ttir = compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    return sorted({line.rsplit(":", 1)[1].split()[0] for line in ttir.splitlines() if "arith.muli" in line})


print("as written:            ", products(False))
print("with a 64-bit program id:", products(True))
print("131073 x 16384 =", 131073 * 16384, "elements; 2^31 =", 2**31)
assert products(False) == ["i32"] and products(True) == ["i64"]
