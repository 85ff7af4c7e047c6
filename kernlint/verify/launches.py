"""Launches of an analysed workload in the terms of Triton's compiler, and what running them in the interpreter costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kernlint.cost.device import Device
from kernlint.workload import Dtype, Expr, Launch, Tensor, Workload, concrete
from kernlint.workload.access import Atomic, Load, Store
from kernlint.workload.kernel import Branch, Compute, Dot, Loop, Node

#: Of one launch under all its configurations.
_MOST_CONFIGURATIONS = 8
_ALIGNMENT_BYTES = 16

#: The interpreter's time: seconds for one program, one interpreted operation, one element of its tile, one multiply-add of a
#: dot. Measured on one core, and generous: a machine that does other things too is slower.
_PROGRAM_S = 1e-3
_OPERATION_S = 400e-6
_ELEMENT_S = 3e-8
_FLOP_S = 5e-9
#: Iterations of a loop whose count is not known.
_UNKNOWN_TRIP = 8


def compile_jobs(workload: Workload) -> tuple[list[dict[str, Any]], list[str]]:
    """What to compile for ``workload``, each distinct launch once, and why the others cannot be."""
    jobs: list[dict[str, Any]] = []
    refused: list[str] = []
    for launch in workload.first_call().launches():
        for variant in (launch, *launch.alternatives[: _MOST_CONFIGURATIONS - 1]):
            try:
                job = _job(variant)
            except ValueError as error:
                refused.append(f"{variant.kernel.name}: {error}")
                continue
            if job not in jobs:
                jobs.append(job)
    return jobs, list(dict.fromkeys(refused))


def _job(launch: Launch) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, value in launch.arguments.items():
        arguments[name] = _argument(name, value)
    for name, constant in launch.constexprs.items():
        arguments[name] = _constexpr(name, constant)
    return {
        "kernel": launch.kernel.name,
        "arguments": arguments,
        "num_warps": int(launch.num_warps),
        "num_stages": int(launch.num_stages),
    }


def _argument(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Tensor):
        if value.dtype is None:
            raise ValueError(f"the element type of {name} is not known")
        offset = concrete(value.offset)
        aligned = offset is not None and offset * value.dtype.bytes % _ALIGNMENT_BYTES == 0
        return {"kind": "tensor", "dtype": value.dtype.name, "aligned": aligned}
    if isinstance(value, Expr):
        number = concrete(value)
        if number is None:
            raise ValueError(f"the value of {name} is not known")
        value = number
    if value is None or isinstance(value, (bool, int, float)):
        return {"kind": "scalar", "value": _plain(value)}
    raise ValueError(f"the value of {name} is not known")


def _constexpr(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Dtype):
        return {"kind": "constexpr", "dtype": value.name}
    if isinstance(value, Expr):
        value = concrete(value)
        if value is None:
            raise ValueError(f"the value of {name} is not known")
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"kind": "constexpr", "value": _plain(value)}
    raise ValueError(f"the value of {name} is nothing that can be passed on")


def _plain(value: Any) -> Any:
    """A number or text of Python's own type: the analysis has numbers that know where they stand in the source."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def target_of(device: Device) -> dict[str, Any]:
    """The compiler's target for ``device``."""
    if device.is_amd:
        return {"backend": "hip", "arch": device.gfx_target, "warp_size": device.warp_size_threads}
    major, minor = device.sm or (9, 0)
    return {"backend": "cuda", "arch": major * 10 + minor, "warp_size": 32}


def facts_of(device: Device) -> dict[str, Any]:
    """What wrappers ask torch about a device."""
    return {
        "name": device.name,
        "sm_count": device.sm_count,
        "capability": list(device.sm or (9, 0)),
        "memory_bytes": int(device.memory_gb * 1e9),
        "shared_bytes": device.shared_memory_max_bytes_per_block,
        "warp_size": device.warp_size_threads,
    }


def tile_extents(workloads: Iterable[Workload]) -> list[int]:
    """The integer constants that launches are specialised for: tile sizes among them."""
    found: set[int] = set()
    for workload in workloads:
        for launch in workload.first_call().launches():
            found |= {int(v) for v in launch.constexprs.values() if isinstance(v, int) and not isinstance(v, bool)}
    return sorted(found)


def interpreted_s(workload: Workload) -> float:
    """About how long Triton's interpreter takes for one call, seconds."""
    total = 0.0
    for step, loops in workload.walk():
        if isinstance(step, Launch):
            count = 1.0
            for loop in loops:
                count *= concrete(loop.count) or 1 if loop.count is not None else 1
            total += count * (step.programs or 1) * (_PROGRAM_S + _body_s(step.kernel.body))
    return total


def _body_s(body: tuple[Node, ...]) -> float:
    return sum(_node_s(node) for node in body)


def _node_s(node: Node) -> float:
    if isinstance(node, Loop):
        trip = concrete(node.trip)
        return (trip if trip is not None else _UNKNOWN_TRIP) * _body_s(node.body)
    if isinstance(node, Branch):
        return max((_body_s(arm) for arm in node.arms), default=0.0)
    if isinstance(node, Dot):
        return _OPERATION_S + node.flops * _FLOP_S
    if isinstance(node, (Load, Store, Atomic, Compute)):
        return _OPERATION_S + node.elements * _ELEMENT_S
    elements = 1
    for extent in node.shape:
        elements *= extent
    return _OPERATION_S + elements * _ELEMENT_S
