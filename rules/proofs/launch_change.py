"""Changes of one launch, as the workload with it made."""

from __future__ import annotations

from kernlint.records import dataclass
from kernlint.workload import Launch, Span, Workload
from kernlint.workload.kernel import Node
from kernlint.workload.steps import map_configurations


@dataclass(frozen=True)
class LaunchChange:
    """The workload with what the source launches at ``launch`` changed under each configuration of its tuner. Subclasses say what a
    launch becomes, or a node of its kernel."""

    launch: Span

    def __call__(self, workload: Workload) -> Workload:
        return map_configurations(workload, self.launch, self._changed)

    def _changed(self, launch: Launch) -> Launch:
        return launch.rewritten(self._node)

    def _node(self, node: Node) -> Node:
        """What ``node`` becomes."""
        raise NotImplementedError
