"""Reads the steps of a workload into values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from typing import Any

from kernlint.generate.calls.loops import Filled, LoopReader, stacked
from kernlint.generate.calls.norms import batch_norm
from kernlint.generate.calls.table import FUNCTIONS, PAIRS
from kernlint.generate.calls.writer import ELEMENTWISE, Writer
from kernlint.generate.layouts import axes_of, conditions, index_of, rectangle
from kernlint.generate.values import (
    CannotGenerate,
    TooMuch,
    Value,
    View,
    identity,
    looked_through,
)
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.records import replace
from kernlint.workload import Call, Collected, Expr, HostSync, Repeat, Step, Tensor, TorchOp, Workload
from kernlint.workload.expr import Atom, lift

#: Torch's names for one operation.
_SAME = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg", "absolute": "abs",
    "clip": "clamp", "__and__": "bitwise_and", "<": "lt", "<=": "le", ">": "gt",
    ">=": "ge", "==": "eq", "!=": "ne", "concat": "cat", "concatenate": "cat",
    "mm": "matmul", "bmm": "matmul", "sgn": "sign", "amax": "amax", "amin": "amin", "swish": "silu", "take_along_dim": "gather",
}  # fmt: skip


#: Calls that copy the elements of their one operand.
_COPIES = frozenset(
    "contiguous clone to type type_as float half double bfloat16 int long bool char reshape view flatten copy cuda "
    "ravel".split()
)


#: Steps up to which it is worth writing anew.
_MOST_STEPS = 200


def refuse_many(steps: Sized) -> None:
    """Raise :class:`TooMuch` where there are more ``steps`` than are written anew."""
    if len(steps) > _MOST_STEPS:
        raise TooMuch(f"it makes {len(steps)} launches and calls of torch")


class Reader:
    """Reads the steps of a workload into values; ``sizes`` are numbers for the sizes that are left open."""

    #: What makes the values of functions that are no elementwise operation.
    functions: Mapping[str, Callable[[Writer], Value]] = FUNCTIONS

    def __init__(self, workload: Workload, sizes: Mapping[Atom, float]) -> None:
        self.workload = workload
        self.sizes = sizes
        #: By storage: the value that it holds, and the tensor whose axes are those of the value.
        self.holds: dict[int, tuple[Value, Tensor]] = {}
        self.inputs: dict[int, Value] = {}
        #: What the rounds of a loop have put into lists, by the storage of the last.
        self.filled: dict[int, Filled] = {}
        #: The symbols for the place of a round of a loop.
        self.rounds = {step.round for step in workload.all_steps if isinstance(step, Repeat)}
        #: What must not be below zero for all views to lie within their tensors.
        self.within: dict[Expr, None] = {}
        self._begin()
        refuse_many(workload.steps)
        for step in workload.steps:
            self._step(step)

    def _begin(self) -> None:
        """Note what is there before the first step."""
        for name, tensor in self.workload.arguments.items():
            if isinstance(tensor, Tensor):
                self._input(name, tensor)
        for path, tensor in self.workload.held.items():
            if isinstance(tensor, Tensor) and tensor.storage.id not in self.holds:
                self._input(f"self.{path}", tensor)

    def _step(self, step: Step) -> None:
        if isinstance(step, Repeat):
            LoopReader(self, step).read()
            return
        if isinstance(step, HostSync):
            return  # what the host reads of it is a number that is not known
        if not isinstance(step, TorchOp):
            raise CannotGenerate("the reference has a kernel launch that is no torch function")
        self.read(step)

    def _input(self, path: str, tensor: Tensor) -> None:
        if tensor.shape is None or tensor.dtype is None:
            raise CannotGenerate(f"the shape of `{path}` is not known")
        value = Value("input", tensor.shape, tensor.dtype, attributes={"path": path}, name=path.rpartition(".")[2])
        self.inputs[tensor.storage.id] = value
        self.holds[tensor.storage.id] = value, tensor

    def view(self, tensor: Tensor) -> View:
        """``tensor`` as a view of the value that its memory holds."""
        if tensor.storage.id not in self.holds:
            raise CannotGenerate(f"it is not known what `{tensor.name}` holds")
        value, base = self.holds[tensor.storage.id]
        if tensor.dtype != base.dtype:
            raise CannotGenerate(f"bits of {base.dtype} looked at as {tensor.dtype}")
        if tensor.name and not value.name and tensor.shape == base.shape:
            object.__setattr__(value, "name", tensor.name)  # the source names a result after it has made it
        places = index_of(base, tensor, self.sizes)
        for one in conditions(base, tensor, places):
            if one.value is not None:
                raise CannotGenerate(f"a view that goes beyond `{tensor.name or base.name}`")
            if not any(atom in self.rounds for atom in one.atoms()):
                self.within[one] = None
        return View(value, places)

    def updates(self) -> dict[str, Value]:
        """What becomes of the arguments, and of what the object holds, that are changed in place: by their paths."""
        found = {}
        for storage, value in self.inputs.items():
            now, base = self.holds[storage]
            if now.op == "scattered" and now.operands[0].value is value:
                found[value.attributes["path"]] = now  # at the places that it tells; elsewhere it stays as it is
            elif now is not value:
                made = Value("cast", now.shape, now.dtype, (now.view,), name=value.name)
                self.holds[storage] = made, base
                found[value.attributes["path"]] = made
        return found

    # -- steps ------------------------------------------------------------------------------------------------------

    def read(self, step: TorchOp) -> None:
        """What ``step`` makes is known afterwards."""
        call = step.call
        given = call.kwargs.get("out") if call is not None else None
        if given is not None and not any(isinstance(given, Tensor) and given.storage == t.storage for t in step.writes):
            raise CannotGenerate(f"torch function {step.name} with `out`")
        if call is not None and len(step.writes) == 2 and call.function in PAIRS:
            self._read_pair(step, call)
            return
        if call is None or len(step.writes) > 1:
            raise CannotGenerate(f"torch function {step.name} with arguments that are not known")
        name = call.function
        if not step.writes or step.writes[0].shape is None or step.writes[0].dtype is None:
            raise CannotGenerate(f"the result of torch function {step.name} is not known")
        out = call.args[0] if name in ("index_put", "index_put_", "fill_diagonal_") else step.writes[0]
        writer = Writer(self.view, self.sizes, out, call)
        if name == "setitem":
            self._set(writer, out, call)
            return
        if call.args and isinstance(call.args[0], Collected):
            if name not in ("stack", "cat", "concat", "concatenate"):
                raise CannotGenerate(f"torch function {name} of a list that a loop fills")
            axis = writer.axis(writer.argument(1, "dim", 0), len(out.shape or ()))
            self.holds[out.storage.id] = stacked(self, call.args[0], out, axis, name == "stack"), out
            return
        made = self._called(writer, call)
        held = self.holds.get(out.storage.id)
        if held is not None and (held[1].shape, held[1].strides, held[1].offset) != (
            out.shape,
            out.strides,
            out.offset,
        ):
            self._put(out, made.view)
        else:
            # Its axes may be those of memory in a finer cut.
            same = made.shape == out.shape
            base = out if same else replace(out, shape=made.shape, strides=contiguous_strides(made.shape))
            self.holds[out.storage.id] = replace_name(made, out), base
            self.filled.pop(out.storage.id, None)  # what a loop made of it is no more

    def made(self, step: TorchOp) -> Value:
        """What ``step``, which changes a part of a tensor, makes there."""
        out, call = step.writes[0], step.call
        if (
            call is None
            or len(step.writes) != 1
            or out.shape is None
            or any(isinstance(one, Collected) for one in call.args)
        ):
            raise CannotGenerate(f"torch function {step.name} with arguments that are not known")
        writer = Writer(self.view, self.sizes, out, call)
        if call.function == "setitem":
            return writer.cast(writer.spread(call.args[1], len(out.shape)), writer.dtype)
        return writer.cast(View(self._called(writer, call), identity(out.shape)), writer.dtype)

    def _called(self, writer: Writer, call: Call) -> Value:
        name = call.function
        in_place = name.endswith("_") and not name.startswith("_")
        plain = name.rstrip("_") if in_place else name
        made = self._batch_norm(writer) if name == "batch_norm" else self._made(writer, _SAME.get(plain, plain))
        if plain not in _COPIES:
            writer.refuse_unread()
        return made

    def _read_pair(self, step: TorchOp, call: Call) -> None:
        writer = Writer(self.view, self.sizes, step.writes[0], call)
        both = PAIRS[call.function](writer)
        writer.refuse_unread()
        for out, made in zip(step.writes, both):
            if made is not None:
                self.holds[out.storage.id] = replace_name(made, out), out

    def _made(self, w: Writer, name: str) -> Value:
        """What the torch function ``name`` makes."""
        if name in _COPIES:
            return w.cast(self._copied(w, w.args[-1] if name == "copy" else w.args[0], name), w.dtype)
        handler = self.functions.get(name)
        if handler is not None:
            return handler(w)
        count = ELEMENTWISE.get(name)
        operands = [*w.args, *(v for v in w.kwargs.values() if isinstance(v, (Tensor, float, int)))]
        if count is None or len(operands) < count:
            raise CannotGenerate(f"torch function {w.call.function}")
        if len(operands) > count:
            raise CannotGenerate(f"torch function {w.call.function} with {len(operands)} arguments")
        return w.map(name, *operands)

    def _batch_norm(self, w: Writer) -> Value:
        made, statistics = batch_norm(w)
        for kept, value in statistics:
            self._put(kept, value.view)
        return made

    def _copied(self, w: Writer, given: Any, name: str) -> View:
        """The operand of a copy as it is looked at from the result: elements keep their order where the axes become others."""
        if not isinstance(given, Tensor) or given.shape == w.shape:
            return w.operand(given)
        if name not in ("reshape", "view", "flatten", "ravel"):
            return w.spread(given, len(w.shape))
        shape = given.shape or ()
        view = w.operand(given)
        value = Value("cast", shape, given.dtype or w.dtype, (view,))
        base = replace(given, strides=contiguous_strides(shape), offset=0)
        return View(value, index_of(base, replace(w.out, strides=contiguous_strides(w.shape), offset=0), self.sizes))

    def _set(self, writer: Writer, out: Tensor, call: Call) -> None:
        """An assignment to a rectangular part of a tensor."""
        self._put(out, writer.spread(call.args[1], len(out.shape or ())))

    def _put(self, out: Tensor, given: View) -> None:
        """``out``, a rectangular part of a tensor, becomes ``given``: there the new elements are, elsewhere the old ones."""
        if out.storage.id not in self.holds:
            raise CannotGenerate("an assignment to a part of a tensor that is not known")
        old, base = self.holds[out.storage.id]
        bounds, back = rectangle(base, index_of(base, out, self.sizes), axes_of(out))
        index = looked_through(given.index, [back.get(d, lift(0)) for d in range(len(out.shape or ()))])
        views = View(given.value, index), old.view
        made = Value("choose", old.shape, old.dtype, views, {"cases": (bounds, ())})
        self.holds[out.storage.id] = made, base
        self.filled.pop(out.storage.id, None)


def replace_name(value: Value, tensor: Tensor) -> Value:
    """``value`` called as the source calls the tensor."""
    if not tensor.name or value.name or value.op == "input":
        return value
    return Value(value.op, value.shape, value.dtype, value.operands, value.attributes, tensor.name)
