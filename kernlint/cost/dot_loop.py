"""What a launch of ``tl.dot`` kernels is to the cost model: operands, dots and the loop around them. Plain data."""

from __future__ import annotations

from kernlint.records import dataclass
from kernlint.workload.dtype import Dtype


@dataclass(frozen=True)
class DotOperand:
    """One operand of a dot, [m, k] or [k, n].

    ``memory_dtype`` is the type as it lies in memory, ``dtype`` the type fed to the dot after casts. ``k_major``
    says that neighbours along k are neighbours in memory; None where the operand is computed in registers.
    ``reload`` is False for a tile that is loaded before the loop or computed. ``vector_bytes`` are those that one
    instruction may load: 16, or less where the compiler cannot prove that rows start at multiples of 16 elements (a
    stride that is no multiple of 16 leaves single elements, ``K // 4`` a quarter of K's own divisor, 16). ``scattered``
    says that neighbours along both axes lie in different sectors. ``again`` says that an earlier dot of the iteration takes
    the same tile, so that it is loaded, cast and kept once; ``turned`` that it took it along the other axis, so that a unit which reads
    along k alone needs a copy of its own. ``along_k`` says of a computed B that it lies along k in shared memory, as what it is
    made from does in memory. ``work`` are the fp32 instructions that make an element of an operand
    that is computed from what the iteration loads: each warp that needs the element makes it.
    """

    memory_dtype: Dtype
    dtype: Dtype
    k_major: bool | None
    reload: bool = True
    vector_bytes: int = 16
    scattered: bool = False
    again: bool = False
    turned: bool = False
    along_k: bool = False
    work: float = 0.0


@dataclass(frozen=True)
class DotStep:
    """One ``tl.dot`` of the loop body: [m, k] times [k, n] into ``out``; ``precision`` is tf32, tf32x3 or ieee."""

    m: int
    n: int
    k: int
    a: DotOperand
    b: DotOperand
    precision: str
    out: Dtype


@dataclass(frozen=True)
class DotLoop:
    """All programs of one launch, each running the same loop of dots.

    ``programs`` is the grid size and ``iterations`` the trip count of a program's loop: a mean where it varies, and
    then ``most_iterations`` that of the longest program (0: all alike). ``masked`` says that the loop's loads have
    masks, as nearly all real ones do.
    ``pipelined`` is False for a ``while`` loop or a load under ``if``: then no stage overlaps. Element counts are per
    program and iteration, outside the dots: ``extra_alu_elements_per_iteration`` one fp32 operation each,
    ``special_elements_per_iteration`` exp, log, sqrt and the like. ``unique_bytes`` are the distinct bytes that all
    programs read in the loop, ``loaded_bytes`` the sum of tile bytes over iterations and programs, ``epilogue_bytes``
    what is read and written outside the loop, summed over programs. ``grid_m`` and ``grid_n`` are the tiles of one
    output matrix along each axis (0: not known), ``grouped`` says that programs walk it in L2-friendly groups, ``rows_first`` that
    programs next to one another work on tiles below one another (else beside). ``entries`` is how often a program comes to the
    innermost loop, whose pipeline starts anew each time, ``edge_work`` the fp32 instructions of a program outside of it.
    """

    programs: int
    iterations: float
    steps: tuple[DotStep, ...]
    num_warps: int
    num_stages: int
    unique_bytes: float
    loaded_bytes: float
    epilogue_bytes: float
    pipelined: bool = True
    grouped: bool = False
    grid_m: int = 0
    grid_n: int = 0
    extra_alu_elements_per_iteration: float = 0.0
    special_elements_per_iteration: float = 0.0
    most_iterations: float = 0.0
    masked: bool = True
    rows_first: bool = False
    entries: float = 1.0
    edge_work: float = 0.0
