"""A program's call written anew from its reference: what torch computes there, as kernels of known good forms."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernlint.generate.attention_kernel import AttentionWriter
from kernlint.generate.calls.reader import Reader
from kernlint.generate.host import Host, allocation, launch_text, returned, values_of
from kernlint.generate.kernel import Kernel
from kernlint.generate.lifted import lifted, seen, with_known_arguments
from kernlint.generate.opened import Differs
from kernlint.generate.parts import in_parts
from kernlint.generate.plan import plan
from kernlint.generate.product_kernel import ProductWriter
from kernlint.generate.terms import Buffer
from kernlint.generate.tile_kernel import TileWriter
from kernlint.generate.values import CannotGenerate, Divided, Named, Unbound, Value, exchanged
from kernlint.generate.work import Work
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.host.loops import SHORT_LOOP
from kernlint.interpret.program import Program
from kernlint.interpret.question import Fact
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, Opaque, Repeat, Symbol, Tensor, TorchOp, Workload
from kernlint.workload.expr import Atom, lift

_WRITERS: Mapping[str, type[ProductWriter] | type[AttentionWriter]] = {
    "product": ProductWriter,
    "attention": AttentionWriter,
}
#: Kernels of one call up to which it is worth writing them.
_MOST_KERNELS = 8

#: What sizes are taken to be that nothing tells.
_ANY = 2048


class Rewritten:
    """The text of the kernels and of the body of the function that launches them."""

    def __init__(self, kernels: Sequence[Kernel], body: Sequence[str]) -> None:
        self.kernels = kernels
        self.body = body


def rewritten(program: Program, entry: str) -> Rewritten:
    """``entry`` of ``program`` with the computation of the reference. Raises :class:`CannotGenerate`."""
    constants = _constants(program)
    sizes: dict[str, Expr] = {name: Expr.atom(Symbol(name)) for name, v in constants.items() if isinstance(v, int)}
    if program.reference is None:
        sizes = _extents(program, entry, constants, sizes)
    hopeless: bool | None = None
    for _ in range(2 * len(constants) + 2):
        try:
            return _Writing(program, entry, constants, sizes).write()
        except RecursionError:
            raise CannotGenerate("the reference nests too deep") from None
        except _Lost:
            if hopeless is None:
                hopeless = _is_hopeless(program, entry, constants)
            if hopeless:
                sizes = {}
            else:
                del sizes[_decisive(program, entry, constants, sizes)]
        except Divided as found:
            sizes = {name: size.substitute({Symbol(found.name): found.whole}) for name, size in sizes.items()}
        except Unbound as found:
            # Nothing at hand tells this size: it is written as the number that it is.
            known = [name for name, size in sizes.items() if Symbol(found.name) in size.atoms()]
            if not known:
                break
            del sizes[known[0]]
    raise CannotGenerate("its sizes are not known")


def _extents(
    program: Program, entry: str, constants: Mapping[str, int | float], sizes: dict[str, Expr]
) -> dict[str, Expr]:
    """Those of ``sizes`` that a tensor is large by: all others say how a program goes about it."""
    overrides = {**program.question.overrides, **{name: sizes.get(name, n) for name, n in constants.items()}}
    asked = replace(program.question, overrides=overrides, detailed=True, kernels=False)
    workload = program.variant(program.kernel, asked).workload(entry, NO_EDITS)
    if workload is None:
        return {}
    tensors = [one for one in (*workload.arguments.values(), *workload.held.values()) if isinstance(one, Tensor)]
    used = {atom for tensor in tensors for extent in tensor.shape or () for atom in lift(extent).atoms()}
    return {name: size for name, size in sizes.items() if Symbol(name) in used}


def _is_hopeless(program: Program, entry: str, constants: Mapping[str, int | float]) -> bool:
    """Whether the reference is not followed to its end even where no size is open, so that it is in vain to look for those that may
    be."""
    try:
        return _Writing(program, entry, constants, {}).lost
    except (CannotGenerate, Unbound):
        return True


def _decisive(program: Program, entry: str, constants: Mapping[str, int | float], sizes: Mapping[str, Expr]) -> str:
    """The size that has to be a number for the reference to be followed: the one that does alone, else the smallest."""
    order = sorted(sizes, key=lambda name: constants[name])
    for name in order:
        try:
            _Writing(program, entry, constants, {n: size for n, size in sizes.items() if n != name})
        except _Lost:
            continue
        except (CannotGenerate, Unbound, Divided):
            pass
        return name
    return order[0]


class _Lost(Exception):
    """The reference is not followed to its end while so many sizes are open."""


def _constants(program: Program) -> dict[str, int | float]:
    """The numbers that the module of the reference (of the kernel, where they are one) gives names to, as they are in force."""
    module = program.reference or program.kernel
    found: dict[str, int | float] = {}
    for statement in ast.parse(module.text).body:
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
        ):
            try:
                value = ast.literal_eval(statement.value)
            except ValueError:
                continue
            if type(value) in (int, float) and math.isfinite(value):
                found[statement.targets[0].id] = value
    return {
        **found,
        **{name: v for name, v in program.question.overrides.items() if name in found and type(v) in (int, float)},
    }


def _numbers(sizes: Mapping[str, Expr], constants: Mapping[str, int | float]) -> dict[Atom, float]:
    """What the symbols in ``sizes`` are at the sizes in force."""
    found: dict[Atom, float] = {Symbol(n): constants[n] for n, size in sizes.items() if size == Expr.atom(Symbol(n))}
    for _ in range(3):
        for name, size in sizes.items():
            new = [atom for atom in size.atoms() if atom not in found]
            if len(new) == 1:
                rest = size.coefficient(new[0])
                known = rest.evaluate(found) if rest is not None else None
                if known:
                    found[new[0]] = constants[name] // known
    return found


class _Writing:
    """One attempt, with ``open_sizes`` in the place of the module's numbers of these names."""

    def __init__(
        self, program: Program, entry: str, constants: Mapping[str, int | float], open_sizes: Mapping[str, Expr]
    ) -> None:
        overrides: dict[str, Any] = dict(program.question.overrides)
        for name, value in constants.items():
            if name in open_sizes:
                overrides[name] = open_sizes[name]
            elif isinstance(value, float):
                overrides[name] = Named(value, name)
        self.sizes = _numbers(open_sizes, constants)
        #: The arguments whose element type is known from what happens to them.
        untold: set[str] = set()
        self.text = program.kernel.text
        question = replace(program.question, overrides=overrides, detailed=True, kernels=False)
        workload = program.variant(program.kernel, question).workload(entry, NO_EDITS)
        if workload is None:
            raise CannotGenerate(f"`{entry}` is not followed")
        module = program.reference or program.kernel
        for word in ("autocast", "set_default_dtype"):
            if re.search(rf"\b{word}\b", module.text):
                raise CannotGenerate(f"the computation changes element types behind the scenes ({word})")
        if workload.reference is None:
            untold = {name for name, one in workload.arguments.items() if isinstance(one, Tensor) and one.dtype is None}
            workload = with_known_arguments(workload)
            values = self._lifted(program, workload, open_sizes, constants)
        else:
            self._check_followed(workload.reference)
            reader = Reader(workload.reference, self.sizes)
            values = [seen(reader, tensor) for tensor in values_of(workload.reference.result)]
        self.workload: Workload = workload
        self.reference: Workload = workload.reference or workload
        #: The values of the tensors that are returned, by their identity.
        self.results = dict(zip(map(id, values_of(self.reference.result)), values))
        self.host = Host(workload.arguments, workload.held, ())
        self.names: dict[int, str] = {}
        self.buffers: dict[int, Buffer] = {}
        self.used_inputs: dict[str, Tensor] = {}
        self.untold = untold

    def _lifted(
        self, program: Program, workload: Workload, sizes: Mapping[str, Expr], constants: Mapping[str, int | float]
    ) -> list[Value]:
        """The results as ``workload``, which has no reference, computes them itself."""
        told = [Symbol(name) for name in workload.symbols if Symbol(name) not in self.sizes]
        self.sizes |= dict.fromkeys(told, _ANY)

        def read(at: Mapping[Symbol, int]) -> Workload:
            numbers = {name: lift(size).evaluate(at) for name, size in sizes.items()}  # type: ignore[arg-type]
            overrides = {**program.question.overrides, **{n: int(one) for n, one in numbers.items() if one is not None}}
            facts = (*program.question.facts, *(Fact(one.name, size=at[one]) for one in told))
            asked = replace(program.question, overrides=overrides, facts=facts, detailed=True)
            found = program.variant(program.kernel, asked).workload(workload.entry, NO_EDITS)
            if found is None:
                raise CannotGenerate(f"`{workload.entry}` is not followed")
            return found

        try:
            made = lifted(read, {one: int(n) for one, n in self.sizes.items() if isinstance(one, Symbol)})
            if len(values_of(workload.result)) != len(made):
                raise Differs("a result that depends on the sizes")
        except Differs as error:
            self.lost = True
            if sizes:
                raise _Lost from None
            raise CannotGenerate(str(error)) from None
        self.lost = False
        return made

    def _check_followed(self, reference: Workload) -> None:
        """Raise :class:`Unbound` for a size without which the reference is not followed."""
        lost = [
            s
            for s in reference.steps
            if isinstance(s, TorchOp) and (s.call is None or not s.writes or s.writes[0].shape is None)
        ]
        loops = [s for s in reference.steps if isinstance(s, Repeat) and (s.round is None or self._is_short(s))]
        for loop in loops:
            for atom in lift(loop.count if loop.count is not None else 0).atoms():
                if isinstance(atom, Symbol):
                    raise Unbound(atom.name)
        self.lost = bool(lost or loops or reference.unknowns or reference.open_choices)
        if self.lost and self.sizes:
            raise _Lost
        if reference.open_choices:
            raise CannotGenerate("what the reference does depends on a condition that is not known")
        if reference.unknowns:
            raise CannotGenerate(f"the reference is not followed to its end ({reference.unknowns[0]})")

    def _is_short(self, loop: Repeat) -> bool:
        """Whether the rounds of ``loop`` are better written one after the other."""
        rounds = lift(loop.count).evaluate(self.sizes) if loop.count is not None else None
        return rounds is not None and rounds <= SHORT_LOOP

    def _look_for_parts(self, outputs: Iterable[Value]) -> None:
        """Raise :class:`Divided` for a size that is divided without a rest."""
        seen: set[int] = set()
        values = [value for one in outputs for value in one.walk(seen)]
        sizes = [size for value in values for size in (*value.shape, *value.attributes.get("over", ()))]
        sizes += [place for value in values for view in value.operands for place in view.index]
        for size in map(lift, sizes):
            for atom in size.atoms():
                if not isinstance(atom, Opaque) or atom.op != "floordiv":
                    continue
                whole, part = atom.args
                if (-whole).is_natural:
                    whole = -whole  # rounded up
                (symbol, *others) = whole.atoms() or (None,)
                if others or not isinstance(symbol, Symbol) or whole != Expr.atom(symbol) or part.value == 1:
                    continue
                first, second = whole.evaluate(self.sizes), part.evaluate(self.sizes)
                if first and second and first % second == 0:
                    inner = f"{symbol.name}_PER_{part}" if part.value is None else f"{symbol.name}_PART"
                    raise Divided(symbol.name, part * Expr.atom(Symbol(inner)))

    # -- inputs -----------------------------------------------------------------------------------------------------

    def _here(self, path: str) -> tuple[str, Tensor]:
        """The expression for an input of the reference in the program, and the tensor it is there."""
        if path.startswith("self."):
            tensor = self.workload.held.get(path.removeprefix("self."))
            if not isinstance(tensor, Tensor):
                raise CannotGenerate(f"the program has no `{path}`")
            return path, tensor
        of_reference = [name for name, value in self.reference.arguments.items() if isinstance(value, Tensor)]
        own = [name for name, value in self.workload.arguments.items() if isinstance(value, Tensor)]
        name = path if path in own else own[of_reference.index(path)] if len(own) == len(of_reference) else ""
        tensor = self.workload.arguments.get(name)
        if not isinstance(tensor, Tensor):
            raise CannotGenerate(f"the program has no argument `{path}`")
        return name, tensor

    def _buffer(self, value: Value) -> Buffer | None:
        if id(value) in self.buffers:
            return self.buffers[id(value)]
        if value.op != "input":
            return None
        expression, tensor = self._here(value.attributes["path"])
        if tensor.shape != value.shape or tensor.dtype != value.dtype:
            raise CannotGenerate(f"`{expression}` is another tensor in the program than in the reference")
        if not tensor.is_contiguous and tensor.is_contiguous is not None:
            raise CannotGenerate(f"`{expression}` is not contiguous")
        self.used_inputs[expression] = tensor
        self.names[id(value)] = expression
        name = expression.rpartition(".")[2]
        others = {buffer.name for buffer in self.buffers.values()}
        while name in others:
            name += "_in"
        self.buffers[id(value)] = Buffer(name, value, contiguous_strides(value.shape))
        return self.buffers[id(value)]

    def _store(self, value: Value, final: bool) -> Buffer:
        """The memory that ``value`` is written to."""
        taken = {buffer.name for buffer in self.buffers.values()}
        wish = "out" if final else value.name or "partial"
        name = self.host.new(value.name or wish)
        while name in taken:
            name = self.host.new(name)
        self.names[id(value)] = name
        self.buffers[id(value)] = Buffer(name.lower(), value, contiguous_strides(value.shape))
        return self.buffers[id(value)]

    # -- all of it --------------------------------------------------------------------------------------------------

    def write(self) -> Rewritten:
        outputs = self.results
        self._look_for_parts(outputs.values())
        works = plan(list({id(v): v for v in outputs.values()}.values()), self.sizes)
        whole = outputs, works
        for _ in range(_MOST_KERNELS):
            new = self._cut(works)
            if not new:
                break
            made: dict[int, Value] = {}
            outputs = {key: exchanged(value, new, made) for key, value in outputs.items()}
            works = plan(list({id(v): v for v in outputs.values()}.values()), self.sizes)
        if len(works) > _MOST_KERNELS:
            outputs, works = whole  # what the parts of one reduction wait for is cut into parts again and again
        if len(works) > _MOST_KERNELS:
            raise CannotGenerate(f"it would take {len(works)} kernels")
        finals = {id(value) for value in outputs.values()}
        body: list[str] = []
        kernels: list[Kernel] = []
        targets = list({id(root.target): root.target for work in works for root in work.roots}.values())
        for target in targets:
            self._store(target, id(target) in finals)
        device, allocated = self._device(), set[int]()
        for number, work in enumerate(works):
            kernel = self._kernel(work, self._kernel_name(number, len(works)))
            kernel.check_grid(self.sizes)
            kernels.append(kernel)
            for target in {id(root.target): root.target for root in work.roots}.values():
                if id(target) not in allocated:
                    allocated.add(id(target))
                    body.append(
                        allocation(self.buffers[id(target)], self.names[id(target)], self.host, self._type, device)
                    )
            body += launch_text(kernel, self.host, self.names)
        body.append(f"return {returned(self.reference.result, lambda t: self._result(outputs[id(t)]))}")
        prepared = [f"{name} = {name}.contiguous()" for name in self.used_inputs if not name.startswith("self.")]
        sizes = self.host.size_lines()
        parts = [f"assert {' and '.join(self.host.divisions)}"] if self.host.divisions else []
        return Rewritten(kernels, [*self._checks(), *prepared, *sizes, *parts, *body])

    def _checks(self) -> list[str]:
        """Assertions of the extents that the kernels were written for: everything else is read when they run."""
        found = []
        for name, tensor in self.used_inputs.items():
            known = [(axis, n) for axis, n in enumerate(tensor.shape or ()) if isinstance(n, int)]
            if known and not name.startswith("self."):
                found.append(f"assert {' and '.join(f'{name}.shape[{axis}] == {n}' for axis, n in known)}")
        told = [
            f"{name}.dtype == torch.{self.used_inputs[name].dtype}" for name in self.used_inputs if name in self.untold
        ]
        return [*found, *([f"assert {' and '.join(told)}"] if told else [])]

    def _cut(self, works: Sequence[Work]) -> dict[int, Value]:
        """Reductions that had better be done in parts, as what puts the parts together."""
        stored = {id(root.target) for one in works for root in one.roots}
        for work in works:
            buffers = {
                id(root.target): Buffer("out", root.target, contiguous_strides(root.target.shape))
                for root in work.roots
            }

            def buffer_of(value: Value, here: dict[int, Buffer] = buffers) -> Buffer | None:
                known = here.get(id(value)) or self._buffer(value)
                return known or (Buffer("x", value, contiguous_strides(value.shape)) if id(value) in stored else None)

            if work.product is not None:
                chunks = _WRITERS[work.product.op](work, "", buffer_of, self.sizes).chunks
                if chunks:
                    return {id(work.product): in_parts(work.product, chunks)}
                continue
            tile = TileWriter(work, "", buffer_of, self.sizes)
            if tile.chunks:
                inner = [
                    v for root in work.roots for v in root.value.walk() if v.op == "reduce" and id(v) not in stored
                ]
                inner += [root.target for root in work.roots if root.target.op == "reduce"]
                deep = {id(v) for v in inner}
                first = [v for v in inner if not any(id(o) in deep and o is not v for o in v.walk())]
                return {id(v): in_parts(v, tile.chunks) for v in first if v.attributes["over"] == tile.over}
        return {}

    def _result(self, value: Value) -> str:
        if value.op == "input":
            return self._here(value.attributes["path"])[0]
        return self.names[id(value)]

    def _kernel(self, work: Work, name: str) -> Kernel:
        if work.product is not None:
            return _WRITERS[work.product.op](work, name, self._buffer, self.sizes).write()
        return TileWriter(work, name, self._buffer, self.sizes).write()

    def _kernel_name(self, number: int, count: int) -> str:
        method = self.workload.entry.rpartition(".")[2]
        base = "fused" if method == "forward" else method
        names = set(re.findall(r"\w+", self.text))
        while any(f"{base}{end}_kernel" in names for end in ("", *(f"_{i + 1}" for i in range(count)))):
            base = f"{base}_new"
        return f"{base}_kernel" if count == 1 else f"{base}_{number + 1}_kernel"

    def _device(self) -> str:
        for name, value in self.workload.arguments.items():
            if isinstance(value, Tensor):
                return f"{name}.device"
        raise CannotGenerate("a function without tensors")

    def _type(self, dtype: Dtype) -> str:
        for name, value in self.workload.arguments.items():
            if isinstance(value, Tensor) and value.dtype == dtype:
                return f"{name}.dtype"
        return f"torch.{dtype}"
