"""Compiles the kernels of both versions for a device that need not be there, and reads what the compiler made of them."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernlint.verify.child.reporter import Reporter, describe

_POINTERS = {
    "bool": "*i1",
    "int8": "*i8",
    "int16": "*i16",
    "int32": "*i32",
    "int64": "*i64",
    "uint8": "*u8",
    "uint16": "*u16",
    "uint32": "*u32",
    "uint64": "*u64",
    "float8_e4m3fn": "*fp8e4nv",
    "float8_e5m2": "*fp8e5",
    "float8_e4m3fnuz": "*fp8e4b8",
    "float8_e5m2fnuz": "*fp8e5b16",
    "float16": "*fp16",
    "bfloat16": "*bf16",
    "float32": "*fp32",
    "float64": "*fp64",
}
_ALIGNED = [["tt.divisibility", 16]]


def main(job: Mapping[str, Any], results: str) -> None:
    """``launches`` of the job lists for each version what to compile; ``target`` says for what."""
    import sys

    from kernlint.verify.child.loading import load
    from kernlint.verify.child.modes import PretendCuda, pretend_cuda

    reporter = Reporter(results)
    sys.path[:0] = job.get("search", [])
    pretend_cuda(job["device"])
    for version, launches in job["launches"].items():
        reporter.event("begin", step=version)
        try:
            with PretendCuda():
                module = load(
                    os.path.abspath(job["files"][version]),
                    f"kernlint_{version}",
                    job["overrides"],
                    job.get("package", ""),
                )
        except BaseException as error:
            reporter.event("failed", step=version, error=describe(error))
            continue
        for launch in launches:
            reporter.event("begin", step=version, kernel=launch["kernel"])
            try:
                facts = _compiled(module, launch, job["target"])
            except BaseException as error:
                reporter.event("kernel", version=version, kernel=launch["kernel"], error=describe(error, 800))
            else:
                reporter.event("kernel", version=version, kernel=launch["kernel"], **facts)
    reporter.event("end")


class _Unsupported(Exception):
    """A launch that cannot be put into the compiler's terms."""


