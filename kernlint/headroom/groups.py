"""Which nodes of a computation one well-written kernel does together.

Nodes join their producer's group in program order. What stops them is a *barrier*: a value that needs more of its operand
than a program can hold (a sum over a column or over everything, a row too long for registers, a second matrix product).
Library work and Triton kernels of unknown form stay alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from kernlint.headroom.graph import COLUMN, KERNEL, LIBRARY, MAP, PRODUCT, ROW, SCAN, SPECIAL, TOTAL, Graph, Node, Use
from kernlint.records import dataclass, replace
from kernlint.workload import Span, TorchOp, concrete

#: Elements of a row that one program holds: 32,768 fp32 values are 64 registers a thread with 16 warps.
LONGEST_ROW = 32_768
#: Columns of a product whose whole rows a program's accumulator holds.
LONGEST_PRODUCT_ROW = 256


@dataclass(frozen=True)
class Group:
    """Nodes that one kernel does: what it ``reads`` from memory, what it ``writes`` there, each value once."""

    nodes: tuple[Node, ...]
    reads: tuple[Use, ...]
    writes: tuple[Use, ...]

    @property
    def products(self) -> list[Node]:
        return [node for node in self.nodes if node.form == PRODUCT]

    @property
    def passes(self) -> int:
        """How often rows that are too long for registers are read: again where a value that all of a row goes into is needed beside
        the row's elements. A softmax needs its sum for each result; its maximum and sum are found in one pass."""
        if self.row <= LONGEST_ROW:
            return 1
        made: set[tuple[int, int]] = set()
        again = False
        for node in self.nodes:
            whole = node.elements >= self.elements / 2
            from_rows = any(use.value in made for use in node.reads)
            again = again or (whole and from_rows) or (node.form == ROW and _keeps_rows(node))
            if node.form in (ROW, SCAN) or from_rows:
                made |= {use.value for use in node.writes}
        return 2 if again else 1

    @property
    def form(self) -> str:
        """What the group is priced as: its most demanding node."""
        forms = {node.form for node in self.nodes}
        for form in (KERNEL, LIBRARY, PRODUCT, TOTAL, COLUMN, SCAN, ROW):
            if form in forms:
                return form
        return MAP

    @property
    def place(self) -> tuple[Span, str]:
        """Where the source asks for the work, and in which function."""
        node = self.products[0] if self.products else self.nodes[-1]
        return node.step.span, node.step.function

    @cached_property
    def elements(self) -> float:
        """Points of the iteration space of one round."""
        return max(node.elements for node in self.nodes)

    @property
    def signature(self) -> object:
        """Equal for groups that take the same time: the same work on tensors of the same types and layouts."""

        def shown(use: Use) -> object:
            return use.bytes, use.tensor.dtype, use.tensor.strides

        return (
            tuple((node.form, _identity(node), node.elements, node.row, node.count, node.serial) for node in self.nodes),
            tuple(map(shown, self.reads)), tuple(map(shown, self.writes)),
        )  # fmt: skip

    @property
    def row(self) -> float:
        """The longest row that a reduction or scan needs whole; 1 where none does."""
        return max((node.row for node in self.nodes if node.form in (ROW, SCAN)), default=1.0)


def _keeps_rows(node: Node) -> bool:
    """Whether a row operation has as many results as operands."""
    return sum(use.bytes for use in node.writes) >= 0.4 * sum(use.bytes for use in node.reads)


def _identity(node: Node) -> object:
    step = node.step
    if isinstance(step, TorchOp):
        return step.name, tuple(sorted(step.dims.items())), tuple(use.tensor.dtype for use in node.reads)
    return (
        step.kernel.original.span,
        step.grid,
        step.num_warps,
        tuple(sorted((k, str(v)) for k, v in step.constexprs.items())),
    )


def groups_of(graph: Graph) -> list[Group]:
    """The fusion groups of ``graph`` in an order in which they may run."""
    grouping = _Grouping(graph)
    for node in graph.nodes:
        grouping.place(node)
    return grouping.groups()


