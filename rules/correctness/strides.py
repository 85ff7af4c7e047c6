"""Whose strides an address is made with: what kernels assume of the layout of tensors that callers hand in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.rules.proofs.iteration_domain import symbols_of
from kernlint.workload import Access, Launch, Tensor, Workload

#: The name of the symbol for an open stride of a tensor.
_STRIDE = re.compile(r"(?P<tensor>.+)\.stride\((?P<axis>\d+)\)")


@dataclass(frozen=True)
class Use:
    """An access of a launch and the tensor behind it; ``strides`` are the open strides in its address, as the names of
    their tensors and the axes."""

    launch: Launch
    access: Access
    tensor: Tensor
    strides: frozenset[tuple[str, int]]

    @property
    def owners(self) -> frozenset[str]:
        """The tensors whose strides stand in the address."""
        return frozenset(name for name, _ in self.strides)


def uses(workload: Workload) -> Iterator[Use]:
    """Every access whose address was followed and whose base is a tensor."""
    for launch in workload.launches():
        for node in launch.kernel.nodes(Access):
            tensor = launch.tensor(node.base)
            if tensor is None or node.offset is None or not node.offset.is_followed:
                continue
            matches = (_STRIDE.fullmatch(symbol.name) for symbol in symbols_of(node.offset))
            yield Use(launch, node, tensor, frozenset((m["tensor"], int(m["axis"])) for m in matches if m))


def storages_by_name(workload: Workload) -> dict[str, int]:
    """The storage behind each name that a tensor of the call goes by."""
    tensors = [*workload.inputs, *workload.outputs]
    tensors += [
        value for launch in workload.launches() for value in launch.arguments.values() if isinstance(value, Tensor)
    ]
    return {tensor.name: tensor.storage.id for tensor in tensors if tensor.name}
