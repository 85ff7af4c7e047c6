"""Putting kernels together: fresh names for what moves in, nodes put in and taken out, loads that other nodes knew."""

from __future__ import annotations

from kernlint.records import replace
from kernlint.workload import Atomic, Branch, Compute, Launch, Load, Loop, Node, Reduce, Store, Tensor
from kernlint.workload.access import Access


class Names:
    """Fresh names and numbers for the nodes of a ``guest`` that moves into a ``host``'s kernel."""

    def __init__(self, host: Launch, guest: Launch) -> None:
        self.guest = guest
        self.shift = 1 + max((getattr(node, "id", 0) for node, _ in host.kernel.walk()), default=0)
        self.arguments = dict(host.arguments)
        self._bases: dict[str, str] = {}
        for name, value in guest.arguments.items():
            self._bases[name] = self._base(name, value)

    def _base(self, name: str, value: object) -> str:
        if isinstance(value, Tensor):
            for known, other in self.arguments.items():
                if isinstance(other, Tensor) and _same_view(value, other):
                    return known
        elif name in self.arguments and _same_constant(value, self.arguments[name]):
            return name
        fresh, number = name, 2
        while fresh in self.arguments:
            fresh, number = f"{name}_{number}", number + 1
        self.arguments[fresh] = value  # type: ignore[assignment]
        return fresh

    def id(self, id: int) -> int:
        return id + self.shift

    def access(self, access: Access) -> Node:
        """``access``, a load or store of the guest, renumbered."""
        assert isinstance(access, (Load, Store))
        fresh = replace(access, id=self.id(access.id), base=self._bases[access.base])
        if isinstance(fresh, Store):
            fresh = replace(fresh, depends=frozenset(map(self.id, fresh.depends)))
        return fresh

    def node(self, node: Node) -> Node:
        if isinstance(node, Reduce):
            return replace(node, depends=frozenset(map(self.id, node.depends)))
        return node

    def depending(self, nodes: list[Node], sources: dict[int, frozenset[int]]) -> list[Node]:
        """``nodes``, renumbered before, with loads that are gone replaced by what their values now come from."""
        for gone, origin in sources.items():
            nodes = [redirected(node, self.id(gone), origin) for node in nodes]
        return nodes


def redirected(node: Node, gone: int, origin: frozenset[int]) -> Node:
    """``node`` and what is inside it, with values of load ``gone`` coming from ``origin``."""
    if isinstance(node, Loop):
        return replace(node, body=tuple(redirected(n, gone, origin) for n in node.body))
    if isinstance(node, Branch):
        return replace(node, arms=tuple(tuple(redirected(n, gone, origin) for n in arm) for arm in node.arms))
    if isinstance(node, (Store, Atomic, Reduce)) and gone in node.depends:
        return replace(node, depends=node.depends - {gone} | origin)
    return node


def resized(node: Node, tiles: tuple[Access, Access] | None) -> Node:
    """Arithmetic on the guest's tile done on the host's."""
    if tiles is not None and isinstance(node, Compute) and node.elements == tiles[0].elements:
        return replace(node, elements=tiles[1].elements)
    return node


def spliced(body: tuple[Node, ...], at: Access, nodes: tuple[Node, ...], keep: bool) -> tuple[Node, ...] | None:
    """``body`` with ``nodes`` behind (or, unless ``keep``, in place of) the access ``at``, wherever it stands."""
    for position, node in enumerate(body):
        if node is at:
            return (*body[: position + keep], *nodes, *body[position + 1 :])
        inner: Node | None = None
        if isinstance(node, Loop):
            found = spliced(node.body, at, nodes, keep)
            inner = replace(node, body=found) if found is not None else None
        elif isinstance(node, Branch):
            arms = [spliced(arm, at, nodes, keep) for arm in node.arms]
            if any(arm is not None for arm in arms):
                inner = replace(node, arms=tuple(o if n is None else n for n, o in zip(arms, node.arms)))
        if inner is not None:
            return (*body[:position], inner, *body[position + 1 :])
    return None


def joined(host: Launch, names: Names, body: tuple[Node, ...], num_warps: int) -> Launch:
    """``host`` with the kernel ``body``; tensors that it no longer touches are no longer passed."""
    kernel = replace(host.kernel, body=body)
    used = {node.base for node in kernel.nodes((Load, Store, Atomic))}
    arguments = {n: v for n, v in names.arguments.items() if not isinstance(v, Tensor) or n in used}
    return replace(host, kernel=kernel, arguments=arguments, num_warps=num_warps, alternatives=())


def _same_constant(a: object, b: object) -> bool:
    return type(a) is type(b) and a == b


def _same_view(a: Tensor, b: Tensor) -> bool:
    return a.storage.id == b.storage.id and a.offset == b.offset and a.dtype == b.dtype