class _Grouping:
    """Groups by the index of their first node; each node starts alone and is merged with its producers' where that is allowed."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.members: dict[int, list[Node]] = {}
        self.home: dict[int, int] = {}
        self.maker = graph.makers

    def place(self, node: Node) -> None:
        self.members[node.index] = [node]
        self.home[node.index] = node.index
        # A product before maps: its epilogue is what is hardest to give a place later.
        makers = sorted(self._makers(node), key=lambda maker: (maker.form != PRODUCT, -maker.index))
        for maker in makers:
            early, late = self.home[maker.index], self.home[node.index]
            if (
                early != late
                and self._compatible(self.members[early], self.members[late])
                and not self._cyclic(early, late)
            ):
                self._merge(early, late)

    def _makers(self, node: Node) -> list[Node]:
        found = {self.maker[use.value].index: self.maker[use.value] for use in node.reads if use.value in self.maker}
        return [maker for index, maker in found.items() if index < node.index]

    def _compatible(self, early: list[Node], late: list[Node]) -> bool:
        """Whether one kernel can do both, some of ``late`` reading what ``early`` makes."""
        # What stays alone never joined others, and the nodes of a group make as many rounds as each other.
        one, other = early[0], late[0]
        if {one.form, other.form} & {LIBRARY, KERNEL} or (one.count, one.serial) != (other.count, other.serial):
            return False
        if self._behind_barrier(early, late):
            return False
        products = [node for node in (*early, *late) if node.form == PRODUCT]
        if not products:
            return True
        together = sorted((*early, *late), key=lambda node: node.index)
        made = {use.value: node for node in together for use in node.writes}
        products.sort(key=lambda node: node.index)
        if len(products) > 1:
            return self._is_attention(together, products, made)
        return self._suits_product(together, products[0], made)

    def _behind_barrier(self, early: list[Node], late: list[Node]) -> bool:
        """Whether a node of one group reads behind a barrier what the other makes; within either none does."""
        few, home = (late, self.home[early[0].index]) if len(late) <= len(early) else (early, self.home[late[0].index])
        for node in few:
            for use in node.reads:
                maker = self.maker.get(use.value)
                if maker is not None and self.home.get(maker.index) == home and self._is_barrier(maker):
                    return True
            if self._is_barrier(node):
                readers = (
                    self.home.get(reader) for use in node.writes for reader in self.graph.readers.get(use.value, ())
                )
                if home in readers:
                    return True
        return False

    def _suits_product(self, together: list[Node], product: Node, made: Mapping[tuple[int, int], Node]) -> bool:
        before = _ancestors(product, made)
        for node in before:
            # A prologue is done again by every column of programs: conversions and scales are, exponentials are not.
            if node.form != MAP or (node.name.rstrip("_") in SPECIAL and node.elements > 1):
                return False
        if before and not self._reads_no_more(before, product, made):
            return False
        shape = product.writes[0].tensor.shape if product.writes else None
        columns = concrete(shape[-1]) if shape else None
        convolves = isinstance(product.step, TorchOp) and product.step.kind == "conv"
        if columns is not None and columns <= LONGEST_PRODUCT_ROW and not convolves:
            return True
        after = [node for node in together if node.index > product.index]
        if convolves:
            return not any(node.form in (ROW, SCAN) for node in after)  # its rows are pixels, its tiles are not
        rows = [node for node in after if node.form in (ROW, SCAN)]
        if any(self._feeds_product(node) and node.name == "softmax" for node in rows):
            return True  # on the way to attention
        # A row that no program holds can be reduced on the way, but nothing may need the result beside the row.
        reduced = {use.value for node in rows for use in node.writes}
        return not any(
            use.value in reduced and node.elements >= product.elements / 2 for node in after for use in node.reads
        ) and all(isinstance(node.step, TorchOp) and node.step.kind == "reduce" for node in rows)

    @staticmethod
    def _is_attention(together: list[Node], products: list[Node], made: Mapping[tuple[int, int], Node]) -> bool:
        """Whether the second product contracts what a softmax made of the scores of the first: flash attention."""
        first, second = products[0], products[-1]
        softmaxes = [node for node in together if node.name == "softmax"]
        if len(products) != 2 or len(softmaxes) != 1 or not second.reads:
            return False
        before = {node.index for node in _ancestors(second, made)}
        return {first.index, softmaxes[0].index} <= before and second.reads[0].value in made

    def _feeds_product(self, node: Node) -> bool:
        """Whether a matrix product reads what ``node`` makes, perhaps after maps."""
        values = [use.value for use in node.writes]
        for _ in range(4):
            readers = [self.graph.nodes[i] for value in values for i in self.graph.readers.get(value, ())]
            if any(reader.form == PRODUCT for reader in readers):
                return True
            values = [use.value for reader in readers if reader.form == MAP for use in reader.writes]
        return False

    def _reads_no_more(self, before: Iterable[Node], product: Node, made: Mapping[tuple[int, int], Node]) -> bool:
        """Whether the maps read no more for the product than they make: an operand that is converted in place."""
        inputs = {use.value: use.bytes for node in before for use in node.reads if use.value not in made}
        outputs = sum(use.bytes for use in product.reads if use.value in made)
        return sum(inputs.values()) <= 1.25 * outputs

    def _is_barrier(self, maker: Node) -> bool:
        """Whether what ``maker`` makes is not known before every program is done, or the row no longer at hand."""
        if maker.form in (COLUMN, TOTAL):
            return maker.elements > 1 and sum(use.bytes for use in maker.writes) < sum(use.bytes for use in maker.reads)
        return maker.form == SCAN and maker.row > LONGEST_ROW

    def _cyclic(self, early: int, late: int) -> bool:
        """Whether a third group needs what ``early`` makes and makes what ``late`` needs."""
        if self._feeders(late) <= {early, late}:
            return False
        seen: set[int] = set()
        waiting = [home for home in self._followers(early) if home != late]
        while waiting:
            home = waiting.pop()
            if home == late:
                return True
            if home not in seen and home != early:
                seen.add(home)
                waiting += self._followers(home)
        return False

    def _feeders(self, home: int) -> set[int]:
        reads = (self.maker.get(use.value) for node in self.members[home] for use in node.reads)
        return {self.home[maker.index] for maker in reads if maker is not None and maker.index in self.home}

    def _followers(self, home: int) -> list[int]:
        readers = {
            reader
            for node in self.members[home]
            for use in node.writes
            for reader in self.graph.readers.get(use.value, ())
        }
        return [self.home[reader] for reader in readers if reader in self.home and self.home[reader] != home]

    def _merge(self, early: int, late: int) -> None:
        nodes = sorted((*self.members.pop(early), *self.members.pop(late)), key=lambda node: node.index)
        self.members[late] = nodes
        for node in nodes:
            self.home[node.index] = late

    def groups(self) -> list[Group]:
        return [group_of(self.graph, members) for _, members in sorted(self.members.items())]


def _ancestors(node: Node, made: Mapping[tuple[int, int], Node]) -> list[Node]:
    """The nodes among the makers of ``made`` values that ``node`` depends on."""
    found: dict[int, Node] = {}
    waiting = [node]
    while waiting:
        for use in waiting.pop().reads:
            maker = made.get(use.value)
            if maker is not None and maker.index not in found and maker.index < node.index:
                found[maker.index] = maker
                waiting.append(maker)
    return list(found.values())


def group_of(graph: Graph, members: Iterable[Node]) -> Group:
    """``members`` as one kernel: values that only they use stay on chip."""
    nodes = tuple(members)
    indices = {node.index for node in nodes}
    made = {use.value for node in nodes for use in node.writes}
    reads: dict[object, Use] = {}
    for node in nodes:
        for use in node.reads:
            if use.value not in made:
                view = use.value, use.tensor.offset, use.tensor.shape, use.tensor.strides
                # One call may pick a few elements of what another one reads as a whole.
                reads[view] = max(reads.get(view, use), use, key=lambda one: one.bytes)
    writes: dict[object, Use] = {}
    wanted: dict[int, tuple[int, int]] = {}
    for use in (use for node in reversed(nodes) for use in reversed(node.writes)):
        if use.value in graph.kept or any(reader not in indices for reader in graph.readers.get(use.value, ())):
            wanted[use.value[0]] = use.value
        if (value := wanted.get(use.value[0])) is not None:
            # What was written elsewhere in the same memory before is part of it.
            view = value, use.tensor.offset, use.tensor.shape, use.tensor.strides
            writes.setdefault(view, replace(use, value=value))
    return Group(nodes, _capped(reads.values(), graph.whole), _capped([*writes.values()][::-1], graph.whole))


def _capped(uses: Iterable[Use], whole: Mapping[int, float]) -> tuple[Use, ...]:
    """One use per value: views of it together are no more than all of it."""
    by_value: dict[tuple[int, int], list[Use]] = {}
    for use in uses:
        by_value.setdefault(use.value, []).append(use)
    merged = []
    for value, views in by_value.items():
        largest = max(views, key=lambda use: use.bytes)
        total = min(sum(view.bytes for view in views), max(whole.get(value[0], 0.0), largest.bytes))
        merged.append(Use(largest.tensor, value, total, max(view.least for view in views)))
    return tuple(merged)
