"""What is asked about a program: which entry, at which sizes and types, on which device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kernlint.interpret.api import Target, find_target
from kernlint.interpret.host.device import HostFacts
from kernlint.records import dataclass
from kernlint.workload import Dtype
from kernlint.workload.tensor import Expected

if TYPE_CHECKING:
    from kernlint.cost.device import Device


@dataclass(frozen=True)
class Fact:
    """One ``--assume``: the argument ``function.name`` is a tensor of this ``dtype`` and ``shape`` (None for what stays open), dense
    unless it has ``strides``; or it, or a local size, ``is_value``; or it is a list of what ``items`` say, one by one; or the size called
    ``name`` (``x.shape[0]``, ``len(x)``, ``grid[0]``) is ``size``."""

    name: str
    function: str = ""
    dtype: Dtype | None = None
    shape: tuple[int | None, ...] | None = None
    value: Any = None
    is_value: bool = False
    size: int | None = None
    items: tuple[Fact, ...] | None = None
    strides: tuple[int, ...] | None = None
    #: What integers the tensor holds.
    held: Expected = Expected()
    #: Whether nothing else that is known of the argument counts, so that its sizes are open.
    opens: bool = False


#: Rounds of a loop up to which it counts as short.
SHORT_LOOP = 32


@dataclass(frozen=True)
class Question:
    """What to analyse: ``entry`` names a function or ``Class.method`` (None: the default), ``overrides`` module-level
    constants, ``facts`` what the user assumes, ``host`` what the program learns of its device, ``target`` the Triton release
    whose compiler and launcher are asked what they refuse, ``configuration`` which of the configurations of a tuner counts as
    its first, so that a change can be tried under each. Unless ``strict``, facts and constants may be about other programs.
    ``detailed`` keeps torch calls with their arguments, follows each round of a short loop on its own and ends a call where an
    assert fails. Without ``kernels`` nobody looks into these, and without ``tuners`` the one configuration of
    a tuner is all that is followed. A loop is short up to ``unrolled`` rounds. Where they are ``spread``, tensors that ``get_inputs``
    gives are every other element of others; of its floats those are of the type ``floats``, of its integers of ``integers``."""

    entry: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    facts: Sequence[Fact] = ()
    host: HostFacts = field(default_factory=HostFacts)
    target: Target | None = None
    configuration: int = 0
    strict: bool = True
    detailed: bool = False
    kernels: bool = True
    tuners: bool = True
    spread: bool = False
    floats: Dtype | None = None
    integers: Dtype | None = None
    unrolled: int = SHORT_LOOP


def host_facts(device: Device) -> HostFacts:
    """What the analysed program would learn about ``device`` by asking torch."""
    major, _, minor = (device.compute_capability or "9.0").partition(".")
    shared = device.shared_memory_max_bytes_per_block, device.shared_memory_bytes_per_sm
    return HostFacts(device.sm_count, (int(major), int(minor or 0)), device.triton_backend, *shared)


def target_for(release: str | None, device: Device) -> Target:
    """The Triton release (the newest known where None) and architecture that code for ``device`` is compiled for."""
    arch = device.gfx_target or (device.compute_capability or "9.0").replace(".", "")
    return find_target(release, device.vendor, arch)
