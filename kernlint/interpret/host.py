"""The host side on abstract values: what one call allocates, computes, copies, launches and waits for.

:class:`HostEvaluator` runs module code, constructors and functions the way Python would, down to every torch call and
kernel launch, and records the device work in order. Nothing is imported and nothing is executed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import pairwise
from typing import Any, NoReturn

import libcst as cst

from kernlint.interpret import checks, layers, releases, torch_ops
from kernlint.interpret.api import Target
from kernlint.interpret.binding import grid_fault, launch_faults
from kernlint.interpret.edits import NO_EDITS, Edits, Literal
from kernlint.interpret.first_call import Once, Recorded, bare
from kernlint.interpret.jit_source import binding_problem
from kernlint.interpret.journal import Entry, Journal, OutOfReach
from kernlint.interpret.kernel import Range, argument_block, read_kernel
from kernlint.interpret.memoised import is_memoised, memoises, run_once
from kernlint.interpret.python import (
    MAX_UNROLL,
    Break,
    Continue,
    Evaluator,
    Raised,
    Return,
    bounded,
    extend,
    python_compare,
    rounded,
    same,
    spread,
)
from kernlint.interpret.rounds import rounds_of
from kernlint.interpret.swapped_kernels import KernelCall, KernelCalls
from kernlint.interpret.trace import Values
from kernlint.interpret.values import (
    Block,
    Builtin,
    Class,
    Condition,
    Config,
    Deferred,
    Descriptor,
    Function,
    GridLauncher,
    Instance,
    Jit,
    Namespace,
    OpenFloat,
    Presumed,
    ReadValue,
    Scope,
    Unknown,
    is_concrete,
)
from kernlint.records import dataclass, replace
from kernlint.syntax.counters import counter
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters
from kernlint.workload import (
    Call,
    Collected,
    Dtype,
    Expr,
    Fault,
    HostSync,
    Kernel,
    Launch,
    Repeat,
    Size,
    Span,
    Storage,
    Symbol,
    Tensor,
    TorchOp,
    Tuning,
)
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.kernel import Access

#: Launch options that are no kernel parameters.
_OPTIONS = frozenset(
    "num_warps num_stages num_ctas maxnreg enable_fp_fusion waves_per_eu matrix_instr_nonkdim kpack warmup stream "
    "ctas_per_cga launch_cooperative_grid launch_pdl ir_override".split()
)

#: The attributes of a triton.Config, of every release from 3.2 on.
_OF_CONFIG = frozenset(
    "kwargs num_warps num_stages num_ctas maxnreg pre_hook ir_override num_buffers_warp_spec num_consumer_groups "
    "reg_dec_producer reg_inc_consumer all_kwargs".split()
)

#: Methods of lists and dictionaries that change nothing.
_READING = frozenset({"get", "items", "keys", "values", "copy", "index"})
#: Stands for "not by this one" among functions that may know a call.
_ELSEWHERE = Unknown("elsewhere")
#: A function of Python as the evaluator calls it: with the arguments, those by keyword, and the call.
_Special = Callable[["HostEvaluator", list[Any], dict[str, Any], cst.Call], Any]
#: What code learns that asks whether there is a GPU: there is one, the device in question.
_OF_THE_GPU: Mapping[str, Any] = {
    "torch.cuda.is_available": True, "torch.cuda.is_bf16_supported": True, "torch.cuda.device_count": 1,
    "torch.cuda.current_device": 0,
}  # fmt: skip
#: What torch has for checks beside `assert`, by its last name.
_CHECKS = {"_assert": "torch._assert", "_check": "torch._check", "_check_value": "torch._check_value"}
#: torch's interfaces to devices that this analysis knows nothing of.
_OTHER_DEVICES = ("torch.npu.", "torch.xpu.", "torch.mps.", "torch.mlu.", "torch.musa.", "torch.hpu.")

MAX_CONFIGS = 48
UNROLL_LAUNCHES = 1
#: A loop over at least that many views of a tensor in turn is one over its steps, not over the parts of something.
_IN_TURN = 9
#: Steps that a loop over a list, of a model's layers say, or an endless one may make before the rest of it is taken to be
#: like the next time round; the latter may not go round more often, either.
_UNROLLED = 256
#: Rounds of a loop up to which it counts as short.
SHORT_LOOP = 32


@dataclass(frozen=True)
class HostFacts:
    """What the analysed program would learn of the device by asking torch."""

    sm_count: int = 132
    capability: tuple[int, int] = (9, 0)
    backend: str = "cuda"
    #: The most shared memory that a program may have, and that a multiprocessor has, in bytes.
    shared_block: int = 232448
    shared_sm: int = 233472


@dataclass(frozen=True)
class ShapeOf:
    """The shape of a tensor whose rank is not known yet."""

    tensor: Tensor
    what: str


@dataclass(frozen=True)
class DtypeOf(Unknown):
    """The element type of ``tensor``, where that is not known."""

    tensor: Tensor | None = None


@dataclass(frozen=True)
class _Passed:
    """What a launch is given: ``values`` by parameter and launch ``options``; ``explicit`` are those of both that the call
    itself gives, ``presumed`` the parameters that are flags of which only the type is known."""

    values: dict[str, Any]
    options: dict[str, Any]
    explicit: frozenset[str]
    presumed: frozenset[str]


@dataclass(frozen=True)
class _Bound:
    """The parameters of a kernel in one launch; ``opened`` and ``premises`` are as ``open_constexprs`` and ``premises`` of a
    :class:`~kernlint.workload.Launch`."""

    arguments: dict[str, Any]
    constexprs: dict[str, Any]
    opened: dict[str, Expr]
    premises: dict[str, tuple[Expr, ...]]


class HostEvaluator(Evaluator):
    """Evaluates one program. ``steps`` is what device work has been recorded so far.

    ``overrides`` replace module-level constants by name; ``assumed`` gives integers for names of local sizes.
    """

    def __init__(
        self,
        facts: HostFacts,
        overrides: Mapping[str, Any],
        assumed_sizes: Mapping[str, int],
        resolved: Mapping[Symbol, Size],
        edits: Edits = NO_EDITS,
        kernels: dict[Any, Kernel] | None = None,
        budget: int = 400_000,
    ) -> None:
        super().__init__(budget, edits)
        self.force(edits)
        #: Where calls are noted so that they can be followed again, if they are.
        self.journal: Journal | None = None
        #: Whether nothing may be changed that outlives the call.
        self.frozen = False
        self.facts = facts
        self.overrides = overrides
        self.used_overrides: set[str] = set()
        self.assumed_sizes = assumed_sizes
        self.used_sizes: set[str] = set()
        #: What is known of sizes, and what is learned of them now, both of the arguments of ``owner``, a function or class.
        self.resolved: Mapping[Symbol, Size] = dict(resolved)
        self.learned: dict[Symbol, Size] = {}
        self.owner = ""
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
        #: The sizes that were asked for and open, by name; what the code says against the facts that it was given.
        self.asked: set[str] = set()
        self.contradictions: list[str] = []
        self.annotated: set[str] = set()
        self.sinks: list[list[Recorded]] = []
        #: The integer literals that each function has come by.
        self.numbers: dict[cst.CSTNode, dict[Span, int]] = {}
        #: Storages in the memory of the host, and those of results that are plain numbers if the arguments are.
        self.hosted: set[int] = set()
        self.perhaps: set[int] = set()
        #: Storages whose size the host has read from a tensor, with the places where it did.
        self.read_sizes: dict[int, frozenset[Span]] = {}
        #: Whether something of the call may be seen elsewhere although it is not returned.
        self.escapes = False
        #: How many pieces of code that run once are around the current statement.
        self.depth_once = 0
        #: Tensors that outlive the call beside its result: kept on ``self`` or saved for a backward pass.
        self.kept: list[Tensor] = []
        self.assumptions: list[str] = []
        self.unknowns: list[str] = []
        self.constants: dict[str, Any] = {}
        self.next_storage = 0
        self.kernels: dict[Any, Kernel] = {} if kernels is None else kernels
        #: What holds wherever the call gets to its launches: ``left < right``, and what is zero.
        self.bounds: list[tuple[Expr, Expr]] = []
        self.zeros: list[Expr] = []
        #: Storages that a branch which was not followed writes.
        self.untaken: set[int] = set()
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
        #: What Python or torch refuses of the host code that was followed; each once.
        self.host_faults: dict[tuple[str, Span], Fault] = {}
        #: How many conditions that nobody could decide are around the current statement.
        self.doubts = 0
        #: The tensors by their shapes (by identity) that were asked for.
        self.shapes_told: dict[int, tuple[Any, Tensor]] = {}
        #: How the kernels of the launches (under their first configurations) came about, where anybody may read them again.
        self.kernel_calls: KernelCalls | None = None
        #: Gives the value of a name in another module of the same tree (importing module, package, level); None where
        #: the package is not in the tree.
        self.finder: Callable[[Module, str, int], Callable[[str], Any] | None] | None = None
        #: Whether torch calls are kept with their arguments, and each round of a short loop is followed on its own.
        self.detailed = False
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
        self.made: list[Recorded] = []
        #: The torch function that is being followed, with its arguments.
        self.calling: tuple[str, list[Any], dict[str, Any]] | None = None
        #: Stands for what an expression gives in a scope of a module, until somebody asks; None where nothing is put off.
        self.put_off: Callable[[Module, cst.BaseExpression, Scope], Deferred] | None = None
        #: The values of each launch's kernel, filled while values are ``seen``.
        self.seen_kernels: dict[Span, Values] = {}

    def force(self, edits: Edits) -> None:
        """Have ``edits`` made to the source from now on."""
        self.edits = edits
        self.new_literals = dict(edits.literals)
        self.new_options: dict[Span, dict[str, int]] = {}
        for span, name, value in edits.options:
            self.new_options.setdefault(span, {})[name] = value

    # -- noting calls -----------------------------------------------------------------------------------------------

    @contextmanager
    def _noted(
        self,
        node: cst.CSTNode,
        function: cst.CSTNode | None,
        again: Callable[[], Any],
        given: Callable[[], tuple[Any, ...]],
        scope: Scope | None = None,
    ) -> Iterator[Callable[[Any], Any]]:
        """Note an evaluation of ``node``, whose value is to be handed to what is yielded."""
        journal = self.journal
        assert journal is not None
        entry = Entry(
            node, again, function, tuple(self.modules), tuple(self.calls), not self.sinks, self.depth_once,
            (self.guarded, self.tried), self.next_storage,
            dict(self.numbers.get(function, {})) if function is not None else {}, given, scope,
            journal.following, frozenset(id(one.node) for one in journal.open),
        )  # fmt: skip
        journal.add(entry)

        def ended(value: Any) -> Any:
            journal.end(entry, value)
            return value

        try:
            yield ended
        finally:
            journal.close(entry)

    def eval_Call(self, node: cst.Call, scope: Scope) -> Any:
        if type(node.func) is cst.Attribute and node.func.attr.value in _CHECKS and node.args:
            function = self.eval(node.func, scope)
            if isinstance(function, Namespace) and function.path in _CHECKS.values():
                checks.holds(self, node.args[0].value, scope)
        if self.journal is None or type(node.func) is not cst.Subscript or not self.calls:
            return super().eval_Call(node, scope)
        then = Scope(scope.parent, dict(scope.vars))
        module = self.module

        def again() -> Any:
            return super(HostEvaluator, self).eval_Call(node, Scope(then.parent, dict(then.vars)))

        def given() -> tuple[Any, ...]:
            return _looked_up(node, module, then, scope)

        with self._noted(node, self.calls[-1].node, again, given, scope) as ended:
            return ended(super().eval_Call(node, scope))

    def changes(self) -> None:
        """Something that outlives the call is about to change. Raises :class:`OutOfReach` where it may not."""
        if self.frozen:
            raise OutOfReach

    # -- recording --------------------------------------------------------------------------------------------------

    @contextmanager
    def recording(self) -> Iterator[list[Recorded]]:
        """Collect the steps of the block; outside any such block (set-up code) steps are dropped."""
        steps: list[Recorded] = []
        self.sinks.append(steps)
        try:
            yield steps
        finally:
            self.sinks.pop()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Set-up that a call does not pay for."""
        saved, self.sinks = self.sinks, []
        try:
            yield
        finally:
            self.sinks = saved

    @contextmanager
    def making(self) -> Iterator[None]:
        """Set-up that makes what a call is given: where torch calls are kept with their arguments, these tell what it holds."""
        if not self.detailed:
            with self.silent():
                yield
            return
        with self.recording() as steps:
            try:
                yield
            finally:
                self.made += steps

    @contextmanager
    def once(self) -> Iterator[None]:
        """What a first call does and later ones find done."""
        self.depth_once += 1
        try:
            yield
        finally:
            self.depth_once -= 1

    def record(self, step: Recorded) -> None:
        if self.sinks:
            wrapped = step if isinstance(step, Once) or not self.depth_once else Once(step)
            self.sinks[-1].append(wrapped)

    @contextmanager
    def inside(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Iterator[None]:
        """Within the call of a torch function, which is what is recorded then."""
        outer, self.calling = self.calling, (name, args, kwargs)
        try:
            yield
        finally:
            self.calling = outer

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
        if reads and all(map(self.is_hosted, reads)) and not name.endswith("_") and name != "setitem":
            self.hosted.update(t.storage.id for t in writes)
            return
        if all(self.perhaps_number(t) for t in reads):
            self.perhaps.update(t.storage.id for t in writes if reads)
        if self.sinks:
            call = _as_data(*self.calling) if self.detailed and self.calling is not None else None
            self.record(TorchOp(name, kind, reads, writes, self.span(node), self.symbol, flops, dims or {}, call))

    def skips(self, node: cst.CSTNode) -> bool:
        """Whether an edit takes this torch call out of the program."""
        return bool(self.edits.skipped) and self.span(node) in self.edits.skipped

    def sync(self, what: str, node: cst.CSTNode, reads: Tensor | None = None) -> None:
        if self.sinks and not (reads is not None and self.is_hosted(reads)):
            self.record(HostSync(what, self.span(node), self.symbol, reads))

    def is_hosted(self, x: Tensor) -> bool:
        """Whether ``x`` lies in the memory of the host, where reading it waits for nobody."""
        return x.storage.id in self.hosted

    def host_tensor(self, x: Tensor) -> Tensor:
        """``x``, made in the memory of the host by what a call does."""
        if self.sinks:
            self.hosted.add(x.storage.id)
        return x

    def refuse(self, kind: str, node: cst.CSTNode, text: str) -> None:
        """Note that the code at ``node`` raises, where it is sure that it does and that nobody catches it."""
        if self.guarded == 0 and not self.frozen:
            span = self.span(node)
            fault = Fault(kind, span, text, self.symbol, certain=self.doubts == 0)
            known = self.host_faults.get((kind, span))
            if known is None or (fault.certain and not known.certain):
                self.host_faults[kind, span] = fault

    def _unpack(self, elements: Sequence[cst.BaseElement], value: Any, scope: Scope) -> None:
        told, x = self.shapes_told.get(id(value), (None, None))
        starred = any(type(element) is cst.StarredElement for element in elements)
        if isinstance(told, tuple) and told is value and x is not None and not starred:
            rank, names = len(told), len(elements)
            if rank != names and self._is_given(x):
                text = f"`{x.name or 'the tensor'}` has {rank} dimensions, and its shape is unpacked into {names} names"
                self.refuse("unpacked-shape", elements[0], text)
        super()._unpack(elements, value, scope)

    def _is_given(self, x: Tensor) -> bool:
        """Whether the shape of ``x`` is one that the program itself writes down, not one that its code implies."""
        known = self.refined.get(x.storage.id)
        written = x.storage.origin in ("input", "parameter", "empty", "filled")
        written = written and x.shape is not None and all(isinstance(size, int) for size in x.shape)
        return written and (known is None or known.name != x.name or known.shape is not x.shape)

    def assume(self, what: str) -> None:
        if self.sinks and what not in self.assumptions:
            self.assumptions.append(what)

    def unknown(self, what: str) -> None:
        if self.sinks and what not in self.unknowns:
            self.unknowns.append(what)

    # -- tensors ----------------------------------------------------------------------------------------------------

    def allocate(
        self, dtype: Dtype | None, shape: tuple[Size, ...] | None, origin: str, node: cst.CSTNode | None, name: str = ""
    ) -> Tensor:
        """A fresh contiguous tensor."""
        self.next_storage += 1
        span = self.span(node) if node is not None and self.sinks else None
        strides = torch_ops.contiguous_strides(shape) if shape is not None else None
        return Tensor(name, dtype, shape, strides, Storage(self.next_storage, origin, span))

    def unknown_tensor(self, name: str, dtype: Dtype | None = None, shape: tuple[Size, ...] | None = None) -> Tensor:
        """An argument of which only ``name`` and what is passed here is known."""
        self.next_storage += 1
        return Tensor(name, dtype, shape, None, Storage(self.next_storage, "input"))

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
        symbol = Symbol(f"{x.name or 'tensor'}.{what}")
        self.asked.add(symbol.name)
        return self.resolved.get(symbol, Expr.atom(symbol))

    def rank(self, x: Tensor, rank: int) -> Tensor:
        """``x`` known to have ``rank`` dimensions; sizes that nothing tells become symbols."""
        x = self.current(x)
        if x.shape is None:
            shape = tuple(self.symbol_for(x, f"shape[{i}]") for i in range(rank))
            dense = x.storage.id in self.contiguous
            x = self.refine(x, shape=shape, strides=torch_ops.contiguous_strides(shape) if dense else None)
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
        product = torch_ops.product(shape)
        if numel not in ex.lift(product).atoms():
            self.learned.setdefault(numel, product)
        waiting, self.same_shape = self.same_shape, []
        for one, other in waiting:
            if x.storage.id in (one.storage.id, other.storage.id):
                checks.equal_shapes(self, one, other)
            else:
                self.same_shape.append((one, other))

    def shape(self, x: Tensor) -> Any:
        x = self.current(x)
        if x.shape is None:
            return ShapeOf(x, "shape")
        self.shapes_told[id(x.shape)] = x.shape, x
        return x.shape

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

    def contradict(self, node: cst.CSTNode, what: str) -> None:
        """``what``, at ``node``, cannot be with the arguments at hand."""
        if self.sinks:
            self.contradictions.append(f"{self.symbol} cannot be called so: {what} at line {self.span(node).line}")

    def dtype_of(self, x: Tensor) -> Any:
        """The element type of ``x`` where it is not known: what an assert can tell."""
        return DtypeOf(f"dtype of {x.name}", x)

    def list_length(self, values: Any) -> Size | None:
        return getattr(values, "length", len(values)) if isinstance(values, (list, tuple)) else None

    def _lengthen(self, scope: Scope, before: dict[str, int], count: Size | None, initial: dict[str, int]) -> None:
        """Give lists that one iteration appended to (``before`` it they had so many items, ``initial`` ones before the loop) the
        length they have after ``count`` iterations."""
        for name, value in scope.vars.items():
            if isinstance(value, list) and name in before and len(value) > before[name] and count is not None:
                grown = ex.lift(count) * (len(value) - before[name])
                scope.vars[name] = LongList(value, ex.simplify(grown + initial.get(name, 0)))

    # -- Python hooks -----------------------------------------------------------------------------------------------

    def eval_Name(self, node: cst.Name, scope: Scope) -> Any:
        value = super().eval_Name(node, scope)
        return self.current(value) if isinstance(value, Tensor) else value

    def named(self, name: str, value: Any) -> Any:
        if isinstance(value, Tensor) and not value.name:
            return replace(value, name=name)
        if isinstance(value, Expr):
            self.name_size(name, value)
        if name in self.assumed_sizes and isinstance(value, (int, Expr)) and not isinstance(value, bool):
            self.used_sizes.add(name)
            return self._assume_size(name, value)
        return value

    def name_size(self, name: str, value: Any) -> None:
        """Remember what an open size is called."""
        symbol = checks.open_size(value)
        if symbol is not None:
            self.size_names.setdefault(symbol.name, {})[name] = None

    def _assume_size(self, name: str, value: Size) -> Size:
        wanted = self.assumed_sizes[name]
        if isinstance(value, Expr):
            atoms = [a for a in value.atoms() if isinstance(a, Symbol)]
            if len(atoms) == 1 and value == Expr.atom(atoms[0]):
                self.learned[atoms[0]] = wanted
            return wanted
        return value

    def parameter(self, param: cst.Param, value: Any) -> Any:
        return self.named(param.name.value, value)

    def eval_Integer(self, node: cst.Integer, scope: Scope) -> Any:
        value = super().eval_Integer(node, scope)
        if isinstance(value, Literal) and self.calls:
            self.numbers.setdefault(self.calls[-1].node, {})[value.span] = int(value)
        return value

    def missing_name(self, name: str, node: cst.CSTNode) -> Any:
        if name == "__name__":
            return "kernlint"
        return super().missing_name(name, node)

    def unpack(self, value: Any, count: int, starred: bool) -> list[Any] | None:
        if isinstance(value, ShapeOf) and not starred:
            x = self.rank(value.tensor, count)
            found = self.shape(x) if value.what == "shape" else self.strides(x)
            return list(found)
        if isinstance(value, tuple) and len(value) != count and not starred and id(value) in self.shapes_told:
            x = self.shapes_told[id(value)][1]
            if self.sinks:
                self.contradictions.append(f"{self.symbol} takes {x.name} to have {count} dimensions, not {len(value)}")
        return super().unpack(value, count, starred)

    def iterate(self, value: Any) -> list[Any] | None:
        if isinstance(value, Range):
            trip, start, step = value.trip, ex.concrete(value.start), ex.concrete(value.step)
            if isinstance(trip, int) and trip <= MAX_UNROLL and start is not None and step is not None:
                return [start + i * step for i in range(trip)]
            return None
        if (
            isinstance(value, Tensor)
            and value.shape
            and isinstance(value.shape[0], int)
            and value.shape[0] <= torch_ops.MAX_VIEWS
        ):
            return [torch_ops.index(self, value, i, cst.Name("x")) for i in range(value.shape[0])]
        if isinstance(value, Instance) and "_items" in value.attrs:
            return list(value.attrs["_items"])
        return super().iterate(value)

    def truth(self, value: Any) -> bool | None:
        if isinstance(value, (Dtype, Config)):
            return True
        return super().truth(value)

    def binary(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            if name == "@" and isinstance(a, Tensor) and isinstance(b, Tensor):
                return torch_ops.function(self, "matmul", [a, b], {}, node)
            if name == "/" and not isinstance(a, Tensor):
                # torch divides a number by a tensor in two steps.
                a, b, name = self._operator("reciprocal", [b], node), a, "*"
            return self._operator(_OP_NAMES.get(name, name), [a, b], node)
        if isinstance(a, ReadValue) or isinstance(b, ReadValue):
            return computed_from_read(name, (a, b))
        if all(isinstance(v, (int, float, Expr, OpenFloat)) for v in (a, b)) and (
            any(isinstance(v, OpenFloat) for v in (a, b))
            or (any(isinstance(v, Expr) for v in (a, b)) and (name == "/" or any(isinstance(v, float) for v in (a, b))))
        ):
            whole = name == "/" and not any(isinstance(v, (float, OpenFloat)) for v in (a, b))
            return OpenFloat(f"{name} of a float", (ex.lift(a), ex.lift(b)) if whole else None)
        return super().binary(name, function, a, b, node)

    def _operator(
        self, name: str, args: list[Any], node: cst.CSTNode, dtype: Dtype | None = None, into: Tensor | None = None
    ) -> Any:
        """One of Python's operators on tensors."""
        with self.inside(name, args, {}):
            return torch_ops.elementwise(self, name, args, node, dtype, into=into)

    def augmented(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if isinstance(a, Tensor):
            return self._operator(_OP_NAMES.get(name, name) + "_", [a, b], node, into=a)
        if isinstance(a, list) and isinstance(b, (list, tuple)) and name == "+":
            extend(a, b)
            return a
        return self.binary(name, function, a, b, node)

    def unary(self, name: str, value: Any, node: cst.CSTNode) -> Any:
        if isinstance(value, Tensor):
            return self._operator("neg" if name == "-" else "bitwise_not", [value], node)
        return super().unary(name, value, node)

    def compare(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if isinstance(a, ShapeOf) or isinstance(b, ShapeOf):
            return Unknown("shape comparison")
        if (isinstance(a, Tensor) or isinstance(b, Tensor)) and name not in ("is", "is not", "in", "not in"):
            return self._operator(name, [a, b], node, dt.BOOL)
        if name in ("is", "is not") and (isinstance(a, Tensor) or isinstance(b, Tensor)):
            return (a is b) == (name == "is") if a is None or b is None else Unknown("identity")
        return python_compare(name, function, a, b)

    def merge(self, a: Any, b: Any, test: Any, node: cst.CSTNode) -> Any:
        if same(a, b):
            return a
        if isinstance(a, (int, Expr)) and isinstance(b, (int, Expr)) and not isinstance(a, bool):
            return a if isinstance(a, int) and not isinstance(b, int) else b
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return _either(a, b)
        if isinstance(a, ReadValue) and isinstance(b, ReadValue):
            return computed_from_read("choice", (a, b))
        if any(isinstance(x, Unknown) for x in (a, b)) and any(isinstance(x, (int, float)) for x in (a, b)):
            return Unknown("undecided choice")  # `x.numel() if x is not None else 0` is no reason to think of 0
        if isinstance(a, Unknown) or a is None:
            return b
        if isinstance(b, Unknown) or b is None:
            return a
        if isinstance(a, Jit) and isinstance(b, Jit):
            return replace(a, either=True)
        if isinstance(a, (Namespace, Function, Jit, Class)):
            return a  # two ways to import one thing
        return Unknown("undecided choice")

    # -- attributes, items, calls -----------------------------------------------------------------------------------

    def getattr(self, value: Any, name: str, node: cst.CSTNode) -> Any:
        if isinstance(value, Tensor):
            return torch_ops.attribute(self, value, name, node)
        if isinstance(value, Instance):
            return self._instance_attribute(value, name)
        if name == "value" and isinstance(value, (int, float, str)):
            return value  # a member of an Enum, or a constexpr
        if isinstance(value, Class):
            return self._class_attribute(value, name, None)
        if isinstance(value, Namespace):
            return self._external_attribute(value, name)
        if isinstance(value, ShapeOf):
            if name == "numel":
                return Builtin(name, lambda a, k, n: self.symbol_for(value.tensor, "numel"))
            return Unknown(name)
        if isinstance(value, tuple) and name in ("values", "indices") and len(value) == 2:
            return value[name == "indices"]  # of a reduction or a sort
        if isinstance(value, tuple) and name == "numel" and all(isinstance(extent, (int, Expr)) for extent in value):
            return Builtin(name, lambda a, k, n: torch_ops.product(value))
        if isinstance(value, (Dtype,)):
            if name in ("itemsize",):
                return value.bytes
            if name in ("is_floating_point",):
                return value.is_float
            return Unknown(name)
        if isinstance(value, Jit):
            if name in ("fn", "kernel"):
                return value
            if name == "run":
                return Builtin(name, lambda a, k, n: self.launch(value, k.pop("grid", ()), a, k, n))
            if name == "warmup":
                return Builtin(name, lambda a, k, n: self._warm_up(value, k.pop("grid", ()), a, k, n))
            if name == "best_config":
                return Unknown("best_config")
        if isinstance(value, Config):
            if name in value.kwargs and name not in _OF_CONFIG:
                self.refuse(
                    "config-attribute", node, f'a triton.Config has no attribute `{name}`; use `.kwargs["{name}"]`'
                )
            return {"kwargs": dict(value.kwargs), "num_warps": value.num_warps, "num_stages": value.num_stages}.get(
                name, Unknown(name)
            )
        if isinstance(value, Builtin) and value.name == "super":
            return self._super_attribute(value, name)
        if isinstance(value, releases.Version):
            return value.attribute(name)
        if isinstance(value, (list, dict)) and name not in _READING:
            self.changes()
        return super().getattr(value, name, node)

    def exec_Global(self, node: cst.Global | cst.Nonlocal, scope: Scope) -> None:
        self.changes()
        if self.rounds:
            self.unknown("what all rounds of a loop set outside of their function")
        super().exec_Global(node, scope)

    exec_Nonlocal = exec_Global

    def _instance_attribute(self, value: Instance, name: str) -> Any:
        if name in value.attrs:
            found = value.attrs[name]
            return self.current(found) if isinstance(found, Tensor) else found
        if value.cls is not None:
            found = self._class_attribute(value.cls, name, value)
            if not isinstance(found, Unknown):
                return found
        if name == "__class__":
            return value.cls or Namespace(value.kind)
        if layers.changes(name):
            self.changes()
        return layers.attribute(self, value, name)

    def _class_attribute(self, cls: Class, name: str, instance: Instance | None) -> Any:
        for candidate in _lineage(cls):
            if name in candidate.scope.vars:
                found = candidate.scope.lookup(name)
                if instance is not None and isinstance(found, Function):
                    return self._bound(found, instance)
                return found
        if name == "apply":
            # torch.autograd.Function: apply(*args) runs forward(ctx, *args).
            forward = self._class_attribute(cls, "forward", None)
            if isinstance(forward, Function):
                return Builtin("apply", lambda a, k, n: self._applied(cls, forward, a, k))
        return Unknown(f"attribute {name}")

    def _applied(self, cls: Class, forward: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The forward pass of an autograd function, which is kept for :meth:`_gradients`."""
        context, result = self.forward_pass(cls, forward, args, kwargs)
        if not kwargs:
            self.passes.append((cls, context, tuple(args), result))
        return result

    def forward_pass(
        self, cls: Class, forward: Function, args: list[Any], kwargs: dict[str, Any]
    ) -> tuple[Instance, Any]:
        """The context and the result of the forward pass of an autograd function."""
        wanted = tuple(isinstance(arg, Tensor) for arg in args)
        context = Instance(None, "torch.autograd.function.FunctionCtx", {"needs_input_grad": wanted})
        result = self.invoke(forward, [*self.before_arguments(cls, forward, context), *args], kwargs)
        set_up = self._class_attribute(cls, "setup_context", None)
        if isinstance(set_up, Function):
            self.invoke(set_up, [context, tuple(args), result], {})
        return context, result

    def before_arguments(self, cls: Class, method: Function, context: Any) -> list[Any]:
        """What a pass of an autograd function is given before its arguments: the context, unless a method of its own sets that up
        after the forward pass; the class, where it is a class method."""
        apart = method.name == "forward" and isinstance(self._class_attribute(cls, "setup_context", None), Function)
        kinds = {dotted_name(d.decorator) for d in getattr(method.node, "decorators", ())}
        return [*([cls] if "classmethod" in kinds else []), *([] if apart else [context])]

    def _gradients(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """``torch.autograd.grad`` of what one autograd function returned: its backward pass."""
        outputs, inputs, given = (
            args[i] if len(args) > i else kwargs.get(name)
            for i, name in enumerate(("outputs", "inputs", "grad_outputs"))
        )
        outputs, inputs, given = (v if isinstance(v, (tuple, list)) else (v,) for v in (outputs, inputs, given))
        for cls, context, arguments, result in reversed(self.passes):
            made = result if isinstance(result, tuple) else (result,)
            backward = self._class_attribute(cls, "backward", None)
            alike = [
                isinstance(a, Tensor) and isinstance(b, Tensor) and a.storage == b.storage
                for a, b in zip(made, outputs)
            ]
            known = all(alike) and all(isinstance(one, Tensor) for one in given) and isinstance(backward, Function)
            if len({len(made), len(outputs), len(given)}) != 1 or not known:
                continue
            assert isinstance(backward, Function)
            found = self.invoke(backward, [*self.before_arguments(cls, backward, context), *given], {})
            found = found if isinstance(found, tuple) else (found,)
            places = {a.storage.id: i for i, a in enumerate(arguments) if isinstance(a, Tensor)}
            at = [places.get(one.storage.id) if isinstance(one, Tensor) else None for one in inputs]
            if len(found) == len(arguments) and None not in at:
                saved = {id(tensor) for tensor in context.attrs.get("saved_tensors", ())}
                self.kept = [
                    tensor for tensor in self.kept if id(tensor) not in saved
                ]  # nobody waits for them any more
                return tuple(found[i] for i in at if i is not None)
        return Unknown("torch.autograd.grad")

    def _bound(self, function: Function, instance: Instance) -> Any:
        kinds = {dotted_name(d.decorator) for d in getattr(function.node, "decorators", ())}
        if "staticmethod" in kinds:
            return function
        if "property" in kinds or "cached_property" in kinds or "functools.cached_property" in kinds:
            return self.invoke(function, [instance], {})
        owner: Any = instance.cls if "classmethod" in kinds else instance
        return Builtin(function.name, lambda a, k, n: self.invoke(function, [owner, *a], k))

    def _super_attribute(self, value: Builtin, name: str) -> Any:
        return Builtin(name, value.call) if name == "__init__" else Unknown(name)

    def _external_attribute(self, value: Namespace, name: str) -> Any:
        path = f"{value.path}.{name}"
        if value.path == "torch" or value.path.endswith("triton.language"):
            found = dt.find(name)
            if found is not None and name not in ("int", "float", "long", "half", "double", "short", "bool"):
                return found
            if found is not None and value.path == "torch":
                return found
        if path in _CONSTANTS:
            return _CONSTANTS[path]
        if path == "triton.__version__":
            return f"{self.release.release}.0"
        self._demand(path)
        if path.startswith(("torch.backends", "torch.version")):
            return Unknown(path)
        return Namespace(path)

    @property
    def release(self) -> Target:
        """The Triton release that the program runs on: the one asked about, else the newest."""
        return self.target or Target(named=False)

    def _demand(self, path: str) -> None:
        """Raise, where a ``try`` is there to catch it, for what the Triton release does not have."""
        head, _, name = path.rpartition(".")
        if self.guarded and self._has(Namespace(head), name) is False:
            raise Raised

    def _has(self, owner: Any, name: Any) -> bool | None:
        """Whether a module of Triton has ``name`` in the release that the program runs on; None where it is not known."""
        if not isinstance(owner, Namespace) or not isinstance(name, str) or owner.path.split(".")[0] != "triton":
            return None
        path = f"{owner.path}.{name}"
        return True if self.release.has_module(path) else self.release.has(path)

    def subscript(self, value: Any, index: Any, node: cst.CSTNode) -> Any:
        if isinstance(value, Tuner):
            text = f"triton.{value.name}(...) gives a decorator; the kernel is an argument of its result: triton.{value.name}(...)(kernel)"
            self.refuse("tuner-subscript", node, text)
            return GridLauncher(value.kernel, index)
        if isinstance(value, Jit):
            return GridLauncher(value, index)
        if isinstance(value, ReadValue):
            return value  # one of those that tolist() gave
        if self.detailed and isinstance(value, LongList) and index != -1:
            return Unknown("a part of a list that a loop filled")
        if isinstance(value, Tensor):
            return torch_ops.index(self, value, index, node)
        if isinstance(value, ShapeOf):
            if isinstance(index, int):
                return self.symbol_for(
                    value.tensor, f"{value.what}[{index}]" if value.what == "shape" else f"stride({index})"
                )
            return self._part_of_shape(value, index)
        if isinstance(value, Instance) and "_items" in value.attrs:
            value = value.attrs["_items"]
        if isinstance(value, Instance) and value.kind == "device properties":
            return value.attrs.get(index, Unknown("device property"))  # the driver's are a dictionary
        if isinstance(value, Namespace):
            return Unknown(f"{value.path}[...]")
        return super().subscript(value, index, node)

    def _part_of_shape(self, shape: ShapeOf, index: Any) -> Any:
        """The first or the last few extents (``x.shape[-2:]``) of a tensor of unknown rank."""
        if isinstance(index, slice) and index.step is None and shape.what == "shape":
            first, last = index.start, index.stop
            if isinstance(first, int) and -checks.MOST_RANKS <= first < 0 and last is None:
                return tuple(self.symbol_for(shape.tensor, f"shape[{axis}]") for axis in range(first, 0))
            if first in (None, 0) and isinstance(last, int) and 0 < last <= checks.MOST_RANKS:
                return tuple(self.symbol_for(shape.tensor, f"shape[{axis}]") for axis in range(last))
        return Unknown("shape slice")

    def setitem(self, container: Any, index: Any, value: Any, node: cst.CSTNode) -> None:
        if isinstance(container, Tensor):
            target = torch_ops.index(self, container, index, node)
            if isinstance(target, Tensor):
                reads = (value,) if isinstance(value, Tensor) else ()
                if isinstance(value, Unknown):
                    self.unknown(f"line {self.span(node).line}: what `{self.code(node)}` is set to")
                with self.inside("setitem", [target, value], {}):
                    self.torch_op("setitem", "copy" if reads else "fill", reads, (target,), node)
            return
        self.changes()
        if self.rounds:
            self.unknown(f"line {self.span(node).line}: what all rounds of a loop set `{self.code(node)}` to")
        self.escape(value, local=isinstance(container, list))
        super().setitem(container, index, value, node)

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if isinstance(function, GridLauncher):
            return self.launch(function.kernel, function.grid, args, kwargs, node)
        if isinstance(function, Function):
            problem = _misfit(function, args, kwargs, node)
            if problem:
                self.refuse("misfit-call", node, f"`{function.name}` {problem}")
                return Unknown("call that raises")
            return self.invoke(function, args, kwargs)
        if isinstance(function, Class):
            return self.construct(function, args, kwargs)
        if isinstance(function, Instance):
            return self._call_instance(function, args, kwargs, node)
        if isinstance(function, Namespace):
            return self._call_external(function.path, args, kwargs, node)
        if isinstance(function, Dtype):
            return Unknown("scalar type")
        if isinstance(function, Jit):
            return Unknown("kernel called without a grid")
        if isinstance(function, Unknown):
            tensors = torch_ops._tensors([*args, *kwargs.values()])
            if tensors:
                self.escape(tensors)
                self.unknown(f"call of {self.code(node.func)}")
            return Unknown("call")
        return super().call(function, args, kwargs, node)

    def construct(self, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """An instance of ``cls`` with its ``__init__`` run; parameters it creates are not part of a call."""
        instance = Instance(cls)
        init = self._class_attribute(cls, "__init__", None)
        if isinstance(init, Function):
            with self.making():
                self.invoke(init, [instance, *args], kwargs)
        else:
            names = [n for n, v in cls.scope.vars.items() if not isinstance(v, (Function, Jit, Class))]
            for name, value in zip(names, args):
                instance.attrs[name] = value
            instance.attrs.update(kwargs)
        return instance

    def _call_instance(self, instance: Instance, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if instance.cls is not None:
            for name in ("forward", "__call__"):
                method = self._class_attribute(instance.cls, name, None)
                if isinstance(method, Function):
                    return self.invoke(method, [instance, *args], kwargs)
        return layers.call(self, instance, args, kwargs, node)

    def _call_external(self, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        head, _, name = path.rpartition(".")
        if head == "builtins":
            return self._builtin(name, args, kwargs, node)
        if head == "math":
            return _math(name, args)
        if releases.parses_versions(path):
            return releases.parse(args[0]) if args and isinstance(args[0], str) else Unknown("version")
        found = self._triton_tool(path, args, kwargs, node)
        if found is _ELSEWHERE:
            found = self._library_tool(path, args, kwargs)
        if found is not _ELSEWHERE:
            return found
        if path.startswith("torch"):
            return self._call_torch(path, args, kwargs, node)
        tensors = torch_ops._tensors([*args, *kwargs.values()])
        if tensors:
            self.escape(tensors)
            self.unknown(f"call of {path}")
        return Unknown(path)

    def _triton_tool(self, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        """What Triton gives to hosts, and others under the same names; ``_ELSEWHERE`` for anything else."""
        head, _, name = path.rpartition(".")
        ours = head.startswith("triton")
        if name == "cdiv":
            if len(args) == 2 and all(isinstance(a, (int, Expr)) for a in args):
                return bounded(ex.ceildiv(*args)) if args[1] != 0 else Unknown("division by zero")
            self._integers(args)
            return Unknown("cdiv")
        if name == "next_power_of_2":
            value = args[0] if args else None
            if isinstance(value, int):
                return 1 << max(0, value - 1).bit_length()
            self._integers(args)
            return ex.opaque("pow2", value) if isinstance(value, Expr) else Unknown(name)
        if ours and name == "Config":
            meta = args[0] if args else kwargs.get("kwargs", {})
            return Config(
                meta if isinstance(meta, dict) else {},
                kwargs.get("num_warps", args[1] if len(args) > 1 else 4),
                kwargs.get("num_stages", args[2] if len(args) > 2 else 3),
                kwargs.get("pre_hook") is not None,
            )
        if ours and name in ("jit", "autotune", "heuristics"):
            return self._decorator(name, args, kwargs, node)
        if path.startswith("triton.language") and name == "constexpr":
            return args[0] if args else None
        if "TensorDescriptor" in path and name in ("TensorDescriptor", "from_tensor"):
            return self._descriptor(name, args, kwargs)
        return _ELSEWHERE

    def _library_tool(self, path: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What the standard library and the driver tell a program; ``_ELSEWHERE`` for anything else."""
        name = path.rpartition(".")[2]
        if path in ("os.environ.get", "os.getenv"):
            return args[1] if len(args) > 1 else kwargs.get("default")
        if name == "get_device_properties":
            return Instance(None, "device properties", self._device_properties())
        if name == "get_device_capability":
            return self.facts.capability
        if name == "get_current_target":
            return Instance(None, "target", self._target())
        if path.startswith(("functools.lru_cache", "functools.cache", "functools.wraps", "contextlib.")):
            return args[0] if len(args) == 1 and isinstance(args[0], Function) else Unknown(path)
        if path == "functools.partial" and args:
            function, given, named = args[0], args[1:], dict(kwargs)
            return Builtin("partial", lambda a, k, n: self.call(function, [*given, *a], {**named, **k}, n))  # type: ignore[arg-type]
        if path in ("copy.deepcopy", "copy.copy"):
            return args[0] if args else None
        if path == "itertools.product":
            return _product([self.iterate(a) for a in args])
        return _ELSEWHERE

    def _call_torch(self, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        name = path.rpartition(".")[2]
        if path.startswith("torch.nn.init"):
            return args[0] if args else None
        if path.startswith("torch.nn.") and not path.startswith("torch.nn.functional"):
            return layers.construct(self, path, args, kwargs, node)
        if path == "torch.Size":
            return tuple(args[0]) if args and isinstance(args[0], (tuple, list)) else Unknown("size")
        tool = path.startswith(("torch.cuda.", "torch.autograd", "torch.compile", "torch.jit", "torch.library"))
        if tool and name != "synchronize":
            return self._gradients(args, kwargs) if path == "torch.autograd.grad" else self._torch_tool(path, args)
        if not tool and name == "synchronize" and path.startswith(_OTHER_DEVICES):
            return None  # such code never runs on the device in question
        return torch_ops.function(self, name, args, kwargs, node)

    def _torch_tool(self, path: str, args: list[Any]) -> Any:
        if path in _OF_THE_GPU:
            return _OF_THE_GPU[path]
        if path in ("torch.compile", "torch.jit.script") and args and isinstance(args[0], (Function, Instance)):
            return args[0]
        return Unknown(path)

    def _device_properties(self) -> dict[str, Any]:
        return {
            "multi_processor_count": self.facts.sm_count,
            "multiprocessor_count": self.facts.sm_count,
            "major": self.facts.capability[0],
            "minor": self.facts.capability[1],
            "warp_size": 32,
            "warpSize": 32,
            "sm_count": self.facts.sm_count,
            "max_shared_mem": self.facts.shared_block,
            "shared_memory_per_block_optin": self.facts.shared_block,
            "shared_memory_per_multiprocessor": self.facts.shared_sm,
        }

    def _target(self) -> dict[str, Any]:
        """What ``triton.runtime.driver.active.get_current_target()`` says."""
        major, minor = self.facts.capability
        known = self.facts.backend == "cuda"
        arch: Any = major * 10 + minor if known else Unknown("arch")
        return {"backend": self.facts.backend, "arch": arch, "warp_size": 32 if known else 64}

    def _descriptor(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        base = args[0] if args else kwargs.get("base")
        if not isinstance(base, Tensor):
            return Unknown("descriptor")
        shape: Any
        strides: Any
        if name == "from_tensor":
            shape, strides = base.shape or (), base.strides or ()
            block = args[1] if len(args) > 1 else kwargs.get("block_shape")
        else:
            shape, strides, block = (
                kwargs.get(n, args[i] if len(args) > i else None)
                for i, n in ((1, "shape"), (2, "strides"), (3, "block_shape"))
            )
        if not isinstance(block, (tuple, list)) or not is_concrete(block):
            return Unknown("descriptor")
        # The shape of a tensor of unknown rank has no extents that could be told.
        shape, strides = (tuple(self.iterate(v) or ()) if v is not None else () for v in (shape, strides))
        return HostDescriptor(base, shape, strides, tuple(block))

    def _builtin(self, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if name in ("int", "float", "round", "abs", "max", "min") and any(isinstance(a, ReadValue) for a in args):
            return computed_from_read(name, args)
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, args, kwargs, node)
        if name in ("isinstance", "hasattr", "issubclass", "callable"):
            return self._type_test(name, args)
        if name in ("int", "float", "bool") and args and isinstance(args[0], Tensor):
            if self.perhaps_number(args[0]):
                return Unknown(name)
            return torch_ops.function(self, "item", args, {}, node)
        if name in ("int", "abs", "round") and args and isinstance(args[0], Expr):
            return args[0]
        if name in _SEQUENCES:
            return self._sequence(name, args, kwargs, node)
        if name == "pow" and len(args) == 2:
            return self.binary("**", operator.pow, args[0], args[1], node)
        if name in _PURE and is_concrete(args):
            return _pure(_PURE[name], args)
        if name in ("staticmethod", "classmethod", "property", "iter"):
            return args[0] if args else None
        return Unknown(name)

    def perhaps_number(self, x: Tensor) -> bool:
        """Whether ``x`` is an argument that only the lack of anything known makes a tensor: ``int(n)`` may as well get a
        number."""
        x = self.current(x)
        made = x.storage.id in self.perhaps or x.storage.origin == "input"
        return made and x.dtype is None and x.shape is None

    def _type_test(self, name: str, args: list[Any]) -> Any:
        if name == "isinstance" and len(args) == 2:
            value, kinds = args[0], args[1] if isinstance(args[1], tuple) else (args[1],)
            names = {k.path.rsplit(".", 1)[-1] if isinstance(k, Namespace) else getattr(k, "name", "") for k in kinds}
            if isinstance(value, Tensor):
                return bool(names & {"Tensor", "Parameter"})
            if isinstance(value, (bool, int, float, str, tuple, list, dict)):
                return type(value).__name__ in names or (isinstance(value, int) and "int" in names)
            if isinstance(value, Instance) and value.cls is not None:
                return any(c.name in names for c in _lineage(value.cls))
        if name == "hasattr" and len(args) == 2 and isinstance(args[0], Namespace):
            has = self._has(*args)
            return Unknown(name) if has is None else has
        if name == "hasattr" and len(args) == 2 and isinstance(args[0], Instance) and isinstance(args[1], str):
            owner, attribute = args
            if attribute in owner.attrs:
                return True
            if owner.cls is not None:
                # Layers get no attributes behind the back of the source; what a library class has is not known.
                return any(attribute in c.scope.vars for c in _lineage(owner.cls))
        return Unknown(name)

    def _sequence(self, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if not args:
            return () if name == "tuple" else []
        if name == "tuple" and isinstance(args[0], ShapeOf):
            return args[0]
        if name in ("map", "filter"):
            items = self.iterate(args[1]) if len(args) > 1 else None
            if items is None:
                return Unknown(name)
            if name == "map":
                return [self.call(args[0], [item], {}, node) for item in items]
            return [item for item in items if self.truth(self.call(args[0], [item], {}, node)) is not False]
        lists = [self.iterate(a) for a in (args if name == "zip" else args[:1])]
        if any(items is None for items in lists):
            return Unknown(name)
        items = lists[0] or []
        self.spend(sum(len(each or ()) for each in lists) // 64)
        if name == "zip":
            return list(zip(*(x or [] for x in lists)))
        if name == "enumerate":
            start = args[1] if len(args) > 1 else kwargs.get("start", 0)
            return [(i + start if isinstance(start, int) else i, item) for i, item in enumerate(items)]
        if name == "tuple":
            return tuple(items)
        if name == "reversed":
            return items[::-1]
        if name in ("all", "any"):
            truths = [self.truth(item) for item in items]
            decided = (False in truths) if name == "all" else (True in truths)
            return (name == "any") if decided else Unknown(name) if None in truths else (name == "all")
        if name == "sum":
            total: Any = args[1] if len(args) > 1 else 0
            for item in items:
                total = self.binary("+", lambda a, b: a + b, total, item, node)
            return total
        if name == "sorted":
            one_type = len({type(item) for item in items}) <= 1
            return _pure(sorted, [items]) if is_concrete(items) and not kwargs and one_type else items
        if name == "set":
            return list(_pure(dict.fromkeys, [items])) if is_concrete(items) else items
        return list(items)

    # -- statements -------------------------------------------------------------------------------------------------

    def run(self, body: Sequence[cst.CSTNode], scope: Scope) -> None:
        node = self.calls[-1].node if self.calls else None
        once = run_once(node, self.module) if isinstance(node, cst.FunctionDef) else frozenset[cst.CSTNode]()
        if not once:
            super().run(body, scope)
            return
        for statement in body:
            with self.once() if statement in once else nullcontext():
                self.execute(statement, scope)

    def exec_With(self, node: cst.With, scope: Scope) -> None:
        """What a CUDA graph captures once it does again whenever it is replayed."""
        saved, target = self.depth_once, self.target
        if any(self._captures(item.item, scope) for item in node.items):
            self.depth_once = 0
        if any(_expects_errors(item.item) for item in node.items):
            self.target = None  # what is refused there is meant to be
        try:
            super().exec_With(node, scope)
        finally:
            self.depth_once, self.target = saved, target

    def _captures(self, manager: cst.BaseExpression, scope: Scope) -> bool:
        if not isinstance(manager, cst.Call) or dotted_name(manager.func) is None:
            return False
        function = self.eval(manager.func, scope)
        return isinstance(function, Namespace) and function.path == "torch.cuda.graph"

    def invoke(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        node = function.node
        kept = function.memoised or (
            isinstance(node, cst.FunctionDef) and bool(node.decorators) and is_memoised(node, function.module.imports)
        )
        if kept:
            with self.once():
                return self._invoked(function, args, kwargs)
        return self._invoked(function, args, kwargs)

    def _invoked(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.journal is None or not isinstance(function.node, cst.FunctionDef):
            return super().invoke(function, args, kwargs)
        then = [*args], dict(kwargs)

        def again() -> Any:
            return super(HostEvaluator, self).invoke(function, [*then[0]], dict(then[1]))

        def given() -> tuple[Any, ...]:
            return id(function.closure), *then[0], then[1]

        with self._noted(function.node, function.node, again, given) as ended:
            return ended(super().invoke(function, args, kwargs))

    def assign(self, target: cst.BaseExpression, value: Any, scope: Scope) -> None:
        if type(target) is cst.Name and scope.parent is None:
            name = target.value
            if name in self.overrides:
                self.used_overrides.add(name)
                value = self.overrides[name]
            if isinstance(value, (int, float, bool)):
                self.constants[name] = int(value) if isinstance(value, Literal) else value
            elif type(value) in (tuple, list) and value and all(isinstance(one, int) for one in value):
                self.constants[name] = type(value)(map(int, value))
        if isinstance(value, ReadValue) and isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name):
            # One size among others that are not known: then so is the whole of them.
            whole = self.eval(target.value, scope)
            if isinstance(whole, Unknown):
                scope.assign(target.value.value, computed_from_read("sizes", (whole, value)))
        if type(target) is cst.Attribute and not isinstance(self.eval(target.value, scope), Instance):
            self.escape(value)
        super().assign(target, value, scope)

    def escape(self, value: Any, local: bool = False) -> None:
        """``value`` is given to something that is not followed, or that outlives the call."""
        if (
            self.sinks
            and not self.depth_once
            and not local
            and (isinstance(value, Unknown) or torch_ops._tensors([value]))
        ):
            self.escapes = True

    def setattr(self, owner: Instance, name: str, value: Any) -> None:
        self.changes()
        if self.sinks:
            self.save(torch_ops._tensors([value]))
            if owner.kind != "torch.autograd.function.FunctionCtx":  # which nobody has without the result
                self.escape(value)
                if self.rounds:
                    self.unknown(f"what all rounds of a loop set `{name}` to")
        super().setattr(owner, name, value)

    def save(self, tensors: Iterable[Tensor]) -> None:
        """``tensors`` outlive the call."""
        self.kept += tensors

    def _integers(self, values: Iterable[Any]) -> None:
        """``values`` are used as integers: arguments that were taken for tensors are none."""
        for value in values:
            if (
                isinstance(value, Tensor)
                and value.storage.origin == "input"
                and value.shape is None
                and not value.dtype
            ):
                self.integers.add((self.owner, value.name))

    def lacks_tensor(self, node: cst.CSTNode) -> NoReturn:
        """Raise, as torch does for a None that the call ``node`` takes for a tensor; where it is the default of an argument of
        the entry, the program is only ever called with one."""
        first = node.args[0].value if isinstance(node, cst.Call) and node.args else None
        if isinstance(first, cst.Name) and len(self.calls) == 1:
            self.needed.add((self.symbol, first.value))
        raise Raised

    def exec_Assert(self, node: cst.Assert, scope: Scope) -> None:
        """A check the program makes is a fact about its arguments."""
        if self.truth(self.eval(node.test, scope)) is False:
            self.contradict(node, f"`assert {self.code(node.test)}` fails")
        checks.holds(self, node.test, scope)

    def tested(self, value: Any, node: cst.BaseExpression) -> None:
        if isinstance(value, Tensor) and not self.perhaps_number(value):
            self.sync("the value of a tensor in a condition", node, value)

    def undecided(self, node: cst.If, test: Any, scope: Scope) -> None:
        if isinstance(test, ContiguityTest):
            # `if x.is_contiguous(): fast path` and its negation: take the path of a contiguous tensor.
            self.assume(f"{test.tensor.name} is contiguous")
            checks.make_contiguous(self, test.tensor)
            self.run(node.body.body, scope)
            return
        if _only_raises(node.body):
            if node.orelse is not None:
                self.execute(node.orelse, scope)
            checks.fails(self, node.test, scope)
            return
        allowed = _else_raises(node) if not self.doubts else ()
        checks.one_holds(self, allowed, scope)
        if len(allowed) == 1:
            self.run(node.body.body, scope)
            return
        first = not self.doubts and len(self.calls) == 1 and not any(map(_launches, self.sinks))
        before = dict(scope.vars)
        outcomes: list[tuple[dict[str, Any], list[Recorded], Return | Continue | Break | None]] = []
        narrowed: dict[str, Tensor] = {}
        for arm in (node.body, node.orelse):
            scope.vars = dict(before)
            known = checks.narrowed(self, node.test, scope, arm is node.body)
            narrowed |= known
            scope.vars |= known
            leaves: Return | Continue | Break | None = None
            with self.recording() as steps, self._doubting():
                try:
                    if isinstance(arm, cst.If):
                        self.exec_If(arm, scope)
                    elif arm is not None:
                        self.run(arm.body.body if isinstance(arm, cst.Else) else arm.body, scope)
                except (Return, Continue, Break) as way:
                    leaves = way.with_traceback(None)
                except Raised:
                    continue
            outcomes.append((scope.vars, steps, leaves))
        scope.vars = before
        if not outcomes:
            raise Raised
        # Follow the arm that launches more; of two alike, the one that falls through.
        weight = [_launches(steps) for _, steps, _ in outcomes]
        best = max(range(len(outcomes)), key=lambda i: (weight[i], outcomes[i][2] is None, i))
        vars, steps, leaves = outcomes[best]
        if len(outcomes) > 1 and (weight[0] or weight[1]):
            taken = "holds" if best == 0 else "does not hold"
            self.assume(f"line {self.span(node.test).line}: `{self.code(node.test)}` {taken}")
            checks.delimit(self, node.test, scope, best == 0)
        elif first and leaves is None and isinstance(outcomes[1 - best][2] if len(outcomes) > 1 else None, Return):
            # What returns before anything is launched is no call that launches.
            (checks.holds if best == 0 else checks.fails)(self, node.test, scope)
        for step in steps:
            self.record(step)
        left_out = [steps for index, (_, steps, _) in enumerate(outcomes) if index != best]
        self.untaken |= {storage for untaken in left_out for step in untaken for storage in _written(step)}
        if leaves is not None:
            try:
                raise leaves
            finally:
                del leaves, outcomes  # a frame that holds what it raises, and so itself, stays with all it knows
        others = [o for i, o in enumerate(outcomes) if i != best and o[2] is None]
        merged = dict(vars)
        if not weight[best]:
            for other, _, _ in others:
                for name, value in other.items():
                    merged[name] = self.merge(merged[name], value, test, node) if name in merged else value
                for name in narrowed:
                    if getattr(other.get(name), "dtype", None) != getattr(vars.get(name), "dtype", None):
                        merged[name] = before[name]  # its type is known on one way alone
        scope.vars = merged

    @contextmanager
    def _doubting(self) -> Iterator[None]:
        """What happens inside may not happen."""
        self.doubts += 1
        try:
            yield
        finally:
            self.doubts -= 1

    def loop(self, node: cst.For, iterable: Any, scope: Scope) -> None:
        items = self.iterate(iterable)
        span = iterable if isinstance(iterable, Range) else None
        short = self.detailed and items is not None and len(items) <= SHORT_LOOP
        alike = span is not None or (items and _views_in_turn(items))
        given = span or items
        if self.detailed and not short and given and self._followed_at_once(node, node.target, given, scope):
            return
        if not short and alike and self._looped(node, node.target, items, span, scope):
            return
        if items is None:
            self._repeat(node, node.target, None, Unknown("loop item"), Unknown("loop item"), scope)
            return
        before = self._recorded()
        for number, item in enumerate(items):
            if self._recorded() - before > _UNROLLED and self._rest(node, items[number:], scope):
                return
            if not self._iteration(node, node.target, item, scope):
                return

    def _recorded(self) -> int:
        """How many steps the innermost recording has; none where nothing is recorded."""
        return len(self.sinks[-1]) if self.sinks else 0

    def _rest(self, node: cst.For, items: list[Any], scope: Scope) -> bool:
        """The last ``items`` of a list as one Repeat, if the first of them makes device work: a list that long holds the
        candidates of a search. False where it makes none, which changes nothing."""
        put_back = _putting_back(scope)
        with self.recording() as body:
            self._iteration(node, node.target, items[0], scope)
        if not _works(body):
            put_back()
            return False
        self.record(_loop(len(items), body, self.span(node), self.symbol))
        return True

    def _looped(
        self,
        node: cst.For | cst.While,
        target: cst.BaseExpression,
        items: list[Any] | None,
        span: Range | None,
        scope: Scope,
    ) -> bool:
        """A loop over a range, or over views of a tensor in turn, with device work in its body becomes one Repeat; False when
        there is none, to be unrolled."""
        if not self.sinks or (items is not None and len(items) <= UNROLL_LAUNCHES):
            return False
        before, budget, initial, put_back = dict(scope.vars), self.budget, _lengths(scope), _putting_back(scope)
        if items is not None:
            with self.recording() as steps:
                self._iteration(node, target, items[0], scope)
            if not _works(steps):
                put_back()
                if len(items) <= MAX_UNROLL:
                    self.budget = max(self.budget, budget - 1000)
                    return False
        if items:
            middle = len(items) // 2
            self._repeat(
                node, target, len(items), items[max(0, middle - 1)], items[middle], scope, initial, before, steps
            )
        elif span is not None:
            first = ex.simplify(ex.lift(span.start))
            self._repeat(node, target, span.trip, first, ex.simplify(ex.lift(first) + span.step), scope)
        return True

    def _followed_at_once(
        self, node: cst.For | cst.While, target: cst.BaseExpression, iterable: Range | list[Any], scope: Scope
    ) -> bool:
        """A loop whose items follow one law, as a round at a place that is a symbol and the one after it; False where there is no
        such law, or where the rounds make no device work."""
        self.loops_at_once += 1
        rounds = rounds_of(iterable, f"round_{self.loops_at_once}")
        if rounds is None or not self.sinks:
            return False
        entry, lengths, put_back = dict(scope.vars), _lengths(scope), _putting_back(scope)
        grown: dict[str, int] = {}
        found: list[list[Recorded]] = []
        whole = True
        for _ in range(2):
            grown = _lengths(scope)
            self.rounds += 1
            try:
                with self.recording() as steps:
                    whole = self._iteration(node, target, rounds.item, scope) and whole
            finally:
                self.rounds -= 1
            if not _works(steps):
                put_back()
                return False
            found.append(steps)
        self._lengthen(scope, grown, rounds.count, lengths)
        _forget(scope, entry)
        if not whole:
            self.unknown(f"when the loop at line {self.span(node).line} ends")
        made = _loop(rounds.count, found[1], self.span(node), self.symbol, found[0])
        self.record(replace(made, round=rounds.place, backwards=rounds.backwards))
        return True

    def _repeat(
        self,
        node: cst.For | cst.While,
        target: cst.BaseExpression,
        count: Size | None,
        before: Any,
        item: Any,
        scope: Scope,
        initial: dict[str, int] | None = None,
        start: Mapping[str, Any] | None = None,
        entered: Sequence[Recorded] = (),
    ) -> None:
        """Record the iteration for ``item``, after one for ``before`` that settles loop-carried variables. ``entered`` are the
        steps of a first iteration that was followed before that, from the variables ``start``."""
        entry = dict(scope.vars)
        lengths = _lengths(scope) if initial is None else initial
        with self.recording() as earlier:
            try:
                whole = self._iteration(node, target, before, scope)
            except (Raised, Return):
                return
        second = dict(scope.vars)
        grown = _lengths(scope)
        with self.recording() as body:
            whole = self._iteration(node, target, item, scope) and whole
        self._lengthen(scope, grown, count, lengths)
        _forward(scope, entry if start is None else start, entry, second, count if whole else None)
        if body:
            if count is None:
                self.unknown(f"trip count of the loop at line {self.span(node).line}")
            self.record(_loop(count, body, self.span(node), self.symbol, earlier, entered))

    def _iteration(self, node: cst.For | cst.While, target: cst.BaseExpression, item: Any, scope: Scope) -> bool:
        self.assign(target, item, scope)
        try:
            self.run(node.body.body, scope)
        except Continue:
            pass
        except Break:
            return False
        return True

    def _counted(self, node: cst.While, scope: Scope) -> bool:
        """A ``while`` that counts, as the ``for`` over a range that it is; False where it is none or makes no device work."""
        found = counter(node)
        if found is None or not self.sinks:
            return False
        start, bound, step = (self.eval(part, scope) for part in (found.name, found.bound, found.step))
        if (
            not all(isinstance(value, int) and not isinstance(value, bool) for value in (start, bound, step))
            or step <= 0
        ):
            return False
        step = step if found.up else -step
        span = Range("range", start, bound + (step // abs(step) if found.inclusive else 0), step)
        at_once = self.detailed and self._followed_at_once(node, found.name, span, scope)
        if not at_once and not self._looped(node, found.name, self.iterate(span), span, scope):
            return False
        self.assign(found.name, start + (span.trip or 0) * step, scope)
        return True

    def exec_While(self, node: cst.While, scope: Scope) -> None:
        if self._counted(node, scope):
            return
        endless = isinstance(node.test, cst.Integer) or (isinstance(node.test, cst.Name) and node.test.value == "True")
        before = self._recorded()
        for number in range(MAX_UNROLL):
            test = self.eval(node.test, scope)
            truth = self.truth(test)
            if truth is False:
                return
            if endless and (number == _UNROLLED or self._recorded() - before > _UNROLLED):
                truth = None  # what ends it depends on what is not known
            if truth is None:
                entry = dict(scope.vars)
                with self.recording() as body, suppress(Break, Continue):
                    self.run(node.body.body, scope)
                _forget(scope, entry)
                if body:
                    self.unknown(f"trip count of the loop at line {self.span(node).line}")
                    self.record(_loop(None, body, self.span(node), self.symbol))
                return
            try:
                self.run(node.body.body, scope)
            except Continue:
                continue
            except Break:
                return

    # -- imports, decorators ----------------------------------------------------------------------------------------

    def exec_Import(self, node: cst.Import, scope: Scope) -> None:
        for alias in node.names:
            path = dotted_name(alias.name) or ""
            self._demand(path)
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                scope.assign(alias.asname.name.value, Namespace(_canonical(path)))
            else:
                root = path.split(".")[0]
                scope.assign(root, Namespace(root))

    def exec_ImportFrom(self, node: cst.ImportFrom, scope: Scope) -> None:
        if isinstance(node.names, cst.ImportStar):
            return
        package = (dotted_name(node.module) or "") if node.module else ""
        level = len(node.relative)
        find = None
        if (
            self.finder is not None
            and not package.startswith(("torch.", "triton."))
            and package not in ("torch", "triton")
        ):
            find = self.finder(self.module, package, level)
        for alias in node.names:
            name = dotted_name(alias.name) or ""
            bound = (
                alias.asname.name.value
                if alias.asname is not None and isinstance(alias.asname.name, cst.Name)
                else name
            )
            if find is None:
                scope.assign(bound, self._not_found(package, name))
                continue
            value = Deferred(partial(self._imported, find, package, name))
            scope.assign(bound, value)
            if scope.parent is not None:
                scope.lookup(bound)  # a function's own import, at its place in the order of things

    def _imported(self, find: Callable[[str], Any], package: str, name: str) -> Any:
        try:
            return find(name)
        except KeyError:
            return self._not_found(package, name)

    def _not_found(self, package: str, name: str) -> Any:
        """What ``name`` of a package outside the tree stands for."""
        if name in ("tl", "triton") and not package.startswith("triton"):
            # A package's own re-export, such as `from vllm.triton_utils import tl, triton`.
            return Namespace("triton.language" if name == "tl" else "triton")
        return self._external_attribute(Namespace(_canonical(package)), name)

    @contextmanager
    def elsewhere(self, put_off: Callable[[Module, cst.BaseExpression, Scope], Deferred]) -> Iterator[None]:
        """Module-level code of another file than that of the question: what the user set and what is edited or traced is
        not about it, and no call of the question's pays for it."""
        names = ("overrides", "constants", "edits", "new_literals", "new_options", "calls", "seen", "put_off")
        saved = {name: getattr(self, name) for name in names}
        self.put_off = put_off
        self.overrides, self.constants, self.edits = {}, {}, NO_EDITS
        self.new_literals, self.new_options, self.calls, self.seen = {}, {}, [], None
        try:
            with self.silent():
                yield
        finally:
            for name, value in saved.items():
                setattr(self, name, value)

    def run_class(self, node: cst.ClassDef, scope: Scope) -> None:
        """Of a class elsewhere, what calls make can wait, as its module can: some have hundreds of settings."""
        if self.put_off is None:
            super().run_class(node, scope)
            return
        for statement in node.body.body:
            made = _made_by_call(statement)
            if made is None:
                self.execute(statement, scope)
            else:
                name, call = made
                scope.assign(name, self.put_off(self.module, call, scope))

    def decorate(self, value: Any, decorator: Any, node: cst.CSTNode) -> Any:
        if isinstance(decorator, Builtin):
            result = decorator.call([value], {}, node)
            return result if isinstance(result, (Jit, Function)) else value
        if isinstance(decorator, Function) and isinstance(value, Function):
            keeps = isinstance(decorator.node, cst.FunctionDef) and memoises(decorator.node)
            return replace(value, memoised=True) if keeps else value
        if isinstance(decorator, Namespace) and isinstance(value, (Function, Jit)):
            name = decorator.path.rsplit(".", 1)[-1]
            if name == "jit" and decorator.path.startswith("triton"):
                return Jit(value) if isinstance(value, Function) else value
        return value

    def _decorator(self, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        """``triton.jit(fn)``, ``triton.autotune(configs=..., key=...)``, ``triton.heuristics({...})``."""
        if name == "jit":

            def made(a: list[Any], k: dict[str, Any], n: cst.CSTNode) -> Any:
                function = a[0] if a else None
                if not isinstance(function, Function):
                    return Unknown("jit")
                return Jit(function, unspecialised=_unspecialised(function, kwargs))

            return made(args, {}, node) if args else Builtin("jit", made)

        def wrap(a: list[Any], k: dict[str, Any], n: cst.CSTNode) -> Any:
            jit = a[0] if a else None
            if not isinstance(jit, Jit):
                return Unknown(name)
            if name == "heuristics":
                values = args[0] if args else kwargs.get("values")
                if not isinstance(values, dict):
                    return replace(jit, open_ended=True)
                return replace(jit, heuristics={**values, **jit.heuristics})
            configs = self.iterate(kwargs.get("configs", args[0] if args else [])) or []
            key = self.iterate(kwargs.get("key", args[1] if len(args) > 1 else [])) or []
            found = tuple(c for c in configs if isinstance(c, Config))
            if len(found) < len(configs) or not found:
                self.unknowns.append(f"autotune configurations of {jit.function.name}")
            names = tuple(x for x in key if isinstance(x, str))
            # What is spread into the call may be either.
            spread = isinstance(node, cst.Call) and any(argument.star == "**" for argument in node.args)
            tuning = Tuning(
                names,
                len(found) if len(found) == len(configs) and found else None,
                _swept(found),
                bool(kwargs.get("prune_configs_by", spread)),
                bool(kwargs.get("cache_results", spread)),
                self.span(n),
                _repeating(found),
                **self._safeguards(found, kwargs),
            )
            return replace(jit, configs=found[:MAX_CONFIGS], key=names, autotuned=True, tuning=tuning)

        misused = next((a for a in (*args, *kwargs.values()) if isinstance(a, Jit)), None)
        return Builtin(name, wrap) if misused is None else Tuner(name, wrap, wrap([misused], {}, node))

    def _safeguards(self, configs: tuple[Config, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """What keeps the measurements of an autotuner from changing results, and what its configurations set."""

        def names(value: Any) -> frozenset[str] | None:
            items = self.iterate(value)
            return frozenset(items) if items is not None and all(isinstance(x, str) for x in items) else None

        restored, zeroed = (
            names(kwargs[n]) if kwargs.get(n) is not None else frozenset[str]()
            for n in ("restore_value", "reset_to_zero")
        )
        hooked = any(kwargs.get(n) is not None for n in ("pre_hook", "post_hook")) or any(c.hooked for c in configs)
        return {
            "parameters": frozenset[str]().union(*(c.kwargs for c in configs)),
            "restored": restored or frozenset(),
            "zeroed": zeroed or frozenset(),
            "hooked": hooked or restored is None or zeroed is None,
        }

    # -- launches ---------------------------------------------------------------------------------------------------

    def launch(self, kernel: Jit, grid: Any, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        """``kernel[grid](*args, **kwargs)``: one Launch, with the further autotune configurations beside it."""
        if not self.sinks:
            return Unknown("launch outside a call")
        configs = self._configurations(kernel) or (Config({}, None, None),)
        launches = [self._launch_one(kernel, config, grid, list(args), dict(kwargs), node) for config in configs]
        first = launches[0]
        if len(launches) > 1:
            first = replace(first, alternatives=tuple(launches[1:]))
        self.record(first)
        if self.journal is not None:
            self.journal.launched(first)
        self._forget_numbers(node)
        return Unknown("launch result")

    def _configurations(self, kernel: Jit) -> tuple[Config, ...]:
        """The configurations of the tuner, the one that is asked about first."""
        place = self.configuration % max(1, len(kernel.configs))
        return (*kernel.configs[place:], *kernel.configs[:place])

    def _warm_up(self, kernel: Jit, grid: Any, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        """``kernel.warmup(...)`` compiles for these arguments and launches nothing."""
        with self.once():
            self.launch(kernel, grid, args, kwargs, node)
        return Unknown("compiled kernel")

    def _launch_one(
        self, jit: Jit, config: Config, grid: Any, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode
    ) -> Launch:
        """The launch of ``jit`` under one configuration of its autotuner."""
        function = jit.function
        assert isinstance(function.node, cst.FunctionDef)
        args = spread(args, [p.name.value for p in parameters(function.node)], kwargs)
        passed = self._passed(jit, config, args, kwargs, node)
        values, options, presumed = passed.values, passed.options, passed.presumed
        bound = self._by_parameter(function, values)
        arguments, constexprs = bound.arguments, bound.constexprs
        for name, value in (*arguments.items(), *bound.opened.items()):
            self.name_size(name, value)
        span = self.span(node)
        for name, value in self.new_options.get(span, {}).items():
            if name in constexprs:
                constexprs[name] = values[name] = value
            else:
                options[name] = value
        literals = {n: (v.span,) for n, v in {**constexprs, **options}.items() if isinstance(v, Literal)}
        constexprs = {n: int(v) if isinstance(v, Literal) else v for n, v in constexprs.items()}
        warps = options.get("num_warps", config.num_warps)
        stages = options.get("num_stages", config.num_stages)
        self._integers(values[name] for name in constexprs if name in values)
        grid_function = grid
        computed = isinstance(grid, (Function, Builtin))
        meta = _Meta({**values, **options})
        if computed:
            grid = self.call(grid, [meta], {}, node)  # type: ignore[arg-type]
        extents = self._grid(grid, node)
        draft = not self.reads_kernels or self.is_draft()
        kernel = _unread(function) if draft else self._kernel(jit, arguments, constexprs, extents, span)
        if kernel.complete:
            # What the kernel never points into is no tensor.
            pointers = {a.base for a, _ in kernel.walk(Access)}  # type: ignore[union-attr]
            self._integers(v for n, v in arguments.items() if n not in pointers)
        else:
            # What is only taken for a tensor may be a number: the uses that would tell may be among those not followed.
            tensors = {n for n, v in arguments.items() if isinstance(v, Tensor) and v.dtype is not None}
            sure = tuple(f for f in kernel.faults if f.kind != "seed-address" or f.name in tensors)
            kernel = kernel if sure == kernel.faults else replace(kernel, faults=sure)
        faults: tuple[Fault, ...] = ()
        told = {n: Unknown("presumed") if n in presumed else v for n, v in constexprs.items()}
        written = isinstance(node, cst.Call)
        if self.target is not None and not draft:
            refused = self._refused(jit, arguments, told, self.target, not written)
            if refused:
                kernel = replace(kernel, faults=(*kernel.faults, *refused))
            if isinstance(node, cst.Call):
                faults = launch_faults(jit, config, args, kwargs, node, self.target, span, self.symbol)
                bad_grid = grid_fault(grid, grid_function, span, self.symbol)
                faults = faults if bad_grid is None else (*faults, bad_grid)
        if self.kernel_calls is not None and not draft and (not jit.configs or config is self._configurations(jit)[0]):
            call = KernelCall(jit, arguments, _inside(arguments), constexprs, told, self.target, not written)
            self.kernel_calls[id(kernel)] = kernel, call
        plain = {k: v for k, v in arguments.items() if v is None or isinstance(v, (Tensor, int, float, Expr))}
        plain.update({k: v.tensor for k, v in arguments.items() if isinstance(v, HostDescriptor)})
        return Launch(
            kernel,
            extents,
            plain,
            constexprs,
            warps if isinstance(warps, int) and warps > 0 else 4,
            stages if isinstance(stages, int) and stages > 0 else 3,
            span,
            self.symbol,
            jit.autotuned,
            explicit=passed.explicit,
            literals=literals,
            numbers=self._numbers(grid_function),
            grid_follows=computed and (meta.read or not isinstance(grid_function, Function)),
            tuning=jit.tuning,
            open_constexprs=bound.opened,
            premises=bound.premises,
            unspecialised=jit.unspecialised,
            faults=faults,
            tried=self.tried > 0,
        )

    def _passed(
        self, jit: Jit, config: Config, args: list[Any], kwargs: Mapping[str, Any], node: cst.CSTNode
    ) -> _Passed:
        """What the call, ``config``, heuristics and defaults give, each over what is before it but for the defaults."""
        function = jit.function
        params = parameters(function.node)
        names = [p.name.value for p in params]
        values: dict[str, Any] = dict(zip(names, args))
        # The launcher takes warps and stages for itself even where the kernel has parameters of these names.
        own = {*_OPTIONS.difference(names), "num_warps", "num_stages"}
        options = {name: value for name, value in kwargs.items() if name in own}
        values.update({name: value for name, value in kwargs.items() if name in names})
        explicit = frozenset({*options, *values})
        values.update(config.kwargs)
        for name, chosen in (("num_warps", config.num_warps), ("num_stages", config.num_stages)):
            if name in names and (jit.configs or name in config.kwargs):
                values[name] = chosen  # a tuner passes its own option to a parameter of that name
        for name, rule in jit.heuristics.items():
            chosen = self.call(rule, [dict(values)], {}, node)  # type: ignore[arg-type]
            (values if name in names else options)[name] = chosen
        for param in params:
            if param.name.value not in values and param.default is not None:
                values[param.name.value] = self.default(param, function)
        presumed = frozenset(name for name, value in values.items() if isinstance(value, Presumed))
        values.update({name: bool(values[name]) for name in presumed})
        return _Passed(values, options, explicit, presumed)

    def _by_parameter(self, function: Function, values: Mapping[str, Any]) -> _Bound:
        """``values`` by parameter, as the kernel ``function`` gets them."""
        bound = _Bound({}, {}, {}, {})
        for param in parameters(function.node):
            name = param.name.value
            value = values.get(name, Unknown("missing argument"))
            if not _is_constexpr(param, function.module):
                bound.arguments[name] = self._argument(value)
                continue
            if isinstance(value, Expr) and value.value is None:
                bound.opened[name] = value
            if isinstance(value, Condition):
                bound.premises[name], value = value.zeros, True
            bound.constexprs[name] = self._constexpr(function.name, name, value)
        return bound

    def _refused(
        self, jit: Jit, arguments: Mapping[str, Any], constexprs: Mapping[str, Any], target: Target, bare: bool
    ) -> tuple[Fault, ...]:
        """What the front end refuses of a kernel with these arguments; remembered, as the kernel itself is."""
        key = (jit.function.node, bare, _signature(arguments), _signature(constexprs))
        if key not in self.refused:
            from kernlint.interpret.frontend import check_kernel  # most programs are read without a target

            self.refused[key] = check_kernel(jit, arguments, constexprs, target, bare)
        return self.refused[key]

    def bare_launch(self, kernel: Jit) -> Launch:
        """A launch of ``kernel`` that nobody wrote: arguments and grid are open, constexprs those of its defaults and its
        first autotune configuration, the rest unknown."""
        node = kernel.function.node
        grid = tuple(Expr.atom(Symbol(f"grid[{axis}]")) for axis in range(3))
        config = kernel.configs[0] if kernel.configs else Config({}, None, None)
        assert isinstance(node, cst.FunctionDef)
        self.modules.append(kernel.function.module)
        try:
            with self.silent():
                return self._launch_one(kernel, config, grid, [], {}, node.name)
        finally:
            self.modules.pop()

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.current(value)
        if isinstance(value, Builtin) and value.name == "data_ptr":
            return Unknown("address")
        return value

    def _constexpr(self, kernel: str, name: str, value: Any) -> Any:
        if isinstance(value, Expr):
            number = value.value
            if number is not None:
                return number
            self.unknown(f"constexpr {name} of {kernel} is {value}")
            return Unknown(str(value))
        return value

    def _numbers(self, grid: Any) -> dict[Span, int]:
        """The integer literals that the function at hand came by, and ``grid`` where that is one."""
        found = self.numbers.get(self.calls[-1].node, {}).copy() if self.calls else {}
        if isinstance(grid, Function):
            found.update(self.numbers.get(grid.node, {}))
        return found

    def _forget_numbers(self, node: cst.CSTNode) -> None:
        """Forget the integer literals that the expression ``node`` of one launch came by: they say nothing to another."""
        numbers = self.numbers.get(self.calls[-1].node) if self.calls else None
        whole = self.span(node)
        while numbers and whole.contains(next(reversed(numbers))):
            numbers.popitem()

    def _grid(self, grid: Any, node: cst.CSTNode) -> tuple[Size, ...]:
        """The extents of a grid that no function is left to compute."""
        if isinstance(grid, (int, Expr)) and not isinstance(grid, bool):
            grid = (grid,)
        if isinstance(grid, list):
            grid = tuple(grid)
        if not isinstance(grid, tuple) or not 1 <= len(grid) <= 3:
            self.unknown(f"launch grid at line {self.span(node).line}")
            return (self.open_extent(0),)
        self._integers(grid)
        extents: list[Size] = []
        for axis, extent in enumerate(grid):
            if isinstance(extent, (int, Expr)) and not isinstance(extent, bool):
                extents.append(extent)
            elif isinstance(extent, float) and extent.is_integer():
                extents.append(int(extent))
            else:
                self.unknown(f"extent {axis} of the launch grid at line {self.span(node).line}")
                extents.append(self.open_extent(axis))
        return tuple(extents)

    def open_extent(self, axis: int) -> Size:
        """An extent of a grid that was not followed; the user may give it."""
        symbol = Symbol(f"grid[{axis}]")
        self.asked.add(symbol.name)
        return self.resolved.get(symbol, Expr.atom(symbol))

    def _kernel(
        self, jit: Jit, arguments: Mapping[str, Any], constexprs: Mapping[str, Any], grid: tuple[Size, ...], span: Span
    ) -> Kernel:
        inside = _inside(arguments)
        if self.seen is not None and self.sinks and span not in self.seen_kernels:
            values = self.seen_kernels[span] = {}
            return read_kernel(jit, inside, constexprs, grid, self.edits, values)
        key = (
            jit.function.node,
            self.edits.native_dots,
            self.edits.precisions,
            _within_sight(self.edits.literals, jit.function.module),
            _signature(inside),
            _signature(constexprs),
        )
        # Few kernels care how many programs there are beyond one.
        coarse, exact = (key, tuple(map(_several, grid))), (key, tuple(map(str, grid)))
        kernel = self.kernels.get(coarse)
        if kernel is not None and kernel.counts_programs:
            kernel = self.kernels.get(exact)
        if kernel is None:
            kernel = read_kernel(jit, inside, constexprs, grid, self.edits)
            self.kernels[coarse] = self.kernels[exact] = kernel
        return kernel


@dataclass(frozen=True)
class Tuner(Builtin):
    """What ``triton.autotune(configs, kernel)`` gives, the kernel in place of the key: a decorator that nothing is decorated
    with."""

    kernel: Jit


class _Meta(dict[str, Any]):
    """What a grid function is given, and whether it has ``read`` any of it."""

    read = False

    def __getitem__(self, key: str) -> Any:
        self.read = True
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.read = True
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self.read = True
        return super().__iter__()

    def items(self) -> Any:
        self.read = True
        return super().items()

    def values(self) -> Any:
        self.read = True
        return super().values()


def _looked_up(node: cst.Call, module: Module, then: Scope, scope: Scope) -> tuple[Any, ...]:
    """The values that ``node`` finds in ``scope``, as they were ``then``, by name; with those that the functions among them
    find there."""
    found: dict[str, Any] = {}
    left: list[cst.CSTNode] = [node]
    while left:
        for name in module.within(left.pop(), cst.Name):
            if name.value in then.vars and name.value not in found:
                value = found[name.value] = then.vars[name.value]
                if isinstance(value, Function) and value.closure is scope:
                    left.append(value.node)
    return id(then.parent), found


def _several(extent: Size) -> str:
    """Whether an axis of a grid has no program, one or several, as far as it is known."""
    number = ex.concrete(extent)
    return "open" if number is None else "several" if number > 1 else str(number)


def _unread(function: Function) -> Kernel:
    """The kernel ``function`` before anybody has looked into it."""
    node, module = function.node, function.module
    assert isinstance(node, cst.FunctionDef)
    return Kernel(node.name.value, (), module.span(node), module.span(node.name), module.path, complete=False)


def _within_sight(edits: frozenset[tuple[Span, int]], module: Module) -> frozenset[tuple[Span, int]]:
    """The edits of literals that a kernel of ``module`` may see otherwise than by its arguments: not those in a function that
    launches kernels."""
    if not edits:
        return edits
    launching = module.once(_launching_functions)
    return frozenset(edit for edit in edits if not any(span.contains(edit[0]) for span in launching))


def _launching_functions(module: Module) -> list[Span]:
    """The functions with a ``kernel[grid](...)`` in them, which no kernel has; without those that define others (kernels,
    perhaps) or set globals (which kernels may read)."""
    return [
        module.span(function)
        for function in module.of(cst.FunctionDef)
        if any(isinstance(call.func, cst.Subscript) for call in module.within(function, cst.Call))
        and len(module.within(function, cst.FunctionDef)) == 1
        and not module.within(function, cst.Global)
    ]


class LongList(list[Any]):
    """A list that a loop filled: ``length`` elements, of which only some stand in it."""

    def __init__(self, values: list[Any], length: Size) -> None:
        super().__init__(values)
        self.length = length


@dataclass(frozen=True)
class ContiguityTest:
    """``x.is_contiguous()`` where the layout of ``x`` is not known."""

    tensor: Tensor


@dataclass(frozen=True)
class HostDescriptor:
    """``TensorDescriptor(base, shape, strides, block_shape)`` made on the host."""

    tensor: Tensor
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    block: tuple[int, ...]

    def inside(self, name: str) -> Descriptor:
        base = argument_block(name, self.tensor)
        assert isinstance(base, Block)
        return Descriptor(base, self.shape, self.strides, self.block)


def _inside(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a kernel sees of its arguments."""
    return {
        name: value.inside(name) if isinstance(value, HostDescriptor) else value for name, value in arguments.items()
    }


def _signature(values: Mapping[str, Any]) -> tuple[Any, ...]:
    def one(value: Any) -> Any:
        if isinstance(value, Tensor):
            return (str(value.dtype),)
        if isinstance(value, (Function, Jit)):
            return id(value)
        return (type(value).__name__, str(value))

    return tuple((name, one(value)) for name, value in values.items())


def _settings(config: Config) -> dict[str, str]:
    """The meta-parameters and options of a configuration, their values as text."""
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    return {name: str(value) for name, value in {**config.kwargs, **options}.items()}


def _swept(configs: tuple[Config, ...]) -> frozenset[str]:
    """The meta-parameters and options that take more than one value among ``configs``."""
    values: dict[str, set[str]] = {}
    for config in configs:
        for name, value in _settings(config).items():
            values.setdefault(name, set()).add(value)
    return frozenset(name for name, found in values.items() if len(found) > 1)


def _repeating(configs: tuple[Config, ...]) -> frozenset[str]:
    """The swept parameters without which some of ``configs`` are the same."""
    settings = [_settings(config) for config in configs]

    def kinds(without: str | None) -> int:
        return len({tuple(sorted((n, v) for n, v in one.items() if n != without)) for one in settings})

    every = kinds(None)
    return frozenset(name for name in _swept(configs) if kinds(name) < every)


def _unspecialised(function: Function, options: Mapping[str, Any]) -> frozenset[str]:
    """The parameters that the options of ``triton.jit`` exclude from specialisation, given by name or by position."""
    names = [p.name.value for p in parameters(function.node)]
    found = set()
    for option in ("do_not_specialize", "do_not_specialize_on_alignment"):
        listed = options.get(option)
        for item in listed if isinstance(listed, (list, tuple)) else ():
            if isinstance(item, str):
                found.add(item)
            elif isinstance(item, int) and 0 <= item < len(names):
                found.add(names[item])
    return frozenset(found)


def _is_constexpr(param: cst.Param, module: Module) -> bool:
    if param.annotation is None:
        return False
    annotation = param.annotation.annotation
    if isinstance(annotation, cst.SimpleString):
        return "constexpr" in annotation.value
    name = dotted_name(annotation.value if isinstance(annotation, cst.Subscript) else annotation)
    return name is not None and name.split(".")[-1] == "constexpr"


def _lineage(cls: Class) -> Iterator[Class]:
    """``cls`` and the classes in view that it derives from, nearest first, each once by however many ways."""
    seen: set[int] = set()
    waiting: list[Any] = [cls]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Class) and id(here) not in seen:
            seen.add(id(here))
            yield here
            waiting += reversed(here.bases)


def _canonical(path: str) -> str:
    """Import paths under which the same thing is also known."""
    return {"triton.language.core": "triton.language"}.get(path, path)


def _made_by_call(statement: cst.CSTNode) -> tuple[str, cst.Call] | None:
    """The name and the call of a statement that is nothing but ``name = function(...)``."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    node = statement.body[0]
    if type(node) is not cst.Assign or len(node.targets) != 1 or type(node.value) is not cst.Call:
        return None
    target = node.targets[0].target
    return (target.value, node.value) if type(target) is cst.Name else None


def _only_raises(body: cst.BaseSuite) -> bool:
    """Whether a suite ends in ``raise`` (a guard)."""
    if not body.body:
        return False
    last = body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        return isinstance(last.body[-1], cst.Raise)
    return isinstance(last, cst.Raise)


def _else_raises(node: cst.If) -> tuple[cst.BaseExpression, ...]:
    """The conditions of an ``if`` and its ``elif`` of which one has to hold, since what is left raises; empty where it does not."""
    tests = [node.test]
    last = node.orelse
    while isinstance(last, cst.If):
        tests.append(last.test)
        last = last.orelse
    return tuple(tests) if isinstance(last, cst.Else) and _only_raises(last.body) else ()


def _launches(steps: Iterable[Recorded]) -> int:
    """How many of ``steps`` launch kernels."""
    return sum(isinstance(bare(step), (Launch, Repeat)) for step in steps)


def _written(recorded: Recorded) -> Iterator[int]:
    """The storages that a step may give contents to."""
    step = bare(recorded)
    if isinstance(step, TorchOp) and step.kind != "alloc":
        yield from (tensor.storage.id for tensor in step.writes)
    elif isinstance(step, Launch):
        yield from (value.storage.id for value in step.arguments.values() if isinstance(value, Tensor))
    elif isinstance(step, Repeat):
        for inner in step.body:
            yield from _written(inner)


def computed_from_read(name: str, values: Iterable[Any]) -> ReadValue:
    """What ``name`` makes of ``values``, of which some were read from tensors."""
    places = (value.places for value in values if isinstance(value, ReadValue))
    return ReadValue(name, frozenset[Span]().union(*places))


def _expects_errors(manager: cst.BaseExpression) -> bool:
    """Whether the body of ``with manager`` is there to raise: ``pytest.raises(...)``, ``self.assertRaises(...)``."""
    name = dotted_name(manager.func) if isinstance(manager, cst.Call) else None
    return (name or "").rpartition(".")[2] in ("raises", "assertRaises", "assertRaisesRegex")


def _forward(
    scope: Scope,
    start: Mapping[str, Any],
    entry: Mapping[str, Any],
    second: Mapping[str, Any],
    count: Size | None,
) -> None:
    """Give the numbers of ``scope`` the values that they have after ``count`` iterations from ``start``, of which some were
    followed: to ``entry``, if that is another one, to ``second`` and on to what they are now. What does not advance evenly is
    unknown."""
    for name, last in scope.vars.items():
        middle = second.get(name)
        if (
            isinstance(last, bool)
            or not isinstance(last, (int, float, Expr))
            or name not in start
            or same(middle, last)
        ):
            continue
        scope.vars[name] = Unknown(f"{name} after a loop")
        met = [start[name], *([] if entry is start else [entry.get(name)]), middle, last]
        numbers = [ex.lift(v) for v in met if isinstance(v, (int, Expr)) and not isinstance(v, bool)]
        steps = [b - a for a, b in pairwise(numbers)]
        if len(numbers) == len(met) and count is not None and all(step == steps[0] for step in steps):
            scope.vars[name] = ex.simplify(numbers[0] + steps[0] * count)


def _forget(scope: Scope, entry: Mapping[str, Any]) -> None:
    """Make unknown what a loop of unknown length has changed since ``entry`` and what is no tensor: one iteration was
    followed, and its numbers are those of no other."""
    for name, value in scope.vars.items():
        if name in entry and not same(entry[name], value) and not isinstance(value, (Tensor, LongList)):
            scope.vars[name] = Unknown(f"{name} after a loop")


def _loop(
    count: Size | None,
    body: list[Recorded],
    span: Span,
    function: str,
    earlier: Sequence[Recorded] = (),
    entered: Sequence[Recorded] = (),
) -> Repeat:
    return Repeat(count, tuple(body), span, function, tuple(earlier), tuple(entered))  # type: ignore[arg-type]  # what runs once is taken out at the end


def _views_in_turn(items: Sequence[Any]) -> bool:
    """Whether ``items`` are many views of a tensor that lie apart by one distance (or tuples of such and of numbers that
    count), as of time steps."""
    if len(items) < _IN_TURN:
        return False
    if all(isinstance(item, tuple) for item in items):
        columns = list(zip(*items)) if len({len(item) for item in items}) == 1 else []
        return any(_views_in_turn(column) for column in columns) and all(
            _views_in_turn(column) or _counts(column) for column in columns
        )
    first = items[0]
    if not isinstance(first, Tensor):
        return False
    alike = all(
        isinstance(item, Tensor) and replace(item, offset=first.offset, name=first.name) == first for item in items
    )
    return alike and _counts([item.offset for item in items])


def _counts(numbers: Sequence[Any]) -> bool:
    """Whether ``numbers`` are integers, each as far from the one before as the second from the first."""
    if not all(isinstance(number, int) for number in numbers):
        return False
    return all(b - a == numbers[1] - numbers[0] for a, b in pairwise(numbers))


def _misfit(function: Function, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> str:
    """Why Python would not make a call of a function of a module; empty where it would, or may."""
    called, module = function.node, function.module
    if not isinstance(called, cst.FunctionDef) or called not in module.tree.body or any(a.star for a in node.args):
        return ""
    origins = (origin_of(d.decorator, module.imports) or "" for d in called.decorators)
    passed_on = all(origin in ("torch.no_grad", "torch.inference_mode") for origin in origins)
    return binding_problem(called, args, kwargs) if passed_on else ""


def _either(a: Tensor, b: Tensor) -> Tensor:
    """``a`` without what is known to be otherwise of ``b``, where it is one of the two."""
    if {a.storage.origin, b.storage.origin} == {"empty", "filled"}:
        a = replace(a, storage=replace(a.storage, origin="result"))  # what it holds is as open as which it is
    if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
        a = replace(a, dtype=None)
    if a.shape is not None and b.shape is not None and a.shape != b.shape:
        return replace(a, shape=None, strides=None)
    if a.strides is not None and b.strides is not None and a.strides != b.strides:
        return replace(a, strides=None)
    return a


def _lengths(scope: Scope) -> dict[str, int]:
    """The lengths of the lists of a scope, by name."""
    return {name: len(value) for name, value in scope.vars.items() if isinstance(value, list)}


def _putting_back(scope: Scope) -> Callable[[], None]:
    """What gives the variables of ``scope`` the values that they have now, and the lists among these their items."""
    entry = dict(scope.vars)
    lists = [(value, [*value]) for value in entry.values() if isinstance(value, list)]

    def put_back() -> None:
        scope.vars = dict(entry)
        for value, items in lists:
            value[:] = items

    return put_back


def _works(steps: Iterable[Recorded]) -> bool:
    """Whether any of ``steps`` gives the device something to do or waits for it."""
    return any(isinstance(s, (Launch, TorchOp, HostSync, Repeat, Once)) and not _is_alloc(s) for s in steps)


def _is_alloc(step: Recorded) -> bool:
    return isinstance(step, TorchOp) and step.kind == "alloc"


def _pure(function: Callable[..., Any], args: list[Any]) -> Any:
    try:
        return bounded(function(*args))
    except Exception:
        raise Raised from None


def _math(name: str, args: list[Any]) -> Any:
    if name in ("ceil", "floor") and args:
        if isinstance(args[0], Expr):
            return args[0]
        if isinstance(args[0], OpenFloat) and args[0].ratio is not None:
            return bounded((ex.ceildiv if name == "ceil" else ex.floordiv)(*args[0].ratio))
    if (
        name == "prod"
        and args
        and isinstance(args[0], (tuple, list))
        and all(isinstance(a, (int, Expr)) for a in args[0])
    ):
        product: Any = 1
        for factor in args[0]:
            product = bounded(torch_ops.product((product, factor)))
            if isinstance(product, Unknown):
                break
        return product
    numbers = all(isinstance(a, (int, float, Expr, OpenFloat)) for a in args) and not is_concrete(args)
    if numbers and name in ("sqrt", "exp", "exp2", "log", "log2", "log10", "pow", "fabs"):
        return OpenFloat(f"math.{name}")
    function = getattr(math, name, None)
    if callable(function) and args and is_concrete(args) and all(isinstance(a, (int, float)) for a in args):
        if name in ("factorial", "comb", "perm") or any(isinstance(a, int) and abs(a) > 10**15 for a in args):
            return Unknown(name)
        return _pure(function, args)
    return Unknown(f"math.{name}")


def _product(lists: list[list[Any] | None]) -> Any:
    result: list[tuple[Any, ...]] = [()]
    for items in lists:
        if items is None or len(result) * len(items) > MAX_UNROLL:
            return Unknown("product")
        result = [(*head, item) for head in result for item in items]
    return result


_OP_NAMES = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floor_divide",
    "%": "remainder",
    "**": "pow",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<<": "shift_left",
    ">>": "shift_right",
}

_CONSTANTS: dict[str, Any] = {
    "math.pi": math.pi,
    "math.e": math.e,
    "math.inf": math.inf,
    "torch.inf": math.inf,
    "torch.pi": math.pi,
    "torch.strided": "strided",
    **{f"torch.{name}": name for name in ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")},
}

_PURE: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "abs": abs,
    "str": str,
    "round": rounded,
    "divmod": divmod,
    "id": lambda x: 0,
    "print": lambda *a: None,
}


# -- functions of Python that look at more than numbers ----------------------------------------------------------------


def _range(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    if all(isinstance(a, (int, Expr)) for a in args) and args:
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args[:2], args[2] if len(args) > 2 else 1)
        return Range("range", start, stop, step) if step != 0 else Unknown("range")
    h._integers(args)
    return Range("range", 0, None, 1)


def _extreme(name: str) -> _Special:
    def extreme(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        values = h.iterate(args[0]) if len(args) == 1 else args
        if values and all(isinstance(v, (int, Expr)) for v in values):
            return bounded((ex.minimum if name == "min" else ex.maximum)(*values))
        if values and is_concrete(values) and "key" not in kwargs:
            return _pure(min if name == "min" else max, [values])
        return Unknown(name)

    return extreme


def _len(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    value = args[0] if args else None
    if isinstance(value, Tensor):
        return h.subscript(h.shape(value), 0, node)
    if isinstance(value, ShapeOf):
        return Unknown("rank")
    items = h.iterate(value)
    return len(items) if items is not None else Unknown("length")


def _getattr(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    if len(args) > 2 and h._has(args[0], args[1]) is False:
        return args[2]
    named = len(args) > 1 and isinstance(args[1], str)
    found = h.getattr(args[0], args[1], node) if named else Unknown("getattr")
    return args[2] if isinstance(found, Unknown) and len(args) > 2 else found


def _setattr(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    h.changes()
    if len(args) == 3 and isinstance(args[0], Instance) and isinstance(args[1], str):
        args[0].attrs[args[1]] = args[2]
    return None


def _super(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    return Builtin("super", lambda a, k, n: None)


def _dict(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    result = dict(args[0]) if args and isinstance(args[0], dict) else {}
    result.update(kwargs)
    return result


_SPECIAL: dict[str, _Special] = {
    "dict": _dict,
    "getattr": _getattr,
    "len": _len,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "range": _range,
    "setattr": _setattr,
    "super": _super,
}
_SEQUENCES = frozenset("list tuple sorted reversed set enumerate zip sum all any map filter".split())


#: Parts of the arguments of a call, those of parts counted each time they stand there, up to which it is kept.
_MOST_PARTS = 256


def _as_data(function: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Call | None:
    """A call as plain data; None where an argument was not followed, is an object of the interpreter's, or has too many parts."""
    left = _MOST_PARTS

    def plain(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TypeError("too many parts")
        if value is None or value is ... or isinstance(value, (Tensor, Dtype, bool, int, float, str, Expr)):
            return value
        if isinstance(value, LongList):
            found = Collected(map(plain, value))
            found.length = value.length
            return found
        if isinstance(value, (tuple, list)):
            return tuple(map(plain, value))
        if isinstance(value, slice):
            return slice(plain(value.start), plain(value.stop), plain(value.step))
        if isinstance(value, Instance) and value.kind == "torch.device":
            return None  # where it lies: on the device that all is on
        raise TypeError(type(value))

    try:
        return Call(function, tuple(map(plain, args)), {name: plain(value) for name, value in kwargs.items()})
    except TypeError:
        return None
