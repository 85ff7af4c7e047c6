"""Recurrences whose places need one another, as of a state that is multiplied by a matrix in each round: a program for each element that
they do not mix goes through the rounds with all states in registers.

Each value is a block with an axis for each of its own that is *held*; the other axes are of programs, or the round itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.held_axes import MOST_HELD, Classes, is_end, moves, rounds_of
from kernlint.generate.helpers import helper
from kernlint.generate.kernel import Kernel, arguments, function_text, product_of
from kernlint.generate.printer import Names, Printer
from kernlint.generate.scans import is_held, is_lag
from kernlint.generate.spelling import REPEATS, number, operation, wrapped
from kernlint.generate.terms import Buffer, Terms, register_type
from kernlint.generate.values import CannotGenerate, Named, Value, View, lane, lanes_of
from kernlint.generate.work import Root, Work
from kernlint.workload import Dtype, Expr, Size
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift

_REDUCED = {"sum": "0.0", "max": 'float("-inf")', "min": 'float("inf")'}


#: What makes a block, of numbers too.
_SPREADS = frozenset({"reduce", "product", "choose", "held"})


def _is_one_number(value: Value) -> bool:
    """Whether all elements of ``value`` are one number, which is written without axes."""
    return all(one.op == "number" or (one.operands and one.op not in _SPREADS) for one in value.walk())


def _extents(blocks: Sequence[int]) -> str:
    return f"({', '.join(map(str, blocks))}{',' if len(blocks) == 1 else ''})"


class HeldWriter:
    """Writes the kernel of ``work``, whose roots are made of the states ``work.product.attributes["carried"]``."""

    chunks = 0

    def __init__(
        self, work: Work, name: str, buffer_of: Callable[[Value], Buffer | None], sizes: Mapping[Atom, float]
    ) -> None:
        assert work.product is not None
        self.work, self.name, self.sizes = work, name, sizes
        self.held = work.product
        targets = {id(root.target) for root in work.roots}
        self.buffer_of = lambda value: None if id(value) in targets else buffer_of(value)
        self.outs = [buffer for root in work.roots if (buffer := buffer_of(root.target)) is not None]
        self.states: tuple[Value, ...] = self.held.attributes["carried"]
        if any(one.dtype.kind == "bool" for one in (*self.states, *(root.value for root in work.roots))):
            raise CannotGenerate("a recurrence of truth values")
        views = self.held.operands
        self.first, self.update = views[: len(self.states)], views[len(self.states) :]
        self.classes = Classes([*(root.value for root in work.roots), *(view.value for view in views)], self)
        self.names = Names()
        self.names.taken |= {f"{one.name}_ptr" for one in self.outs} | {"round", "step"}
        self.read: dict[str, Buffer] = {}
        self.helpers: dict[str, str] = {}
        self.printer = Printer(Terms(self.buffer_of), self.names, {}, lambda lanes: "", {})
        self.lines: list[str] = []
        #: Those before the loop, and the values that are known there.
        self.before = self.lines
        self.kept: set[int] = set()
        self.loads: dict[tuple[str, int], str] = {}
        #: The variables of the states before and after their update in a round, and after all rounds.
        self._old: dict[int, str] = {}
        self._new: dict[int, str] = {}
        self._final: dict[int, str] = {}
        #: The variables of values, by identity.
        self.known: dict[int, str] = {}

    # -- text -------------------------------------------------------------------------------------------------------

    def write(self) -> Kernel:
        self.classes.deal_out([(root.value, self._time_of(root)) for root in self.work.roots])
        grid = self._place()
        rounds = self.printer.expression(lift(self.held.shape[-1]))[0]
        names = []
        for state, view in zip(self.states, self.first):
            names.append(self.names.new(state.name or "state"))
            kept = self.classes.kept(state, len(state.shape) - 1)
            text = self._look(view, state, len(state.shape) - 1)
            kind = register_type(state.dtype)
            if kept:
                text = f"tl.full({self._shape(state, kept)}, 0, dtype=tl.{kind}) + {text}"
            self.lines.append(f"{names[-1]} = {text}")
        outer, self.lines, self.before = self.lines, [], self.lines
        before = dict(self.known)
        self.known |= {id(state): name for state, name in zip(self.states, names)}
        new = [self._bound(view.value, len(view.value.shape) - 1) for view in self.update]
        self._old, self._new = (dict(zip(map(id, self.states), found)) for found in (names, new))
        ends_of = dict[int, str]()
        moving = [root for root in self.work.roots if self._time_of(root) is not None]
        for root in moving:
            self._store(root)
        ends = {id(view.value): view.value for view in self._ends()}
        body = self.lines
        for value in ends.values():
            text = self._bound(value, len(value.shape) - 1)
            kept = self.classes.kept(value, len(value.shape) - 1)
            name = self.names.new(f"last_{value.name or 'value'}")
            outer.append(
                f"{name} = tl.zeros({self._shape(value, kept)}, dtype=tl.{register_type(value.dtype)})"
                if kept
                else f"{name} = 0.0"
            )
            body.append(f"{name} = {text}")
            ends_of[id(value)] = name
        body = body + [f"{name} = {after}" for name, after in zip(names, new)]
        self.lines, self.known = outer, before | {key: one for key, one in self.known.items() if key in self.kept}
        if self.held.attributes["backwards"]:
            self.lines += [f"for step in range(0, {rounds}):", f"    round = {wrapped((rounds, 0), 6)} - 1 - step"]
        else:
            self.lines.append(f"for round in range(0, {rounds}):")
        self.lines += [f"    {line}" for line in body]
        self._final = {**dict(zip(map(id, self.states), names)), **ends_of}
        for root in self.work.roots:
            if root not in moving:
                self._store(root)
        used = re.findall(r"\w+", "\n".join(self.lines))
        self.lines = [one for one in self.lines if " = tl.arange" not in one or used.count(one.split()[0]) > 1]
        text = "\n".join(self.lines)
        if any(one.name in self.read for one in self.outs):
            raise CannotGenerate("an argument that is changed in place while a recurrence needs it")
        buffers = arguments(text, self.read.values(), self.outs)
        parameters = [f"{buffer.name}_ptr" for buffer, _ in buffers]
        parameters += self.names.parameters()
        warps = 8 if self.most > MOST_HELD // 4 else 4 if self.most > 512 else 1
        return Kernel(self.name, function_text(self.name, parameters, self.lines), grid, tuple(buffers), self.names.sizes,
                      self.names.numbers, {}, warps, helpers=self.helpers)  # fmt: skip

    def _time_of(self, root: Root) -> int | None:
        return rounds_of(root.value, lambda value: self.buffer_of(value) is not None)

    def _ends(self) -> list[View]:
        """What is needed of the last round beside the states."""
        values = (value for root in self.work.roots for value in root.value.walk())
        return [one.operands[0] for one in values if is_end(one) and not is_held(one.operands[0].value)]

    def _place(self) -> tuple[tuple[tuple[Size, str], ...], ...]:
        """Write the places along all axes; the grid."""
        classes, self.most = self.classes, 1
        programs: list[tuple[Size, str]] = []
        rest = "tl.program_id(0).to(tl.int64)"
        outer = [one for one in classes.batch if classes.extent(one).value != 1]
        lines = []
        for place, one in enumerate(reversed(outer)):
            name = self.names.new("ijklmno"[place % 7])
            extent = wrapped(self.printer.expression(classes.extent(one)), 7)
            last = place == len(outer) - 1
            lines.append(f"{name} = {rest}" if last else f"{name} = {rest} % {extent}")
            rest = f"{rest} // {extent}"
            classes.places[one] = name
            programs.append((classes.extent(one), ""))
        self.lines += lines
        grid: list[tuple[tuple[Size, str], ...]] = [tuple(reversed(programs)) or ((1, ""),)]
        if classes.tiled is not None:
            blocks = ex.ceildiv(classes.extent(classes.tiled), classes.blocks[classes.tiled])
            grid.append(((blocks, ""),))
        for one, block in classes.blocks.items():
            name = self.names.new("at")
            start = f"tl.program_id(1).to(tl.int64) * {block} + " if one == classes.tiled else ""
            self.lines.append(f"{name} = {start}tl.arange(0, {block})")
            classes.places[one] = name
            length = classes.extent(one)
            if length.value is None or length.value % block:
                classes.masks[one] = f"({name}%s < {wrapped(self.printer.expression(length), 5)})"
        return tuple(grid)

    def _shape(self, value: Value, kept: Sequence[int]) -> str:
        return _extents([self.classes.blocks[self.classes.of(value, d)] for d in kept])

    def _store(self, root: Root) -> None:
        time = self._time_of(root)
        (buffer,) = (one for one, other in zip(self.outs, self.work.roots) if other is root)
        text = self._bound(root.value, time)
        kept = self.classes.kept(root.value, time)
        address = self._address(buffer, [lane(d) for d in range(len(root.value.shape))], root.value, time, kept)
        mask = self._mask(root.value, kept, set(kept))
        if kept and math.prod(self.classes.blocks[self.classes.of(root.value, d)] for d in kept) > 1:
            text = f"tl.full({self._shape(root.value, kept)}, 0, dtype=tl.{register_type(root.value.dtype)}) + {text}"
        self.lines.append(f"tl.store({buffer.name}_ptr + {address}, {text}{f', mask={mask}' if mask else ''})")

    # -- values -----------------------------------------------------------------------------------------------------

    def _bound(self, value: Value, time: int | None) -> str:
        """The variable of ``value``, whose axis ``time`` is that of the rounds."""
        if id(value) not in self.known:
            still = self.lines is not self.before and time is None and not any(map(moves, value.walk()))
            inside, self.lines = self.lines, self.before if still else self.lines
            self.kept |= {id(value)} if still else set()
            text = self._text(value, time)
            if not text.isidentifier():
                text = self._variable(text, value.name or value.op)
            self.known[id(value)], self.lines = text, inside
        return self.known[id(value)]

    def _variable(self, text: str, wish: str) -> str:
        """The variable that is ``text``; the same one for the same."""
        key = text, id(self.lines)
        if key not in self.loads:
            self.loads[key] = self.names.new(wish)
            self.lines.append(f"{self.loads[key]} = {text}")
        return self.loads[key]

    def _text(self, value: Value, time: int | None) -> str:
        op, dtype = value.op, register_type(value.dtype)
        if op == "carried":
            raise CannotGenerate("a state of another recurrence")
        if is_held(value):
            return self._state(value, self._new)
        if is_lag(value):
            return self._state(value.operands[0].value, self._old)
        if op == "number":
            return self._number(value, dtype)
        if op == "place":
            text = self._expression(value.attributes["at"], value, time, self.classes.kept(value, time))
            return f"({text})"
        if is_end(value):
            inner = value.operands[0].value
            if not is_held(inner) and id(inner) in self._final:
                return self._final[id(inner)]
            return self._state(inner, self._final)
        if op in ("reduce", "product"):
            return self._summed(value, time)
        if op == "choose":
            return self._chosen(value, time)
        if op == "cast":
            return self._cast(value, time)
        if op in ("pick", "scattered", "partial", "scan", "attention", "scores", "input"):
            raise CannotGenerate(f"a recurrence with a {op} inside")
        operands = [(self._converted(view, value, time, dtype), 9) for view in value.operands]
        if op in REPEATS and not operands[0][0].isidentifier():
            name = self.names.new("x")
            self.lines.append(f"{name} = {operands[0][0]}")
            operands[0] = (name, 9)
        return operation(op, operands, dtype)[0]

    @staticmethod
    def _state(value: Value, known: Mapping[int, str]) -> str:
        """The variable of the state that ``value`` is of."""
        states = value.attributes.get("carried", ())
        key = id(states[value.attributes["state"]]) if states else 0
        if key not in known:
            raise CannotGenerate("a state of another recurrence")
        return known[key]

    def _converted(self, view: View, value: Value, time: int | None, dtype: Dtype) -> str:
        own = view.value
        if own.op == "number" and not isinstance(own.attributes["value"], Expr):
            if value.dtype.kind == "bool" or (value.op == "where" and view is value.operands[0]):
                doubles = any(one.value.dtype == dt.FLOAT64 for one in value.operands if one.value.op != "number")
                dtype = dt.FLOAT64 if doubles else register_type(own.dtype)
            return self._number(own, dtype)
        text = self._look(view, value, time)
        if dtype.is_float and own.op == "place" and value.dtype.kind != "bool":
            return f"({text} * 1.0)"
        if dtype.is_float and not own.dtype.is_float and own.dtype.kind != "bool" and value.dtype.kind != "bool":
            return f"{text}.to(tl.{dtype})"
        return text

    def _number(self, value: Value, dtype: Dtype) -> str:
        given = value.attributes["value"]
        if isinstance(given, Expr):
            return f"({self.printer.expression(given)[0]})"
        return f"({self.names.number(given, dtype)[0]})"

    def _cast(self, value: Value, time: int | None) -> str:
        (view,) = value.operands
        source, target = view.value.dtype, value.dtype
        if view.value.op == "number":
            given = view.value.attributes["value"]
            if isinstance(given, (Named, Expr)) or target.bits < 32:
                raise CannotGenerate("a recurrence with numbers that are converted")
            return f"({number(float(given) if target.is_float else int(given), target)[0]})"
        text = self._look(view, value, time)
        if target.kind == "bool" and source.kind != "bool":
            raise CannotGenerate("a recurrence with numbers as truth values")
        if target.is_float and target.bits < 32 and source != target:
            return f"{text}.to(tl.{target}).to(tl.float32)"
        return text if register_type(source) == register_type(target) else f"{text}.to(tl.{register_type(target)})"

    def _summed(self, value: Value, time: int | None) -> str:
        """A reduction, or a product that is summed, over axes behind those of ``value``."""
        rank, over = len(value.shape), value.attributes["over"]
        kept = [*self.classes.kept(value, time), *range(rank, rank + len(over))]
        kept = [d for d in kept if d < rank or self.classes.of(value, d) in self.classes.blocks]
        blocks = [self.classes.blocks[self.classes.of(value, d)] for d in kept]
        self.most = max(self.most, math.prod(blocks))
        if math.prod(blocks) > MOST_HELD:
            raise CannotGenerate("a recurrence whose rounds are too large for one program")
        dtype = register_type(value.dtype)
        if dtype != dt.FLOAT32:
            raise CannotGenerate(f"a recurrence with sums in {dtype}")
        kind = "sum" if value.op == "product" else value.attributes["kind"]
        parts = [self._look(view, value, time, kept) for view in value.operands]
        text = " * ".join(wrapped((one, 0 if not one.isidentifier() else 9), 9) for one in parts)
        axes = [place for place, d in enumerate(kept) if d >= rank]
        full = f"tl.full({_extents(blocks)}, 0, dtype=tl.float32)"
        body = self._variable(f"{full} + {text}", "body")
        mask = self._mask(value, kept, {d for d in kept if d >= rank})

        def reduced(function: str, inner: str, outside: str) -> str:
            inner = f"tl.where({mask}, {inner}, {outside})" if mask else inner
            for axis in reversed(axes):
                inner = function % (inner, axis)
            return inner

        total = "tl.sum(%s, axis=%d)"
        if not axes:
            raise CannotGenerate("a recurrence with a sum over one element")
        if kind == "sum":
            return reduced(total, body, "0.0")
        if kind in ("max", "min"):
            return reduced(f"tl.reduce(%s, %d, {self._helper(f'{kind}imum')})", body, _REDUCED[kind])
        spread = "".join(", None" if d >= rank else ", :" for d in kept)[2:]
        if kind == "expsum":
            largest = f"tl.reduce(%s, %d, {self._helper('maximum')})"
            top = self._variable(reduced(largest, body, _REDUCED["max"]), "top")
            low = top if len(axes) == len(kept) else f"{top}[{spread}]"
            return reduced(total, f"tl.exp({body} - {low})", "0.0")
        if kind == "m2":
            mean = self.names.new("mean")
            count = self.printer.expression(lift(product_of(over)))[0]
            self.lines.append(f"{mean} = {reduced(total, body, '0.0')} / {wrapped((count, 0), 7)}")
            far = f"({body} - {mean if len(axes) == len(kept) else f'{mean}[{spread}]'})"
            return reduced(total, f"{far} * {far}", "0.0")
        raise CannotGenerate(f"a recurrence with a reduction {kind}")

    def _helper(self, kind: str) -> str:
        name, source = helper(kind)
        self.helpers[name] = source
        return name

    def _chosen(self, value: Value, time: int | None) -> str:
        kept = self.classes.kept(value, time)
        texts = [self._look(view, value, time) for view in value.operands]
        made = texts[-1]  # the last takes what is left
        for text, bounds in reversed(list(zip(texts, value.attributes["cases"]))[:-1]):
            conditions = []
            for low, place, high in bounds:
                at = self._expression(place, value, time, kept)
                conditions.append(f"({at} >= {self._expression(low, value, time, kept)})")
                if high is not None:
                    conditions.append(f"({at} < {self._expression(high, value, time, kept)})")
            made = f"tl.where({' & '.join(conditions)}, {text}, {made})"
        return made

    # -- places -----------------------------------------------------------------------------------------------------

    def _look(self, view: View, value: Value, time: int | None, kept: Sequence[int] | None = None) -> str:
        """What ``view`` shows from ``value``, as a block over the axes ``kept`` of it."""
        kept = self.classes.kept(value, time) if kept is None else kept
        buffer = self.buffer_of(view.value)
        if buffer is not None:
            self.read[buffer.name] = buffer
            address = self._address(buffer, view.index, value, time, kept)
            used = lanes_of(view.index)
            mask = self._mask(value, kept, used & set(kept))
            dtype = buffer.value.dtype
            zero = "0.0" if dtype.is_float else "0"
            text = f"tl.load({buffer.name}_ptr + {address}{f', mask={mask}, other={zero}' if mask else ''})"
            wanted = register_type(dtype)
            convert = f".to(tl.{wanted.triton})" if wanted != dtype or dtype.kind == "bool" else ""
            lines = self.lines if "round" in re.findall(r"\w+", address) else self.before
            if (text, id(lines)) not in self.loads:
                self.loads[text, id(lines)] = self.names.new(view.value.name or "x")
                lines.append(f"{self.loads[text, id(lines)]} = {text}{convert}")
            return self.loads[text, id(lines)]
        inner = view.value
        if _is_one_number(inner):
            return self._bound(inner, None)
        places = dict(enumerate(view.index))
        inner_time = next((d for d, place in places.items() if time is not None and place == lane(time)), None)
        if inner.op != "number" and (is_held(inner) or is_lag(inner)) and inner_time != len(inner.shape) - 1:
            raise CannotGenerate("a recurrence that looks at another round")
        if any(time in lanes_of((place,)) for d, place in places.items() if d != inner_time) and time is not None:
            raise CannotGenerate("a recurrence that looks at another round")
        text = self._bound(inner, inner_time)
        own = self.classes.kept(inner, inner_time)
        blocks = [self.classes.blocks[self.classes.of(inner, d)] for d in own]
        order: list[int] = []
        for d in own:
            place = view.index[d]
            among = [at for at in lanes_of((place,)) if at in kept]
            if len(among) > 1 or any(at in lanes_of([view.index[e] for e in own if e != d]) for at in among):
                raise CannotGenerate("a recurrence in which places are moved aslant")
            own_class = self.classes.of(inner, d)
            if [(place, own_class)] != [(lane(at), self.classes.of(value, at)) for at in among]:
                full = f"tl.full({_extents(blocks)}, 0, dtype=tl.{register_type(inner.dtype)}) + {text}"
                if among:
                    count = self.classes.blocks[self.classes.of(value, among[0])]
                    at = self._expression(place, value, time, among)
                    text = self._gathered(full, blocks, len(order), at, count)
                    blocks[len(order)] = count
                else:
                    text = self._picked(full, blocks, len(order), self._expression(place, value, time, ()))
                    del blocks[len(order)]
            order += among
        self._refuse_moved(view, value, inner_time)
        if not order or (len(kept) == len(own) and order == list(kept)):
            return text
        ranked = sorted(order, key=list(kept).index)
        if ranked != order:
            text = f"tl.permute({text}, ({', '.join(str(order.index(d)) for d in ranked)}))"
        return (
            text if len(ranked) == len(kept) else f"{text}[{', '.join(':' if d in ranked else 'None' for d in kept)}]"
        )

    def _gathered(self, text: str, blocks: Sequence[int], axis: int, places: str, count: int) -> str:
        """``text``, a block of extents ``blocks``, at ``count`` other ``places`` along ``axis``; where these lie outside of it, some
        element."""
        spread = ", ".join(":" if d == axis else "None" for d in range(len(blocks)))
        inside = f"tl.minimum(tl.maximum({places}, 0), {blocks[axis] - 1})"
        index = inside
        if len(blocks) > 1:
            shape = [*blocks]
            shape[axis] = count
            index = f"tl.broadcast_to(({inside})[{spread}], {_extents(shape)})"
        return self._variable(f"tl.gather({text}, {index}, {axis})", "moved")

    def _picked(self, text: str, blocks: Sequence[int], axis: int, place: str) -> str:
        """The elements of ``text``, a block of extents ``blocks``, at one ``place`` along ``axis``."""
        spread = ", ".join(":" if d == axis else "None" for d in range(len(blocks)))
        along = f"tl.arange(0, {blocks[axis]})" + (f"[{spread}]" if len(blocks) > 1 else "")
        return self._variable(f"tl.sum(tl.where({along} == {place}, {text}, 0), axis={axis})", "picked")

    def _refuse_moved(self, view: View, value: Value, inner_time: int | None) -> None:
        """Raise where ``view`` looks at another place along an axis of programs than that of the program: each knows its own alone."""
        for d, (place, extent) in enumerate(zip(view.index, view.value.shape)):
            if d == inner_time or lift(extent).value == 1:
                continue
            if self.classes.of(view.value, d) in self.classes.blocks:
                continue
            (at,) = lanes_of((place,)) if len(lanes_of((place,))) == 1 else (-1,)
            if place != lane(at) or self.classes.of(value, at) != self.classes.of(view.value, d):
                raise CannotGenerate("a recurrence in which places are moved")

    def _address(
        self, buffer: Buffer, index: Sequence[Expr], value: Value, time: int | None, kept: Sequence[int]
    ) -> str:
        return wrapped((self._expression(buffer.address(index), value, time, kept), 5), 5)

    def _expression(self, expr: Expr, value: Value, time: int | None, kept: Sequence[int]) -> str:
        places = {}
        for d in lanes_of((expr,)):
            name = "round" if d == time else self.classes.places.get(self.classes.of(value, d))
            if name is None:
                raise CannotGenerate("a recurrence with an index that is not known")
            if d in kept and len(kept) > 1:
                name = f"{name}[{', '.join(':' if one == d else 'None' for one in kept)}]"
            places[d] = name
        self.printer.places = places
        return self.printer.expression(expr)[0]

    def _mask(self, value: Value, kept: Sequence[int], used: set[int]) -> str:
        found = []
        for d in kept:
            mask = self.classes.masks.get(self.classes.of(value, d))
            if d in used and mask is not None:
                suffix = f"[{', '.join(':' if one == d else 'None' for one in kept)}]" if len(kept) > 1 else ""
                found.append(mask % suffix)
        return " & ".join(found)
