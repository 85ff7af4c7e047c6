"""The operand tiles that a pipelined dot loop keeps in shared memory, and whether they fit a program."""

from __future__ import annotations

from kernlint.cost.device import Device
from kernlint.rules.proofs.operand_layout import wants_k_major
from kernlint.workload import Dot, Launch, Load, Loop


def kept_stages(device: Device) -> int | None:
    """The stages that hold no tile in shared memory: one on compute capability 8.x, none on 9.0; None where it is not
    known."""
    return {8: 1, 9: 0}.get(device.sm_major or 0)


def stages_of(launch: Launch, loop: Loop) -> int:
    """The pipeline stages of ``loop``: its own, else those of the launch."""
    return launch.num_stages if loop.num_stages is None else loop.num_stages


def overflowing(launch: Launch, device: Device) -> list[tuple[Loop, list[Load]]]:
    """The loops whose tiles, one of each per stage, are more than a program of ``device`` may have."""
    kept = kept_stages(device)
    if kept is None:
        return []
    limit = device.shared_memory_max_bytes_per_block
    return [
        (loop, tiles)
        for loop, tiles in _staged(launch, device)
        if stages_of(launch, loop) >= 2 and (stages_of(launch, loop) - kept) * sum(load.bytes for load in tiles) > limit
    ]


def _staged(launch: Launch, device: Device) -> list[tuple[Loop, list[Load]]]:
    """Each loop with the loads of it that feed its dots through shared memory, asynchronously. Loads under a run-time ``if``
    are not buffered ahead: nobody knows yet whether they will be made."""
    found: dict[int, tuple[Loop, list[Load]]] = {}
    for dot, loops in launch.kernel.walk(Dot):
        if not loops or loops[-1].kind == "while":
            continue
        inside = [load for load, around in launch.kernel.walk(Load) if around and around[-1].id == loops[-1].id]
        for operand in (dot.a, dot.b):
            synchronous = wants_k_major(device, operand.memory_dtype) and operand.k_major is not True
            load = next((one for one in inside if operand.direct and one.id == operand.load), None)
            tiles = found.setdefault(loops[-1].id, (loops[-1], []))[1]
            # Of a tensor of unknown type the tile's bytes are a guess.
            known = isinstance(load, Load) and launch.tensor(load.base) is not None
            known = known and launch.tensor(load.base).dtype is not None  # type: ignore[union-attr]
            known = known and any(load is node for node in loops[-1].body)
            if isinstance(load, Load) and known and not synchronous and all(load is not other for other in tiles):
                tiles.append(load)
    return [(loop, tiles) for loop, tiles in found.values() if tiles]
