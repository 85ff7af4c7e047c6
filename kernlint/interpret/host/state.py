"""What is known of the tensors and sizes of a program while its host code is followed."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.earlier import Readings
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.host import checks
from kernlint.interpret.host.contents import Contents
from kernlint.interpret.host.device import HostFacts
from kernlint.interpret.host.journal import Journal
from kernlint.interpret.host.open_kernels import KernelsRead
from kernlint.interpret.host.recording import as_data
from kernlint.interpret.host.values import ContiguityTest, LongList, OpenItems, ShapeOf
from kernlint.interpret.python.control import Raised
from kernlint.interpret.swapped_kernels import KernelCalls
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.shapes import contiguous_strides, product
from kernlint.interpret.trace import Values
from kernlint.interpret.values import Class, Deferred, DtypeOf, Function, Instance, Rest, Scope, Unknown
from kernlint.records import replace
from kernlint.syntax.tree import Module
from kernlint.workload import Dtype, Expr, Fault, HostSync, Size, Span, Storage, Symbol, Tensor, TorchOp
from kernlint.workload import expr as ex

#: Functions of a number that a tensor in the memory of the host holds; but for its negative it is above zero.
_OF_NUMBERS: Mapping[str, Callable[[float], float]] = {
    "log": math.log, "sqrt": math.sqrt, "rsqrt": lambda x: x**-0.5, "reciprocal": lambda x: 1 / x, "neg": operator.neg,
}  # fmt: skip


class HostState(Contents):
    """The tensors and sizes of one program, and what its code tells of them.

    ``overrides`` replace module-level constants by name; ``assumed_sizes`` gives integers for names of local sizes.
    """

    def __init__(
        self,
        facts: HostFacts,
        overrides: Mapping[str, Any],
        assumed_sizes: Mapping[str, int],
        resolved: Mapping[Symbol, Size],
        edits: Edits = NO_EDITS,
        kernels: KernelsRead | None = None,
        budget: int = 400_000,
    ) -> None:
        super().__init__(budget, edits)
        self.force(edits)
        #: Where calls are noted so that they can be followed again, if they are.
        self.journal: Journal | None = None
        self.facts = facts
        #: Why the program is for the device of another vendor; empty where nothing says so.
        self.other_vendor: Callable[[], str] = str
        self.overrides = overrides
        self.used_overrides: set[str] = set()
        self.assumed_sizes = assumed_sizes
        self.used_sizes: set[str] = set()
        #: Sizes the user gave that are others by the code.
        self.fixed_sizes: dict[str, int] = {}
        #: What is known of sizes, and what is learned of them now, both of the arguments of ``owner``, a function or class.
        self.resolved: Mapping[Symbol, Size] = dict(resolved)
        self.learned: dict[Symbol, Size] = {}
        self.owner = ""
        #: Those that were turned to since somebody has emptied this.
        self.owners: set[str] = set()
        self.learned_of: dict[str, dict[Symbol, Size]] = {"": self.learned}
        self.resolved_of: Callable[[str], Mapping[Symbol, Size]] = lambda owner: self.resolved
        self.refined: dict[int, Tensor] = {}
        self.contiguous: set[int] = set()
        #: The names that open sizes go by; the values, and for tensors the element types, that checks leave them; pairs of tensors
        #: of one element type, and of one shape whose rank is not known yet.
        self.size_names: dict[str, dict[str, None]] = {}
        self.choices: dict[str, tuple[int, ...]] = {}
        self.dtype_choices: dict[str, tuple[Dtype, ...]] = {}
        self.alike: list[tuple[Tensor, Tensor]] = []
        self.same_shape: list[tuple[Tensor, Tensor]] = []
        #: The sizes of the axes that annotations name, and the arguments whose types only annotations narrow.
        self.axes: dict[str, Size] = {}
        #: The sizes that were asked for and open, by name.
        self.asked: set[str] = set()
        #: The parts of arguments that are sequences, by name, and what the user says of one over what is known of it.
        self.parts: dict[str, Any] = {}
        self.as_said: Callable[[str, Any], Any] = lambda name, known: known
        self.annotated: set[str] = set()
        #: The integer literals that each function has come by.
        self.numbers: dict[cst.CSTNode, dict[Span, int]] = {}
        #: Storages in the memory of the host, those made without a word on where, which are there too unless another default is set,
        #: and those of results that are plain numbers if the arguments are.
        self.hosted: set[int] = set()
        #: Storages of NumPy's arrays.
        self.arrays: set[int] = set()
        self.unplaced: set[int] = set()
        self.perhaps: set[int] = set()
        self.perhaps_truths: set[int] = set()
        #: What Python's arithmetic has made results of, by their storage: numbers, where the results are. All that its operators made.
        self.computed_from: dict[int, tuple[Tensor, ...]] = {}
        self.operated: set[int] = set()
        #: Tensors that others, by their storage, have as many elements as, where nothing tells the shape of these.
        self.as_many_as: dict[int, Tensor] = {}
        #: Storages whose size the host has read from a tensor, with the places where it did.
        self.read_sizes: dict[int, frozenset[Span]] = {}
        #: Whether something of the call may be seen elsewhere although it is not returned.
        self.escapes = False
        #: The objects that were asked whether they are in training or told to be, by the call that is followed, and what that was.
        self.modes: list[tuple[Instance, bool]] = []
        #: Tensors that outlive the call beside its result: kept on ``self`` or saved for a backward pass.
        self.kept: list[Tensor] = []
        self.constants: dict[str, Any] = {}
        self.next_storage = 0
        self.kernels = KernelsRead() if kernels is None else kernels
        #: What holds wherever the call gets to its launches: ``left < right``, and what is zero.
        self.bounds: list[tuple[Expr, Expr]] = []
        self.zeros: list[Expr] = []
        #: Those of the bounds that hold only on the way that a condition nobody can decide is taken to go.
        self.ways: list[tuple[Expr, Expr]] = []
        #: What each comparison came to wherever it was met: true or false whatever the open sizes are, None where they decide.
        self.outcomes: dict[cst.CSTNode, set[bool | None]] = {}
        #: Arguments of unknown type that turn out to be integers, with the ``owner`` that they are of.
        self.integers: set[tuple[str, str]] = set()
        #: Arguments that must be tensors although their default is None: (function, parameter).
        self.needed: set[tuple[str, str]] = set()
        #: Says whether the program is sure to be read again, so that nobody will look into the kernels launched now.
        self.is_draft: Callable[[], bool] = lambda: False
        #: The release whose front end and launcher are asked what they refuse; nobody is asked where None.
        self.target: Target | None = None
        #: The configuration of each tuner that counts as its first.
        self.configuration = 0
        self.refused: dict[Any, tuple[Fault, ...]] = {}
        #: The tensors by their shapes (by identity) that were asked for.
        self.shapes_told: dict[int, tuple[Any, Tensor]] = {}
        #: What earlier versions of the program tell of its kernels, where there are any.
        self.readings: Readings | None = None
        #: How the kernels of the launches (under their first configurations) came about, where anybody may read them again.
        self.kernel_calls: KernelCalls | None = None
        #: Gives the value of a name in another module of the same tree (importing module, package, level); None where
        #: the package is not in the tree.
        self.finder: Callable[[Module, str, int], Callable[[str], Any] | None] | None = None
        #: Functions that are operators of torch, by namespace and name, those of other modules apart, and what looks for those.
        self.operators: dict[str, Function] = {}
        self.operators_elsewhere: dict[str, Function | None] = {}
        self.find_operator: Callable[[str], None] | None = None
        #: Forward passes of autograd functions: the class, its context, the arguments and the result.
        self.passes: list[tuple[Class, Instance, tuple[Any, ...], Any]] = []
        #: Whether what is followed is a forward pass that a backward pass comes after.
        self.differentiated = False
        #: Loops that were followed at once so far: each has a symbol of its own.
        self.loops_at_once = 0
        #: How many of them are being followed.
        self.rounds = 0
        #: Whether anybody looks into the kernels.
        self.reads_kernels = True
        #: Whether launches are followed under each configuration of a tuner.
        self.follows_tuners = True
        #: Stands for what an expression gives in a scope of a module, until somebody asks; None where nothing is put off.
        self.put_off: Callable[[Module, cst.BaseExpression, Scope], Deferred] | None = None
        #: The values of each launch's kernel, filled while values are ``seen``.
        self.seen_kernels: dict[Span, Values] = {}

    def force(self, edits: Edits) -> None:
        """Have ``edits`` made to the source from now on."""
        self.edits = edits
        self.new_literals, self.new_options = edits.new_literals, edits.new_options

    @property
    def release(self) -> Target:
        """The Triton release that the program runs on: the one asked about, else the newest."""
        return self.target or Target(named=False)

    def allocate(
        self, dtype: Dtype | None, shape: tuple[Size, ...] | None, origin: str, node: cst.CSTNode | None, name: str = ""
    ) -> Tensor:
        """A fresh contiguous tensor."""
        self.next_storage += 1
        span = self.span(node) if node is not None and self.sinks else None
        strides = contiguous_strides(shape) if shape is not None else None
        return Tensor(name, dtype, shape, strides, Storage(self.next_storage, origin, span))

    def unknown_tensor(self, name: str, dtype: Dtype | None = None) -> Tensor:
        """An argument of which only ``name`` and perhaps ``dtype`` is known."""
        self.next_storage += 1
        return Tensor(name, dtype, None, None, Storage(self.next_storage, "input"))

    def current(self, x: Tensor) -> Tensor:
        """``x`` with what has been learned of it since (rank, dtype, contiguity)."""
        known = self.refined.get(x.storage.id)
        if known is None or known.name != x.name:
            return x
        dtype = x.dtype or known.dtype
        shape = x.shape if x.shape is not None else known.shape
        strides = x.strides if x.strides is not None else known.strides if shape == known.shape else None
        if dtype is x.dtype and shape is x.shape and strides is x.strides:
            return x
        return replace(x, dtype=dtype, shape=shape, strides=strides)

    def turn_to(self, entry: str) -> None:
        """From here on arguments are those of ``entry``: what is learned of them says nothing of arguments of the same names that
        another function has."""
        self.owner = entry.partition(".")[0]
        self.owners.add(self.owner)
        self.resolved = self.resolved_of(self.owner)
        self.learned = self.learned_of.setdefault(self.owner, {})

    def refine(self, x: Tensor, **facts: Any) -> Tensor:
        known = replace(self.current(x), **facts)
        before = self.refined.get(x.storage.id)
        # A type that is known on this way through the program alone is no fact about the tensor.
        dtype = known.dtype if "dtype" in facts else before.dtype if before is not None else None
        self.refined[x.storage.id] = replace(known, dtype=dtype)
        for one, other in self.alike if "dtype" in facts else ():
            twin = other if one.storage.id == x.storage.id else one if other.storage.id == x.storage.id else None
            if twin is not None and self.current(twin).dtype is None:
                self.refine(twin, dtype=known.dtype)
        return known

    def symbol_for(self, x: Tensor, what: str) -> Size:
        return self.open_number(f"{x.name or 'tensor'}.{what}")

    def open_number(self, name: str) -> Size:
        """The number called ``name``, which the user may give."""
        symbol = Symbol(name)
        self.asked.add(name)
        return self.resolved.get(symbol, Expr.atom(symbol))

    def rank(self, x: Tensor, rank: int) -> Tensor:
        """``x`` known to have ``rank`` dimensions; sizes that nothing tells become symbols."""
        x = self.current(x)
        if x.shape is None:
            shape = tuple(self.symbol_for(x, f"shape[{i}]") for i in range(rank))
            dense = x.storage.id in self.contiguous
            x = self.refine(x, shape=shape, strides=contiguous_strides(shape) if dense else None)
            self._ranked(x, shape)
        return x

    def _ranked(self, x: Tensor, shape: tuple[Size, ...]) -> None:
        """Now that the rank of ``x`` is known, sizes that were counted from the end are those counted from the start, and tensors
        of the same shape have that rank too."""
        for back in range(1, len(shape) + 1):
            symbol = Symbol(f"{x.name or 'tensor'}.shape[{-back}]")
            if isinstance(self.learned.get(symbol), int):
                checks.equate_values(self, self.learned[symbol], shape[-back])
            elif symbol not in ex.lift(shape[-back]).atoms():
                self.learned.setdefault(symbol, shape[-back])
        numel = Symbol(f"{x.name or 'tensor'}.numel")
        elements = product(shape)
        if numel not in ex.lift(elements).atoms():
            self.learned.setdefault(numel, elements)
        waiting, self.same_shape = self.same_shape, []
        for one, other in waiting:
            if x.storage.id in (one.storage.id, other.storage.id):
                checks.equal_shapes(self, one, other)
            else:
                self.same_shape.append((one, other))

    @staticmethod
    def operand(value: Any) -> Tensor | None:
        return value if isinstance(value, Tensor) else None

    def around_rest(self, shape: ShapeOf, before: int, behind: int) -> list[Any]:
        """``first, *rest, last = x.shape`` of a tensor of unknown rank: so many extents before and behind what is left."""
        extents = [self.symbol_for(shape.tensor, f"shape[{axis}]") for axis in (*range(before), *range(-behind, 0))]
        return [*extents[:before], [Rest(of=shape)], *extents[before:]]

    def shape(self, x: Tensor) -> Any:
        x = self.current(x)
        if x.shape is None:
            return ShapeOf(x, "shape")
        self.shapes_told[id(x.shape)] = x.shape, x
        return x.shape

    def part_of_shape(self, shape: ShapeOf, index: Any) -> Any:
        """The first or the last few extents (``x.shape[-2:]``), or strides, of a tensor of unknown rank."""
        if isinstance(index, slice) and index.step is None:
            first, last = index.start, index.stop
            asked = "shape[{}]" if shape.what == "shape" else "stride({})"
            if isinstance(first, int) and -checks.MOST_RANKS <= first < 0 and last is None:
                return tuple(self.symbol_for(shape.tensor, asked.format(axis)) for axis in range(first, 0))
            if first in (None, 0) and isinstance(last, int) and 0 < last <= checks.MOST_RANKS:
                return tuple(self.symbol_for(shape.tensor, asked.format(axis)) for axis in range(last))
        return Unknown("shape slice")

    def strides(self, x: Tensor) -> Any:
        x = self.current(x)
        if x.strides is not None:
            return x.strides
        if x.shape is not None:
            return tuple(self.symbol_for(x, f"stride({i})") for i in range(len(x.shape)))
        return ShapeOf(x, "stride")

    def contiguity_test(self, x: Any) -> Any:
        """``x.is_contiguous()`` of a tensor of unknown layout: a condition that an assert can settle."""
        return ContiguityTest(x) if isinstance(x, Tensor) else Unknown("layout")

    def dtype_of(self, x: Tensor) -> Any:
        """The element type of ``x`` where it is not known: what an assert can tell."""
        return DtypeOf(f"dtype of {x.name}", x)

    def _is_given(self, x: Tensor) -> bool:
        """Whether the shape of ``x`` is one that the program itself writes down, not one that its code implies."""
        known = self.refined.get(x.storage.id)
        written = x.storage.origin in ("input", "parameter", "empty", "filled")
        written = written and x.shape is not None and all(isinstance(size, int) for size in x.shape)
        return written and (known is None or known.name != x.name or known.shape is not x.shape)

    def perhaps_number(self, x: Tensor) -> bool:
        """Whether ``x`` is an argument that only the lack of anything known makes a tensor, or such a one compared: ``int(n)`` may as
        well get a number, and ``n == 1`` be a truth value."""
        x = self.current(x)
        if x.storage.id in self.perhaps_truths:
            return True
        made = x.storage.id in self.perhaps or x.storage.origin == "input"
        return made and x.dtype is None and x.shape is None

    def made_like(self, x: Tensor, result: Tensor) -> Tensor:
        """``result``, which has as many elements as ``x``, whatever that is."""
        if result.shape is None:
            self.as_many_as[result.storage.id] = self.as_many_as.get(x.storage.id, x)
        return result

    def counted(self, x: Tensor) -> Tensor:
        """``x``; where nothing tells the shape of what surely is a tensor, as its elements in a row: a size that can be asked for."""
        owner = self.as_many_as.get(x.storage.id, x)
        if (
            x.shape is not None
            or x.dtype is None
            or not owner.name
            or "." in owner.name
            or owner.storage.origin != "input"
        ):
            return x  # of views, what is called by names of their own, nobody can tell
        return replace(x, shape=(self.symbol_for(owner, "numel"),))

    def of_numbers(self, step: TorchOp) -> bool:
        """Whether one of Python's operators makes ``step`` of what may as well be numbers."""
        made = all(t.storage.id in self.operated for t in step.writes)
        return made and bool(step.reads) and all(map(self.perhaps_number, step.reads))

    def torch_op(
        self,
        name: str,
        kind: str,
        reads: tuple[Tensor, ...],
        writes: tuple[Tensor, ...],
        node: cst.CSTNode,
        flops: int | None = 0,
        dims: Mapping[str, int] | None = None,
    ) -> None:
        self.contents_made(name, kind, reads, writes)
        if reads and all(map(self.is_array, reads)):
            self.arrays.update(t.storage.id for t in writes)
        if reads and all(map(self.is_hosted, reads)) and not name.endswith("_") and name != "setitem":
            self.hosted.update(t.storage.id for t in writes)
            if not self.detailed:
                return
            self._follow_number(name, reads, writes)
        if all(self.perhaps_number(t) for t in reads):
            self.perhaps.update(t.storage.id for t in writes if reads)
            if isinstance(node, cst.Comparison) and isinstance(node.left, cst.Name):
                self.perhaps_truths.update(t.storage.id for t in writes if reads)
        if self.sinks:
            call = as_data(*self.calling) if self.detailed and self.calling is not None else None
            reads, writes = (tuple(map(self.counted, tensors)) for tensors in (reads, writes))
            reads = tuple(map(self.with_expected, reads)) if self.expected else reads
            dims = {**(dims or {}), "deterministic": 1} if self.deterministic else dims or {}
            self.record(TorchOp(name, kind, reads, writes, self.span(node), self.symbol, flops, dims, call))

    def _follow_number(self, name: str, reads: tuple[Tensor, ...], writes: tuple[Tensor, ...]) -> None:
        """Note the number that the host makes of one that it knows."""
        function, number = _OF_NUMBERS.get(name), self.host_numbers.get(reads[0].storage.id)
        if function is None or number is None or len(reads) > 1 or (number <= 0 and name != "neg"):
            return
        self.host_numbers |= {t.storage.id: function(number) for t in writes}

    def result_of(
        self,
        name: str,
        kind: str,
        reads: tuple[Tensor, ...],
        dtype: Dtype | None,
        shape: tuple[Size, ...] | None,
        node: cst.CSTNode,
        flops: int | None = 0,
        dims: Mapping[str, int] | None = None,
    ) -> Tensor:
        """A fresh tensor of ``dtype`` and ``shape``: what the torch operation ``name`` makes of ``reads``."""
        result = self.allocate(dtype, shape, "result", node)
        self.torch_op(name, kind, reads, (result,), node, flops, dims)
        return result

    def skips(self, node: cst.CSTNode) -> bool:
        """Whether an edit takes this torch call out of the program."""
        return bool(self.edits.skipped) and self.span(node) in self.edits.skipped

    def sync(self, what: str, node: cst.CSTNode, reads: Tensor | None = None) -> None:
        if self.sinks and not (reads is not None and (self.is_hosted(reads) or reads.storage.id in self.unplaced)):
            self.record(HostSync(what, self.span(node), self.symbol, reads))

    def is_hosted(self, x: Tensor) -> bool:
        """Whether ``x`` lies in the memory of the host, where reading it waits for nobody."""
        return x.storage.id in self.hosted

    def is_array(self, x: Any) -> bool:
        """Whether ``x`` is an array of NumPy's."""
        return isinstance(x, Tensor) and x.storage.id in self.arrays

    def shared(self, x: Tensor, node: cst.CSTNode) -> Tensor:
        """``x`` as an array, or an array ``x`` as a tensor: the same memory, but what is written to either is not followed in the other."""
        made = replace(self.allocate(x.dtype, x.shape, "constant", node, x.name), strides=x.strides)
        if not self.is_array(x):
            self.arrays.add(made.storage.id)
        self.expect(made, self.held_by(x))
        self.overwritten((x,))
        return self.host_tensor(made)

    def host_tensor(self, x: Tensor) -> Tensor:
        """``x``, made in the memory of the host by what a call does."""
        if self.sinks:
            self.hosted.add(x.storage.id)
        return x

    def list_length(self, values: Any) -> Size | None:
        return getattr(values, "length", len(values)) if isinstance(values, (list, tuple)) else None

    def open_items(self, value: Any) -> OpenItems | None:
        """What a loop goes through that is given an argument of which nothing is known, or a list that another loop filled; None
        for anything else."""
        if isinstance(value, OpenItems):
            return value
        if isinstance(value, LongList):
            return OpenItems(value[-1], value.length) if value and value.length is not None else None
        if not isinstance(value, Tensor) or not self.perhaps_number(value):
            return None
        return OpenItems(self.unknown_tensor(""), self.symbol_for(value, "shape[0]"))

    def name_size(self, name: str, value: Any) -> None:
        """Remember what an open size is called."""
        symbol = checks.open_size(value)
        if symbol is not None:
            self.size_names.setdefault(symbol.name, {})[name] = None

    def used_as_integers(self, values: Iterable[Any]) -> None:
        """``values`` are used as integers: arguments that were taken for tensors are none."""
        for value in values:
            if (
                isinstance(value, Tensor)
                and value.storage.origin == "input"
                and value.shape is None
                and not value.dtype
            ):
                self.integers.add((self.owner, value.name))
            elif isinstance(value, Tensor) and value.storage.id in self.perhaps:
                self.used_as_integers(self.computed_from.get(value.storage.id, ()))

    def escape(self, value: Any, local: bool = False) -> None:
        """``value`` is given to something that is not followed, or that outlives the call."""
        tensors = [] if local else tensors_in([value])
        self.overwritten(tensors)
        if self.sinks and not self.depth_once and not local and (isinstance(value, Unknown) or tensors):
            self.escapes = True

    def save(self, tensors: Iterable[Tensor]) -> None:
        """``tensors`` outlive the call."""
        self.kept += tensors

    def lacks_tensor(self, node: cst.CSTNode) -> NoReturn:
        """Raise, as torch does for a None that the call ``node`` takes for a tensor; where it is the default of an argument of
        the entry, the program is only ever called with one."""
        first = node.args[0].value if isinstance(node, cst.Call) and node.args else None
        if isinstance(first, cst.Name) and len(self.calls) == 1:
            self.needed.add((self.symbol, first.value))
        raise Raised
