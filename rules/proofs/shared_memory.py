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


def overflowing(launch: Launch, device: Device, computed: bool = False) -> list[tuple[Loop, list[Load]]]:
    """The loops whose tiles, one of each per stage, are more than a program of ``device`` may have. What operands are ``computed`` from
    is buffered ahead where the compiler sees it through, so that it counts where a tile has to fit for certain."""
    kept = kept_stages(device)
    if kept is None:
        return []
    limit = device.shared_memory_max_bytes_per_block
    return [
        (loop, tiles)
        for loop, tiles in _staged(launch, device, computed)
        if stages_of(launch, loop) >= 2 and (stages_of(launch, loop) - kept) * sum(load.bytes for load in tiles) > limit
    ]


def _staged(launch: Launch, device: Device, computed: bool) -> list[tuple[Loop, list[Load]]]:
    """Each loop with the loads of it that feed its dots through shared memory, asynchronously. Loads under a run-time ``if``
    are not buffered ahead: nobody knows yet whether they will be made."""
    found: dict[int, tuple[Loop, list[Load]]] = {}
    for dot, loops in launch.kernel.walk(Dot):
        if not loops or loops[-1].kind == "while":
            continue
        inside = [load for load, around in launch.kernel.walk(Load) if around and around[-1].id == loops[-1].id]
        for operand in (dot.a, dot.b):
            synchronous = operand.direct and wants_k_major(device, operand.memory_dtype) and not operand.k_major
            own = {operand.load} if operand.direct else operand.loads if computed else ()
            tiles = found.setdefault(loops[-1].id, (loops[-1], []))[1]
            for load in inside if not synchronous else ():
                # Of a tensor of unknown type the tile's bytes are a guess.
                tensor = launch.tensor(load.base)
                known = tensor is not None and tensor.dtype is not None and any(load is node for node in loops[-1].body)
                if load.id in own and known and all(load is not other for other in tiles):
                    tiles.append(load)
    return [(loop, tiles) for loop, tiles in found.values() if tiles]
