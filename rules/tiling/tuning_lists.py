"""Lists of configurations for the autotuner: what is known of one, and the workload with a longer one."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from kernlint.records import dataclass, replace
from kernlint.rules.tiling.tuned_tiles import Configuration
from kernlint.workload import Launch, Span, Workload
from kernlint.workload.steps import map_launch


def written(configuration: Configuration, config: str = "triton.Config") -> str:
    """The call that makes ``configuration``; ``config`` is what the source calls ``triton.Config``."""
    values = ", ".join(f'"{name}": {value}' for name, value in configuration.values)
    return f"{config}({{{values}}}, num_warps={configuration.num_warps}, num_stages={configuration.num_stages})"


@dataclass(frozen=True)
class MoreConfigurations:
    """The workload with ``configurations`` added to those that the autotuner at ``tuner`` tries for the launches at
    ``launch``; ``launches`` are, for each launch that the place makes, those under the added ones."""

    launch: Span
    tuner: Span
    configurations: tuple[Configuration, ...]
    launches: tuple[tuple[Launch, ...], ...] = field(compare=False, repr=False)

    #: The user's device measures what it takes, and what it takes now stays in the choice.
    tuned: ClassVar[str] = "beside"

    def __call__(self, workload: Workload) -> Workload:
        left = list(self.launches)

        def more(launch: Launch) -> Launch:
            added = left.pop(0) if left else ()
            return replace(launch, alternatives=(*launch.alternatives, *added))

        return map_launch(workload, self.launch, more)


def alone(launch: Launch, number: int) -> Launch:
    """``launch`` under its configuration ``number`` alone, the last where it has fewer."""
    every = launch.configurations
    return replace(every[min(number, len(every) - 1)], alternatives=())


def configured(launch: Launch, like: Launch, warps: int, stages: int) -> Configuration | None:
    """A further configuration of ``launch`` with the parameters that ``like`` has; None where one of them is no integer."""
    names = set_by_configurations(launch)
    values = ((name, like.constexprs.get(name)) for name in launch.constexprs if name in names)
    integers = tuple((name, value) for name, value in values if isinstance(value, int))
    return Configuration(integers, warps, stages) if len(integers) == len(names) else None


def all_followed(launch: Launch) -> bool:
    """Whether the configurations are known, all are tried, and none does more than set parameters."""
    tuning = launch.tuning
    if not launch.autotuned or tuning is None or tuning.pruned or tuning.hooked or not launch.grid_follows:
        return False
    return launch.all_followed


def set_by_configurations(launch: Launch) -> frozenset[str]:
    """The parameters that the configurations set and nothing else does."""
    assert launch.tuning is not None
    return launch.tuning.parameters - launch.explicit
