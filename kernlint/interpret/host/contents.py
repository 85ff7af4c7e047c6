"""What is known of the integers in tensors while host code is followed: in the mean, and one by one where they are few."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kernlint.interpret.edits import Edits
from kernlint.interpret.host.recording import Recording
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.expected import follow, seen_through
from kernlint.interpret.torch.numbers import MOST, made, shown
from kernlint.records import replace
from kernlint.workload import Span, Tensor, concrete
from kernlint.workload.tensor import Expected

#: Sums that are no farther apart than this share are taken for the same.
_SAME = 0.02


class Contents(Recording):
    """Notes what tensors hold, by storage."""

    def __init__(self, budget: int, edits: Edits) -> None:
        super().__init__(budget, edits)
        self.expected: dict[int, Expected] = {}
        #: Storages that a branch which was not followed writes.
        self.untaken: set[int] = set()
        #: How many loops are around the current statement of which one round stands for others.
        self.as_one = 0
        #: Where the host reads numbers of tensors that are known.
        self.numbers_read: set[Span] = set()
        #: The numbers that inputs which were drawn are told to have read.
        self._likely: set[int] = set()

    @contextmanager
    def one_round_for_all(self) -> Iterator[None]:
        """Around rounds of a loop that stand for others: what they find in tensors is no number that all of them find."""
        self.as_one += 1
        try:
            yield
        finally:
            self.as_one -= 1

    def with_expected(self, x: Tensor) -> Tensor:
        """``x`` with what it holds in the mean."""
        held = self._behind(x)
        return x if held == Expected() else replace(x, storage=replace(x.storage, expected=held))

    def _behind(self, x: Tensor) -> Expected:
        """What the memory holds that ``x`` is a view of."""
        return Expected() if x.storage.id in self.untaken else self.expected.get(x.storage.id, Expected())

    def numbers_of(self, x: Tensor) -> tuple[int, ...] | None:
        """The numbers that ``x`` holds, row by row, where the program spells them out; None in the rounds of a loop that are followed as
        one, which may find other ones."""
        return None if self.as_one or x.storage.id in self.untaken else shown(self.expected, x)

    def likely_number(self, x: Tensor) -> int | None:
        """About what the single element ``x`` of a running sum that begins with zero is, or of a tensor of one element, where it is
        drawn; None elsewhere. It is odd, so that nothing divides it by chance, and one number for the same sum read twice."""
        held, place = self.expected.get(x.storage.id, Expected()), concrete(x.offset)
        if x.numel != 1 or place is None or self.as_one or x.storage.id in self.untaken:
            return None
        if held.step is not None:
            number = held.step * place if x.storage.origin == "filled" and held.mean is None else None
        else:
            number = held.mean
        return self._about(number)

    def likely_total(self, x: Tensor) -> int | None:
        """About what the elements of ``x`` come to where they are drawn, the number that their running sum ends with; else None."""
        held = self.held_by(x)
        return None if held.mean is None or x.numel is None or self.as_one else self._about(held.mean * x.numel)

    def _about(self, number: float | None) -> int | None:
        if number is None or not math.isfinite(number) or number < 1:
            return None
        found = next((one for one in self._likely if math.isclose(one, number, rel_tol=_SAME)), round(number) | 1)
        self._likely.add(found)
        return found

    def held_by(self, x: Tensor) -> Expected:
        """What ``x`` alone holds, of the memory that it is a view of."""
        return replace(seen_through(x, self._behind(x)), numbers=self.numbers_of(x))

    def contents_made(self, name: str, kind: str, reads: tuple[Tensor, ...], writes: tuple[Tensor, ...]) -> None:
        """Follow what the torch operation ``name`` makes of what tensors hold."""
        if all(t.storage.id not in self.expected for t in (*reads, *writes)):
            return
        numbers = self._numbers_made(writes)
        follow(self.expected, name, kind, reads, writes)
        if numbers is not None:
            held = self.expected.get(writes[0].storage.id, Expected())
            self.expected[writes[0].storage.id] = replace(held, numbers=numbers)

    def _numbers_made(self, writes: tuple[Tensor, ...]) -> tuple[int, ...] | None:
        """What the torch function that is being followed puts into the new tensor that it ``writes``."""
        if self.as_one or self.calling is None or len(writes) != 1:
            return None
        name, args, kwargs = self.calling
        others = (x.storage.id != writes[0].storage.id and self.numbers_of(x) is not None for x in tensors_in(args))
        return made(self.expected, name, args, kwargs, writes[0]) if all(others) else None

    def overwritten(self, tensors: Iterable[Tensor]) -> None:
        """What ``tensors`` held may have gone."""
        for x in tensors if self.expected else ():
            self.expected.pop(x.storage.id, None)

    def expect(self, x: Tensor, held: Expected) -> Tensor:
        """``x``, noted to hold what is ``held`` in the mean where it holds integers and anything is known of them."""
        if held != Expected() and x.dtype is not None and x.dtype.is_integer:
            few = held.equal and held.mean is not None and x.numel is not None and x.numel <= MOST
            before = self.expected.get(x.storage.id, Expected()).numbers if held.numbers is None else held.numbers
            numbers = (round(held.mean or 0),) * (x.numel or 0) if few else before
            self.expected[x.storage.id] = replace(held, numbers=None if self.as_one else numbers)
        return x

    def forget_numbers(self, *storages: int) -> None:
        """What ``storages`` hold may be other numbers."""
        for storage in self.expected.keys() & {*storages}:
            self.expected[storage] = replace(self.expected[storage], numbers=None)
