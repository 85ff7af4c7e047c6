"""What Triton makes of a dot: the instruction, the casts and transposes on the way to it, warps, and overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.cost.dot_loop import DotLoop, DotOperand, DotStep
from kernlint.workload.dtype import Dtype

if TYPE_CHECKING:
    from kernlint.cost.device import Device

#: The least that one ``cp.async`` copies (PTX ISA).
LEAST_ASYNC_BYTES = 4


def fed_class(operand: DotOperand, precision: str) -> str:
    """The tensor core's name for what it is fed: float16 (bfloat16 alike), tf32, int8, fp8, or float32 (FMA units)."""
    dtype = operand.dtype
    if dtype.is_fp8:
        return "fp8"
    if dtype.bits == 8:
        return "int8"
    if dtype.bits == 16:
        return "float16"
    return "float32" if precision == "ieee" or dtype.bits == 64 else "tf32"


def instruction(step: DotStep, num_warps: int, device: Device) -> str:
    """wgmma, mma or fma, as Triton chooses.

    Hopper's warp-group instruction needs m >= 64 and four warps; anything else takes mma.sync. A dot in ieee
    precision, or of a type for which the device has no tensor path, runs on the FMA units.
    """
    fed = fed_class(step.a, step.precision)
    if fed == "float32" or (fed == "tf32" and peak(fed, device) is None):
        return "fma"
    return "wgmma" if has_wgmma(device) and step.m >= 64 and num_warps >= 4 else "mma"


def has_wgmma(device: Device) -> bool:
    return device.sm_major in (9, 10)


def peak(fed: str, device: Device) -> float | None:
    """10^12 operations per second of the dense data-sheet peak, fp32 or int32 accumulate; None: no such path."""
    return {
        "float16": device.peak_fp16_tensor_dense_fp32acc_tflops,
        "tf32": device.peak_tf32_tensor_dense_tflops,
        "int8": device.peak_int8_tensor_dense_tops,
        "fp8": device.peak_fp8_tensor_dense_fp32acc_tflops,
        "float32": device.peak_fp32_vector_tflops,
    }[fed]


def memory_class(dtype: Dtype) -> str:
    if dtype.is_fp8:
        return "fp8"
    return {8: "int8", 16: "float16"}.get(dtype.bits, "float32")


def convert_key(operand: DotOperand, path: str, device: Device, stored: bool = False) -> str:
    """Key of the cast between memory and the dot, ``wgmma.int8->float16``; ``none`` where there is none.

    ``stored``: the result goes back to shared memory (``wgmma.stored.int8->float16``), as wgmma wants its B.
    """
    if operand.k_major is None or not operand.reload or operand.again:
        return "none"
    source, target = memory_class(operand.memory_dtype), memory_class(operand.dtype)
    if target == "fp8" and not native_fp8(path, device):
        target = "float16"
    if source == target:
        return "none"
    cast = f"{source}->{target}"
    return f"{path}.{'stored.' if stored else ''}{cast if cast in MEASURED_CASTS else 'other'}"


def native_fp8(path: str, device: Device) -> bool:
    """False where the compiler widens fp8 to fp16 first: mma.sync on Hopper, and devices without fp8 units."""
    return device.peak_fp8_tensor_dense_fp32acc_tflops is not None and not (path == "mma" and has_wgmma(device))


#: Casts that the data time; any other is priced as ``other``, their mean.
MEASURED_CASTS = ("int8->float32", "int8->float16", "float16->float32", "fp8->float16", "float32->float16")


def needs_k_major(fed: str, path: str) -> bool:
    """Hopper's wgmma reads operands of 8 and 32 bits from shared memory only where k is contiguous."""
    return path == "wgmma" and fed in ("tf32", "int8", "fp8")


def shuffle_key(operand: DotOperand, fed: str, path: str) -> str:
    """How an operand that is not K-major reaches the tensor core: ``none`` where the hardware transposes."""
    if operand.k_major or not operand.reload or (operand.again and not operand.turned):
        return "none"
    # mma.sync gathers 8-bit fragments byte by byte where ldmatrix, which transposes pairs of bytes, cannot.
    as_it_lies = operand.dtype == operand.memory_dtype or operand.memory_dtype.is_fp8
    if path == "mma" and operand.memory_dtype.bits == 8 and as_it_lies:
        return "mma.8"
    if operand.k_major is False and needs_k_major(fed, path):
        return f"wgmma.{memory_class(operand.memory_dtype)}->{fed}"
    return "none"


def is_synchronous(operand: DotOperand, shuffle_key: str) -> bool:
    """True where an operand is loaded without ``cp.async``.

    That is one of fewer bytes at a time than it copies, and a transposed one of 8 bits that is fed as it lies. A 32-bit one is wide
    enough to be copied in transposed order, and one that is cast reaches shared memory in its own order first.
    """
    if operand.reload and operand.vector_bytes < LEAST_ASYNC_BYTES:
        return True
    return shuffle_key.startswith("wgmma") and operand.memory_dtype.bytes < 4 and operand.dtype == operand.memory_dtype


def warps_of(step: DotStep, num_warps: int, device: Device) -> tuple[int, int]:
    """Groups of warps along m and n: whole warp groups of 64 rows for wgmma, which shares out what is left along n."""
    if instruction(step, num_warps, device) == "wgmma":
        return max(1, step.m // 64), max(1, num_warps * 16 // step.m)
    return _warps_of_mma(step.m, step.n, num_warps)


def is_exchanged(loop: DotLoop, step: DotStep, device: Device) -> bool:
    """True where a computed A goes through shared memory to the warps that need it.

    Always, unless it comes from another dot of the iteration whose warps each hold whole rows (softmax weights).
    """
    if step.a.k_major is not None:
        return False
    return step is loop.steps[0] or warps_of(step, loop.num_warps, device)[1] > 1


def _warps_of_mma(m: int, n: int, num_warps: int) -> tuple[int, int]:
    """Warps along m and n of a 16 x 8 mma.sync tiling, as in Triton's ``warpsPerTileV2``."""
    warps_m, warps_n = 1, 1
    while warps_m * warps_n < num_warps:
        if m / 16 / warps_m >= n / 16 / warps_n and warps_m < m / 16:
            warps_m *= 2
        else:
            warps_n *= 2
    return warps_m, warps_n


def overlaps(loop: DotLoop, device: Device) -> bool:
    """True where loads of later iterations overlap the dot: a pipelined loop on a device with asynchronous copies.

    Triton pipelines only the loads that feed a dot, and ``cp.async`` copies four bytes at least.
    """
    before_ampere = device.is_nvidia and (device.sm_major or 0) < 8
    copied = [operand for step in loop.steps for operand in (step.a, step.b) if operand.reload]
    wide = any(operand.vector_bytes >= LEAST_ASYNC_BYTES for operand in copied)
    return loop.pipelined and loop.num_stages > 1 and wide and not before_ampere