def _compiled(module: Any, launch: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget

    function = _jit(module, launch["kernel"])
    source = _source(function, launch)
    options = {"num_warps": launch["num_warps"], "num_stages": launch["num_stages"]}
    gpu = GPUTarget(target["backend"], target["arch"], target["warp_size"])
    binary = triton.compile(source, target=gpu, options=options)
    metadata = binary.metadata
    facts: dict[str, Any] = {
        "num_warps": getattr(metadata, "num_warps", launch["num_warps"]),
        "num_stages": getattr(metadata, "num_stages", launch["num_stages"]),
        "shared_bytes": int(getattr(metadata, "shared", 0)),
        "dot": bool(re.search(r"\btt\.dot\b", _text(binary, "ttir"))),
    }
    if target["backend"] == "cuda":
        return facts | _read_ptx(_text(binary, "ptx")) | _read_cubin(binary.asm["cubin"])
    return facts | _read_amdgcn(_text(binary, "amdgcn"))


def _text(binary: Any, stage: str) -> str:
    text = binary.asm.get(stage, "")
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


def _jit(module: Any, name: str) -> Any:
    """The kernel called ``name``, without its tuner and heuristics."""
    function = getattr(module, name, None)
    if function is None:
        for value in vars(module).values():
            inner = getattr(value, name, None)
            if hasattr(inner, "fn"):
                function = inner
                break
    if function is None:
        raise _Unsupported(f"the module has no kernel called {name}")
    while not hasattr(function, "params") and hasattr(function, "fn"):
        function = function.fn
    if not hasattr(function, "params"):
        raise _Unsupported(f"{name} is no Triton kernel")
    return function


def _source(function: Any, launch: Mapping[str, Any]) -> Any:
    """What the launcher would hand to the compiler: types, constants, and which values are divisible by 16."""
    import triton
    from triton.compiler import ASTSource

    release = tuple(int(part) for part in re.findall(r"\d+", triton.__version__)[:2])
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    aligned: list[int] = []
    ones: list[int] = []
    for position, parameter in enumerate(function.params):
        name = parameter.name
        given = launch["arguments"].get(name)
        if given is None:
            raise _Unsupported(f"the analysis does not know the argument {name}")
        kind, value = given["kind"], given.get("value")
        if kind == "constexpr" or parameter.is_constexpr or (value is None and kind == "scalar"):
            signature[name], constants[name] = "constexpr", _constant(given)
        elif kind == "tensor":
            signature[name] = _POINTERS[given["dtype"]]
            if given["aligned"] and not parameter.do_not_specialize:
                aligned.append(position)
        elif isinstance(value, bool):
            signature[name] = "i1" if release < (3, 3) else "u1"
        elif isinstance(value, float):
            signature[name] = "fp32"
        elif value == 1 and not parameter.do_not_specialize:
            signature[name], constants[name] = "constexpr", 1
            ones.append(position)
        else:
            signature[name] = "i32" if -(2**31) <= value < 2**31 else "i64"
            still = parameter.do_not_specialize or getattr(parameter, "do_not_specialize_on_alignment", False)
            if value % 16 == 0 and not still:
                aligned.append(position)
    if release < (3, 3):
        from triton.backends.compiler import AttrsDescriptor

        properties = {"tt.divisibility": tuple(aligned), "tt.equal_to": tuple(ones)}
        attributes = AttrsDescriptor.from_dict({"arg_properties": properties, "cls": "AttrsDescriptor"})
        typed = {name: kind for name, kind in signature.items() if kind != "constexpr"}
        return ASTSource(fn=function, signature=typed, constants=constants, attrs=attributes)
    attributes = {(position,): _ALIGNED for position in aligned}
    return ASTSource(fn=function, signature=signature, constexprs=constants, attrs=attributes)


def _constant(given: Mapping[str, Any]) -> Any:
    if "dtype" not in given:
        return given.get("value")
    import triton.language as tl

    from kernlint.workload import dtype as dt

    dtype = dt.find(given["dtype"])
    return getattr(tl, dtype.triton if dtype is not None else given["dtype"])


# -- reading what was made ----------------------------------------------------------------------------------------------

_BITS = {"b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "b32": 32, "u32": 32, "s32": 32, "f32": 32,
         "b64": 64, "u64": 64, "s64": 64, "f64": 64, "b128": 128}  # fmt: skip
_PTX_LOAD = re.compile(r"\bld\.global[\w.:]*?(?:\.v(?P<count>[248]))?\.(?P<type>[busf]\d+)\b")
_PTX_STORE = re.compile(r"\bst\.global[\w.:]*?(?:\.v(?P<count>[248]))?\.(?P<type>[busf]\d+)\b")
_PTX_COPY = re.compile(
    r"\bcp\.async\.c[ag]\.shared\.global[\w.:]*\s*\[[^\]]*\],\s*\[[^\]]*\],\s*(?P<bytes>0x[0-9a-f]+|\d+)"
)
_PTX_BULK = re.compile(r"\bcp\.async\.bulk\.tensor")
_PTX_MMA = re.compile(r"\b(?:wgmma\.mma_async|mma\.sync|tcgen05\.mma)[\w.:]*")


def _read_ptx(text: str) -> dict[str, Any]:
    return {
        "mma": _counted(match[0] for match in _PTX_MMA.finditer(text)),
        "load_bytes": _counted(_width(match) for match in _PTX_LOAD.finditer(text)),
        "store_bytes": _counted(_width(match) for match in _PTX_STORE.finditer(text)),
        "async_copy_bytes": _counted(int(match["bytes"], 0) for match in _PTX_COPY.finditer(text)),
        "tensor_copies": len(_PTX_BULK.findall(text)),
    }


def _width(match: re.Match[str]) -> int:
    return int(match["count"] or 1) * _BITS[match["type"]] // 8


def _counted(found: Iterator[Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in found:
        counts[str(one)] = counts.get(str(one), 0) + 1
    return counts


def _read_cubin(cubin: bytes) -> dict[str, Any]:
    """Registers and stack of a thread, from the tool that comes with Triton; None where it cannot be asked."""
    import triton

    tool = Path(triton.__file__ or "").parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin", delete=False) as file:
        file.write(cubin)
    try:
        said = subprocess.run([str(tool), "-res-usage", file.name], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        said = ""
    finally:
        os.unlink(file.name)
    # The kernel has a line, and each function that it calls.
    registers = [int(number) for number in re.findall(r"\bREG:(\d+)", said)]
    stacks = [int(number) for number in re.findall(r"\bSTACK:(\d+)", said)]
    return {"registers": max(registers, default=None), "spill_bytes": max(stacks, default=None)}


_GCN_MMA = re.compile(r"\bv_(?:mfma|wmma|smfmac)_\w+")
_GCN_LOAD = re.compile(r"\b(?:global|buffer|flat)_load_(?P<type>[a-z0-9_]+)")
_GCN_STORE = re.compile(r"\b(?:global|buffer|flat)_store_(?P<type>[a-z0-9_]+)")


def _read_amdgcn(text: str) -> dict[str, Any]:
    def number(name: str) -> int | None:
        found = re.search(rf"\.{name}:\s+(\d+)", text)
        return int(found[1]) if found else None

    loads = [
        match for match in _GCN_LOAD.finditer(text) if "lds" not in text[match.end() : text.find("\n", match.end())]
    ]
    return {
        "registers": number("vgpr_count"),
        "spill_bytes": number("private_segment_fixed_size"),
        "mma": _counted(match[0] for match in _GCN_MMA.finditer(text)),
        "load_bytes": _counted(_gcn_width(match["type"]) for match in loads),
        "store_bytes": _counted(_gcn_width(match["type"]) for match in _GCN_STORE.finditer(text)),
        "async_copy_bytes": {},
        "tensor_copies": 0,
    }


def _gcn_width(kind: str) -> int:
    if kind.startswith("dword"):
        return 4 * int(re.sub(r"\D", "", kind) or 1)
    found = re.match(r"[a-z]+(\d+)", kind)
    return max(1, int(found[1]) // 8) if found else {"ubyte": 1, "sbyte": 1, "byte": 1}.get(kind.split("_")[0], 2)
