"""The text of kernels and of the function that launches them, for a computation."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlint.generate.attention_kernel import AttentionWriter
from kernlint.generate.attributes import asked_for, configured, unknown_attribute
from kernlint.generate.computation import Computation
from kernlint.generate.held_kernel import HeldWriter
from kernlint.generate.host import Host, allocation, launch_text, returned
from kernlint.generate.kernel import Kernel
from kernlint.generate.parts import in_parts
from kernlint.generate.plan import plan
from kernlint.generate.product_kernel import ProductWriter
from kernlint.generate.reduced_product_kernel import ReducedProductWriter
from kernlint.generate.surroundings import parameters, refuse_hidden_state
from kernlint.generate.terms import Buffer
from kernlint.generate.tile_kernel import TileWriter
from kernlint.generate.tiles import Chosen, Tiles
from kernlint.generate.values import CannotGenerate, TooMuch, Value, exchanged
from kernlint.generate.work import Work, inputs_of, needs
from kernlint.interpret.program import Program
from kernlint.interpret.question import SHORT_LOOP
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.records import dataclass
from kernlint.syntax.positions import python_tree
from kernlint.workload import Dtype, Expr, Tensor, TorchOp, Workload

_Writer = ProductWriter | AttentionWriter | HeldWriter | TileWriter


#: Kernels of one call up to which it is worth writing them.
_MOST_KERNELS = 12


@dataclass(frozen=True)
class Rewritten:
    """The text of the kernels and of the body of the function that launches them; ``fixed``: for the extents alone that it asserts;
    ``narrowed``: with halves where the computation has single precision; ``cancels``: with something added that is taken away again;
    ``tiles``: those of its kernels, by their forms."""

    kernels: Sequence[Kernel]
    body: Sequence[str]
    fixed: bool
    narrowed: bool
    cancels: bool
    tiles: Chosen


def _equal(name: str, number: Any) -> str:
    """That the argument or attribute ``name`` is ``number``, as torch's layers keep what they are made with, and of its type: an
    integer divides otherwise than a float that equals it, as minus zero does."""
    kept = (number,) if name.endswith(".normalized_shape") and not isinstance(number, tuple) else number
    if kept is None:
        return f"{name} is None"
    if isinstance(kept, float) and (kept == 0.0 or not math.isfinite(kept)):
        return f"repr({name}) == {repr(kept)!r}"
    # A number that was read may be of a class of its own, as one that knows its place in the source.
    kind = next((one.__name__ for one in (bool, int, float) if isinstance(kept, one)), "")
    return f"{name} == {kept!r}" + (f" and type({name}) is {kind}" if kind else "")


def _identifier(expression: str) -> str:
    """What ``expression``, an argument or an attribute, is called in a kernel."""
    return re.sub(r"\W+", "_", expression.rpartition(".")[2]).strip("_")


def _spelled(path: str) -> str:
    """A path of attributes and places in lists, as Python has it."""
    return re.sub(r"\.(\d+)", r"[\1]", path)


def _laid_out(name: str, tensor: Tensor) -> str:
    """And that ``tensor``, which is called ``name``, lies in memory as it did when it was read."""
    return f" and {name}.is_contiguous()" if tensor.is_contiguous else f" and {name}.stride() == {tensor.strides}"


def _before(name: str, other: str) -> str:
    """That the memory of tensor ``name`` ends before that of ``other`` begins."""
    return f"{name}.data_ptr() + {name}.nbytes <= {other}.data_ptr()"


def _copies_by_layout(reference: Workload) -> bool:
    """Whether what is written in place may be a copy of an argument, or the argument, as that lies in memory."""
    called = {one.call.function for one in reference.all_steps if isinstance(one, TorchOp) and one.call is not None}
    written = any(name == "setitem" or name.endswith("_") for name in called)
    return written and not called.isdisjoint(("reshape", "flatten", "ravel", "contiguous"))


def _fixed_extents(name: str, tensor: Tensor) -> list[str]:
    """That ``tensor``, which is called ``name``, has the extents that are numbers."""
    known = [f"{name}.shape[{axis}] == {n}" for axis, n in enumerate(tensor.shape or ()) if isinstance(n, int)]
    return [" and ".join(known)] if known else []


class Writing(Computation):
    """Writes kernels for what is computed."""

    def __init__(
        self,
        program: Program,
        entry: str,
        constants: Mapping[str, int | float],
        open_sizes: Mapping[str, Expr],
        itself: bool,
        unrolled: int = SHORT_LOOP,
        chosen: Chosen | None = None,
    ) -> None:
        super().__init__(program, entry, constants, open_sizes, itself, unrolled)
        self.tiles = Tiles(chosen or {})
        #: The parameters that are lists, with the number of items.
        self.lists = Counter(name.partition("[")[0] for name in self.workload.arguments if "[" in name)
        self.host = Host(self.workload.arguments, self.workload.held, self.lists)
        self.names: dict[int, str] = {}
        self.buffers: dict[int, Buffer] = {}
        self.used_inputs: dict[str, Tensor] = {}

    # -- inputs -----------------------------------------------------------------------------------------------------

    def _here(self, path: str) -> tuple[str, Tensor]:
        """The expression for an input of the reference in the program, and the tensor it is there."""
        if path.startswith("self."):
            tensor = self.workload.held.get(path.removeprefix("self."))
            if not isinstance(tensor, Tensor):
                raise CannotGenerate(f"the program has no `{path}`")
            return _spelled(path), tensor
        of_reference = [n for n, value in self.reference.arguments.items() if isinstance(value, Tensor)]
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
        name = _identifier(expression)
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

    def _update(self, path: str, value: Value, works: Sequence[Work]) -> None:
        """``value`` goes to the memory of the input ``path``, which no kernel may read after that."""
        read = [[one for one in inputs_of(work, works) if one.attributes["path"] == path] for work in works]
        own = next((one for found in read for one in found), None)
        first = next(number for number, work in enumerate(works) if any(root.target is value for root in work.roots))
        if any(read[first + 1 :]):
            raise CannotGenerate(f"`{path}` is changed in place before all is read of it")
        expression, tensor = self._here(path)
        if tensor.shape != value.shape or tensor.dtype != value.dtype or not tensor.is_contiguous:
            raise CannotGenerate(f"`{expression}`, which is changed in place, is another tensor in the program")
        self.used_inputs[expression] = tensor
        self.names[id(value)] = expression
        buffer = None if own is None else self._buffer(own)
        name = _identifier(expression) if buffer is None else buffer.name
        self.buffers[id(value)] = Buffer(name, value, contiguous_strides(value.shape))

    # -- all of it --------------------------------------------------------------------------------------------------

    def write(self) -> Rewritten:
        outputs: dict[Any, Value] = {**self.results, **self.updates}
        if not outputs:
            raise CannotGenerate("nothing is returned or changed that is a tensor")
        self._look_for_parts(outputs.values())
        works = self._planned(outputs)
        whole = outputs, works
        for _ in range(_MOST_KERNELS):
            new = self._cut(works)
            if not new:
                break
            made: dict[int, Value] = {}
            outputs = {key: exchanged(value, new, made) for key, value in outputs.items()}
            works = self._planned(outputs)
        if len(works) > _MOST_KERNELS:
            outputs, works = whole  # what the parts of one reduction wait for is cut into parts again and again
        if len(works) > _MOST_KERNELS:
            raise TooMuch(f"it would take {len(works)} kernels")
        finals = {id(value) for value in outputs.values()}
        body: list[str] = []
        kernels: list[Kernel] = []
        targets = list({id(root.target): root.target for work in works for root in work.roots}.values())
        device, allocated = self._device(), set[int]()
        for path in self.updates:
            self._update(path, outputs[path], works)
            allocated.add(id(outputs[path]))
        for target in targets:
            if id(target) not in allocated:
                self._store(target, id(target) in finals)
        for number, work in enumerate(works):
            kernel = (
                self._writer(work, self._kernel_name(number, len(works)), self._buffer).write().launched(self.sizes)
            )
            kernels.append(kernel)
            for target in {id(root.target): root.target for root in work.roots}.values():
                if id(target) not in allocated:
                    allocated.add(id(target))
                    body.append(self._allocated(target, device, works, finals))
            body += launch_text(kernel, self.host, self.names)
        body.append(f"return {returned(self.reference.result, lambda t: self._result(outputs[id(t)]), self.host)}")
        changed = {self.names[id(outputs[path])] for path in self.updates}
        layouts_matter = _copies_by_layout(self.reference)
        prepared = [
            f"assert {name}.is_contiguous()"
            if name in changed or layouts_matter or not name.isidentifier()
            else f"{name} = {name}.contiguous()"
            for name in self.used_inputs
            if not name.startswith("self.")
        ]
        extents = self._extents()
        lists = [f"len({name}) == {count}" for name, count in self.lists.items()]
        checks = [f"assert {one}" for one in (*lists, *extents, *self._given("\n".join(body)), *self._apart())]
        reach = [self._not_negative(one) for one in self.within]
        # The lines before it name sizes, which are read above them.
        sizes = self.host.size_lines()
        divided = [f"assert {' and '.join(self.host.divisions)}"] if self.host.divisions else []
        body = [*checks, *prepared, *sizes, *divided, *reach, *body]
        return Rewritten(kernels, body, bool(extents or divided), self.narrowed, self.cancels, self.tiles.asked)

    def _planned(self, outputs: Mapping[Any, Value]) -> list[Work]:
        values = {id(value): value for value in outputs.values()}
        return plan(list(values.values()), self.sizes, {id(outputs[path]) for path in self.updates})

    def _allocated(self, target: Value, device: str, works: Sequence[Work], finals: set[int]) -> str:
        """The line that makes the memory of ``target``: that of what it is scattered to, where nothing else needs that."""
        name = self.names[id(target)]
        old = target.operands[0].value if target.op == "scattered" else None
        if old is None or old.op == "number":
            return allocation(self.buffers[id(target)], name, self.host, self._type, device)
        if self._buffer(old) is None:
            raise CannotGenerate("a scatter to what lies nowhere")
        stored = {id(root.target) for work in works for root in work.roots}
        needed = [one for work in works for one in needs(work, stored) if one is old]
        again = any(one is old for view in target.operands[1:] for one in view.value.walk())
        kept = old.op == "input" or id(old) in finals or len(needed) > 1 or again
        return f"{name} = {self.names[id(old)]}{'.clone()' if kept else ''}"

    def _not_negative(self, size: Expr) -> str:
        """The assertion that ``size`` is at least zero: slices by numbers are shorter where an axis is."""
        number = size.substitute(dict.fromkeys(size.atoms(), 0))
        return f"assert {self.host.expression(size - number)[0]} >= {-number}"

    def _extents(self) -> list[str]:
        """The extents that the kernels were written for: everything else is read when they run. Of what was read itself, the types
        and the layouts too."""
        if self.itself:
            tensors = {name: one for name, one in self._known().items() if isinstance(one, Tensor)}
            return [
                f"{name}.shape == {tuple(one.shape or ())} and {name}.dtype == torch.{one.dtype}{_laid_out(name, one)}"
                for name, one in tensors.items()
            ]
        given = {name: tensor for name, tensor in self.used_inputs.items() if not name.startswith("self.")}
        return [text for name, tensor in given.items() for text in _fixed_extents(name, tensor)]

    def _apart(self) -> list[str]:
        """That what is changed in place, all of it side by side, shares no memory with what something else is read from."""
        changed = [name for name in map(self.names.get, map(id, self.updates.values())) if name]
        return [
            f"{_before(name, other)} or {_before(other, name)}"
            for name in changed
            for other in self.used_inputs
            if other != name and (other not in changed or name < other)
        ]

    def _given(self, body: str) -> list[str]:
        """What the program was given, its arguments and what its object was made with, beside the tensors: which way it takes may
        depend on any of it. Raises :class:`CannotGenerate` where it may depend on what is not known."""
        known, module = self._known(), python_tree(self.text)
        if module is None:
            raise CannotGenerate("the running Python does not take its file")
        owner = self.workload.entry.rpartition(".")[0]
        if not self.itself:
            return self._as_made(known, configured(module, owner), asked_for(module, owner), body)
        refuse_hidden_state(module, self.workload.entry)
        for name in parameters(module, self.workload.entry):
            if name not in known:
                raise CannotGenerate(f"what it computes may depend on `{name}`, which is not known")
        unknown = unknown_attribute(module, owner, [tuple(name.split(".")) for name in self.workload.held])
        if unknown is not None:
            raise CannotGenerate(f"what it computes may depend on `self.{unknown}`, which is not known")
        told = {name: one for name, one in known.items() if one is not None or name.count(".") <= 1}
        return self._trained() + [
            _equal(name, one) for name, one in told.items() if not isinstance(one, (Tensor, Expr))
        ]

    def _as_made(self, known: Mapping[str, Any], attributes: set[str], asked: set[str], body: str) -> list[str]:
        """The same of a program that is given what the reference computes: of its arguments, and of the ``attributes`` that the
        constructor's have a say in, where ``body`` does not name them; its methods have ``asked`` for some."""
        named = set(re.findall(r"self(?:\.\w+|\[\d+\])+|\w+", body))
        made = {name for name in attributes if any(one.partition(".")[0] == name for one in self.workload.held)}
        for name in sorted((attributes - made) & asked):
            raise CannotGenerate(f"what it computes may depend on `self.{name}`, which is not known")
        found = list(dict.fromkeys([*self._trained(), *(["self.training"] if "training" in asked else [])]))
        for name, one in known.items():
            if isinstance(one, Expr) or (name.startswith("self.") and re.split(r"[.\[]", name)[1] not in attributes):
                continue
            if not isinstance(one, Tensor):
                # Layers of torch have no attribute for some of what they do without.
                unasked = name in named or (one is None and name.count(".") > 1)
                found += [] if unasked else [_equal(name, one)]
            elif name.startswith("self.") and name in self.used_inputs:
                found += _fixed_extents(name, one)
        return found

    def _trained(self) -> list[str]:
        """That what the reference asks whether it is in training is, or is not, as it was when that was read. Raises
        :class:`CannotGenerate` where the program has it the other way: it would be held to what it never is."""
        asked = [(path, modes) for path, modes in self.reference.modes.items() if path in self.reference.by_mode]
        found = []
        for path, modes in asked:
            own, name = self.workload.modes.get(path, modes), _spelled(f"self.{path}" if path else "self")
            if len(own | modes) > 1:
                raise CannotGenerate(f"`{name}` is in training in only one of the program and its reference")
            found += [f"{'' if mode else 'not '}{name}.training" for mode in modes if path in self.workload.modes]
        return found

    def _known(self) -> dict[str, Any]:
        """The arguments and what the object holds, by how they are spelled."""
        held = {_spelled(f"self.{name}"): one for name, one in self.workload.held.items()}
        return {**self.workload.arguments, **held}

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

            tile = self._writer(work, "", buffer_of)
            if not isinstance(tile, TileWriter):
                if tile.chunks and work.product is not None:
                    return {id(work.product): in_parts(work.product, tile.chunks)}
            elif tile.chunks:
                before = stored - buffers.keys()
                walked = (v for root in work.roots for v in root.value.walk(set(before)))
                inner = [v for v in walked if v.op == "reduce" and id(v) not in stored]
                inner += [root.target for root in work.roots if root.target.op == "reduce"]
                long = {id(v): v for v in inner if v.attributes["over"] == tile.over}
                first = [v for v in long.values() if not any(id(o) in long and o is not v for o in v.walk())]
                found = {id(v): in_parts(v, tile.chunks) for v in first}
                if found:
                    return found
        return {}

    def _result(self, value: Value) -> str:
        if value.op == "input":
            return self._here(value.attributes["path"])[0]
        return self.names[id(value)]

    def _writer(self, work: Work, name: str, buffer_of: Callable[[Value], Buffer | None]) -> _Writer:
        if work.sides is not None:
            return ReducedProductWriter(work, name, buffer_of, self.sizes, self.tiles)
        if work.product is None or work.product.op == "product":
            kind = TileWriter if work.product is None else ProductWriter
            return kind(work, name, buffer_of, self.sizes, self.tiles)
        return (HeldWriter if work.product.op == "held" else AttentionWriter)(work, name, buffer_of, self.sizes)

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
