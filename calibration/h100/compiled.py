"""Ahead-of-time compilation of a launch, the same in the compile workers and in the timing process.

`triton.compile` keeps its result in the disk cache, so a worker that compiles a launch makes it a cache hit for the
process that times it. Run-time integers are specialised as the JIT does: 1 becomes a constant, and multiples of 16
(buffers included, they are all aligned) carry the divisibility attribute.
"""

from __future__ import annotations

from typing import Any

import triton
from case import Buffer, Launch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGET = GPUTarget("cuda", 90, 32)
POINTER = {
    "float16": "*fp16",
    "bfloat16": "*bf16",
    "float32": "*fp32",
    "float64": "*fp64",
    "int8": "*i8",
    "uint8": "*u8",
    "int16": "*i16",
    "int32": "*i32",
    "int64": "*i64",
}
ALIGNED = [["tt.divisibility", 16]]


def specialise(launch: Launch) -> tuple[dict[str, str], dict[str, Any], dict[tuple[int], Any]]:
    """Signature, constants and attributes of a launch, by parameter name and position."""
    names = launch.kernel.arg_names
    values = iter(launch.args)
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    attributes: dict[tuple[int], Any] = {}
    for position, name in enumerate(names):
        if name in launch.constants:
            signature[name], constants[name] = "constexpr", launch.constants[name]
            continue
        value = next(values)
        if isinstance(value, Buffer):
            signature[name] = POINTER[value.dtype]
            attributes[(position,)] = ALIGNED
        elif isinstance(value, float):
            signature[name] = "fp32"
        elif value == 1:
            signature[name], constants[name] = "constexpr", 1
        else:
            signature[name] = "i32"
            if value % 16 == 0:
                attributes[(position,)] = ALIGNED
    return signature, constants, attributes


def identity(launch: Launch) -> str:
    """Equal for two launches that compile to the same binary."""
    return f"{launch.kernel.__name__}|{specialise(launch)}|{launch.num_warps}|{launch.num_stages}"


def compile_launch(launch: Launch) -> Any:
    """The compiled kernel of a launch, for sm_90, through Triton's disk cache. Raises what the compiler raises."""
    signature, constants, attributes = specialise(launch)
    source = ASTSource(fn=launch.kernel, signature=signature, constexprs=constants, attrs=attributes)
    options = {"num_warps": launch.num_warps, "num_stages": launch.num_stages}
    return triton.compile(source, target=TARGET, options=options)


def build_launcher(compiled: Any) -> None:
    """Build the host-side launcher into the disk cache too: the timing process then waits for no C compiler."""
    from triton.backends.nvidia.driver import CudaLauncher

    CudaLauncher(compiled.src, compiled.metadata)


def call_arguments(launch: Launch, tensors: list[Any]) -> list[Any]:
    """All arguments in parameter order, constants included, as a compiled kernel takes them."""
    values = iter(tensors)
    return [launch.constants[name] if name in launch.constants else next(values) for name in launch.kernel.arg_names]
