"""A loop that accumulates one element per iteration becomes a loop over blocks that are scanned at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import libcst as cst

from kernlint.records import dataclass
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import FunctionSource, LaunchSource
from kernlint.rewrite.lists import add_constexpr
from kernlint.rewrite.names import fresh_name, names_in_use
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.rules.algorithm.cascade import cascade
from kernlint.rules.algorithm.kl503_sequential_scalar_scan import BlockScan, ScalarScan, block_size, scalar_scans
from kernlint.rules.proofs.iteration import Iteration, iteration
from kernlint.rules.proofs.source_text import bound_names
from kernlint.syntax.walk import walk
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt
from kernlint.workload.values import Value

_UNKNOWN = "no scan is known to do this update"
#: What leaves the result of each kind of update as it is.
_NEUTRAL = {"sum": "0.0", "product": "1.0", "maximum": 'float("-inf")', "minimum": 'float("inf")', "linear": "0.0"}

#: What binds less than a method's dot.
_LOOSE = (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.IfExp, cst.Comparison)

#: Functions that join two steps of a scan.
_COMBINES = {
    "linear": (
        "def {name}(a1, b1, a2, b2):\n"
        '    """Two steps h -> a1 * h + b1 and h -> a2 * h + b2 as one."""\n'
        "    return a1 * a2, a2 * b1 + b2\n"
    ),
    "maximum": "def {name}(a, b):\n    return {tl}.maximum(a, b)\n",
    "minimum": "def {name}(a, b):\n    return {tl}.minimum(a, b)\n",
}


@codemod(BlockScan, Effects(numerics="reordered"))
def block_scan(site: Site, transform: BlockScan) -> list[TextEdit] | Rewriting:
    """The loop's variable becomes a block of positions, each carried variable a scan with a carry between blocks."""
    place = LaunchSource(site, transform.launch)
    place.check_only_launch()
    found = next((scan for scan in scalar_scans(place.launch) if scan.loop.span == transform.loop), None)
    loop = site.source.at(transform.loop, cst.For)
    if found is None or loop not in place.kernel:
        raise CannotRewrite("the loop stands in a helper function")
    if found.rows != 1 or any(access.shape for access in (*found.loads, *found.stores)):
        raise CannotRewrite("a program handles several rows at a time")
    if not found.stores:
        raise CannotRewrite("the loop stores nothing, so that its results are to be reduced")
    order, steps = cascade(place.launch.kernel, found.loop), iteration(place.launch.kernel, found.loop)
    if order is None or steps is None:
        raise CannotRewrite(_UNKNOWN)
    if order.coupled:
        raise CannotRewrite("the carried variables need each other")
    others = [phi.name for phi in steps.carried if phi.name not in order.kinds]
    if others:
        raise CannotRewrite(f"`{others[0]}` moves on in the loop, and is none of its sums")
    types = {phi.name: _type_of(steps, phi) for phi in steps.carried}
    edits = _BlockScan(site.source, place, found, loop, order.kinds, types).edits()
    loaded = [phi.name for phi in steps.carried if steps.begin(phi).op not in ("constant", "full", "cast")]
    if not loaded:
        return edits
    note = f"where `{loaded[0]}` begins as a half it would have to stay one"
    return Rewriting(tuple(edits), Effects("unsafe", "reordered", notes=(note,)))


def _type_of(steps: Iteration, phi: Value) -> Dtype:
    """The type that the variable of ``phi`` has in every iteration: what begins as a plain number is no narrower than float32."""
    dtype = steps.end(phi).dtype or dt.FLOAT32
    if not dtype.is_float or dtype.bits >= 32:
        return dtype
    if steps.begin(phi).dtype is not None:
        raise CannotRewrite(f"`{phi.name}` is rounded to {dtype} in each iteration")
    return dt.FLOAT32


@dataclass(frozen=True)
class _Update:
    """``statement`` gives the carried variable ``name`` its next value, in the way ``kind`` (sum, product, maximum,
    minimum, linear) from ``terms``: the value added or compared; (coefficient, offset) of a linear recurrence."""

    name: str
    kind: str
    statement: cst.CSTNode
    terms: tuple[str | None, ...]
    negative: bool = False


class _BlockScan:
    def __init__(
        self,
        source: Source,
        place: LaunchSource,
        found: ScalarScan,
        loop: cst.For,
        kinds: Mapping[str, str],
        types: Mapping[str, Dtype],
    ) -> None:
        self.source = source
        self.place = place
        self.kernel: FunctionSource = place.kernel
        self.found = found
        self.loop = loop
        self.kinds = kinds
        self.types = types
        self.tl = place.tl
        if not isinstance(loop.body, cst.IndentedBlock) or loop.orelse is not None:
            raise CannotRewrite("the loop is not a plain block")
        if any(isinstance(node, (cst.If, cst.For, cst.While, cst.IfExp)) for node in walk(loop.body)):
            raise CannotRewrite("the loop's body branches")
        if not isinstance(loop.target, cst.Name):
            raise CannotRewrite("the loop has no single variable")
        self.index = loop.target.value
        self.taken = names_in_use(source.module)
        self.block = fresh_name("BLOCK_SIZE", self.taken)
        self.start = fresh_name("start", self.taken)
        self.offsets = fresh_name("offsets", self.taken)
        self.mask = fresh_name("mask", self.taken)
        self.stop = self._stop()
        #: What differs from one iteration to the next without the carried variables; these, and what is made of them.
        self.moving = self._names_made_of({self.index}, set(kinds))
        self.carried = self._names_made_of(set(kinds))
        self._blocks: dict[str, str] = {}
        self._combines: dict[str, str] = {}
        self.accesses = [edit for call in self._calls() for edit in self._masked(call)]

    # -- what the loop does -----------------------------------------------------------------------------------------

    def _stop(self) -> cst.BaseExpression:
        call = self.loop.iter
        if isinstance(call, cst.Call) and (self.source.origin(call.func) or "").rpartition(".")[2] == "range":
            args = [arg.value for arg in call.args if arg.keyword is None]
            if len(args) == 1:
                return args[0]
            zero = isinstance(args[0], cst.Integer) and args[0].value == "0"
            if len(args) == 2 and zero:
                return args[1]
        raise CannotRewrite("the loop does not run over range(n)")

    def _names_made_of(self, names: set[str], without: Collection[str] = ()) -> set[str]:
        """``names``, and the variables that an iteration computes from them, ``without`` some."""
        found = set(names)
        for statement in self._statements():
            if not isinstance(statement, (cst.Assign, cst.AnnAssign, cst.AugAssign)) or statement.value is None:
                continue
            if self._moves(statement.value, found):
                found |= bound_names(statement).difference(without)
        return found

    def _moves(self, node: cst.CSTNode, moving: Iterable[str]) -> bool:
        return any(isinstance(inner, cst.Name) and inner.value in moving for inner in walk(node))

    def _statements(self) -> Iterator[cst.CSTNode]:
        for line in self.loop.body.body:
            yield from line.body if isinstance(line, cst.SimpleStatementLine) else (line,)

    def _calls(self) -> Iterator[cst.Call]:
        for node in walk(self.loop.body):
            if isinstance(node, cst.Call) and self.source.origin(node.func) in (
                "triton.language.load",
                "triton.language.store",
            ):
                yield node

    def _masked(self, call: cst.Call) -> list[TextEdit]:
        """Edits that let a load or store of one element move a block."""
        if not self._moves(call.args[0].value, self.moving):
            if self.source.origin(call.func) == "triton.language.store":
                raise CannotRewrite("the loop stores to one place again and again")
            return []
        if any(arg.keyword is not None and arg.keyword.value in ("mask", "other") for arg in call.args):
            raise CannotRewrite("the loop's loads are masked already")
        store = self.source.origin(call.func) == "triton.language.store"
        if len([arg for arg in call.args if arg.keyword is None]) > 1 + store:
            raise CannotRewrite("the loop's loads are masked already")
        end = self.source.whole(call.args[-1].value)[1]
        return [TextEdit(end, end, f", mask={self.mask}" + ("" if store else f", other={self._neutral()}"))]

    def _neutral(self) -> str:
        kinds = {self._kind(name, kind) for name, kind in self.kinds.items()}
        return _NEUTRAL[kinds.pop()] if len(kinds) == 1 else "0.0"

    def _kind(self, name: str, kind: str) -> str:
        if kind != "extremum":
            return kind
        update = self._update_of(name)
        call = next((n for n in walk(update) if isinstance(n, cst.Call) and self._pairwise(n)), None)
        if call is None:
            raise CannotRewrite(f"`{name}` is not updated by one tl.maximum or tl.minimum")
        return self._pairwise(call)

    def _pairwise(self, call: cst.Call) -> str:
        last = (self.source.origin(call.func) or "").rpartition(".")[2]
        return {"max": "maximum", "min": "minimum"}.get(last, last if last in ("maximum", "minimum") else "")

    def _update_of(self, name: str) -> cst.Assign | cst.AugAssign:
        found = [s for s in self._statements() if isinstance(s, (cst.Assign, cst.AugAssign)) and name in bound_names(s)]
        if len(found) != 1:
            raise CannotRewrite(f"`{name}` is updated more than once")
        return found[0]

    def _update(self, name: str, kind: str, statement: cst.Assign | cst.AugAssign) -> _Update:
        if kind in ("maximum", "minimum"):
            call = next(n for n in walk(statement.value) if isinstance(n, cst.Call) and self._pairwise(n))
            others = [a.value for a in call.args if not (isinstance(a.value, cst.Name) and a.value.value == name)]
            if call is not statement.value or len(others) != 1:
                raise CannotRewrite(f"`{name}` is not updated by one tl.{kind} alone")
            return _Update(name, kind, statement, (self._text(self._free(others[0])),))
        if isinstance(statement, cst.AugAssign):
            negative = isinstance(statement.operator, cst.SubtractAssign)
            added = negative or isinstance(statement.operator, cst.AddAssign)
            if kind != ("sum" if added else "product" if isinstance(statement.operator, cst.MultiplyAssign) else ""):
                raise CannotRewrite(_UNKNOWN)
            return _Update(name, kind, statement, (self._text(self._free(statement.value)),), negative)
        coefficient, offset = self._linear(statement.value, name)
        if coefficient is None and kind == "sum":
            return _Update(name, kind, statement, (offset,))
        if offset is None and kind == "product" and coefficient is not None:
            return _Update(name, kind, statement, (coefficient,))
        if coefficient is None or kind == "product":
            raise CannotRewrite(_UNKNOWN)
        return _Update(name, "linear", statement, (coefficient, offset))

    def _free(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """``node``, which has to be made of nothing that the loop carries."""
        if self._moves(node, self.carried):
            raise CannotRewrite(_UNKNOWN)
        return node

    def _linear(self, node: cst.BaseExpression, name: str) -> tuple[str | None, str | None]:
        """``node`` as coefficient times ``name`` plus offset; None for one and for zero."""
        if isinstance(node, cst.Name) and node.value == name:
            return None, None
        if not isinstance(node, cst.BinaryOperation):
            raise CannotRewrite(f"`{name}` is not updated by sums and products alone")
        inside = any(isinstance(inner, cst.Name) and inner.value == name for inner in walk(node.left))
        mine, other = (node.left, node.right) if inside else (node.right, node.left)
        coefficient, offset = self._linear(mine, name)
        text = self._text(self._free(other), tight=True)
        if isinstance(node.operator, cst.Multiply):
            return (
                text if coefficient is None else f"{coefficient} * {text}",
                None if offset is None else f"({offset}) * {text}",
            )
        if isinstance(node.operator, cst.Add):
            return coefficient, text if offset is None else f"{offset} + {text}"
        if not isinstance(node.operator, cst.Subtract):
            raise CannotRewrite(_UNKNOWN)
        if inside:
            return coefficient, f"-{text}" if offset is None else f"{offset} - {text}"
        return f"-{coefficient or '1.0'}", text if offset is None else f"{text} - ({offset})"

    # -- the new text -----------------------------------------------------------------------------------------------

    def _text(self, node: cst.BaseExpression, tight: bool = False) -> str:
        """The text of ``node`` with its loads masked; in parentheses where it binds loosely and should not."""
        start, end = self.source.range_of(node)
        edits = [TextEdit(e.start - start, e.end - start, e.text) for e in self.accesses if start <= e.start < end]
        text = apply_edits(self.source.text[start:end], edits)
        return f"({text})" if tight and isinstance(node, _LOOSE) else text

    def edits(self) -> list[TextEdit]:
        updates = [
            self._update(name, self._kind(name, kind), self._update_of(name)) for name, kind in self.kinds.items()
        ]
        edits = self._head()
        carries: list[str] = []
        for update in updates:
            lines, carry = self._scan(update)
            carries += carry
            edits.append(self.source.replace(update.statement, self._joined(lines, update.statement)))
            edits += self._uses(update)
        replaced = [self.source.range_of(update.statement) for update in updates]
        edits += [e for e in self.accesses if not any(start <= e.start < end for start, end in replaced)]
        last = self.loop.body.body[-1]
        edits.append(self.source.insert_after(last, *carries))
        edits += [self._combine(kind, name) for kind, name in self._combines.items()]
        return [*edits, *add_constexpr(self.source, self.place, self.block, self._block_text())]

    def _joined(self, lines: list[str], statement: cst.CSTNode) -> str:
        indent = self.source.indent(self.source.start(statement))
        return f"\n{indent}".join(lines)

    def _head(self) -> list[TextEdit]:
        source = self.source
        assert isinstance(self.loop.iter, cst.Call)
        stop = source.code(self.stop)
        range_name = source.code(self.loop.iter.func)
        options = [source.code(arg) for arg in self.loop.iter.args if arg.keyword is not None]
        bounds = ", ".join(["0", stop, self.block, *options])
        return [
            source.replace(self.loop.target, self.start),
            source.replace(self.loop.iter, f"{range_name}({bounds})"),
            source.insert_before(self.loop, f"{self.offsets} = {self.tl}.arange(0, {self.block})"),
            source.insert_before(
                self.loop.body.body[0],
                f"{self.index} = {self.start} + {self.offsets}",
                f"{self.mask} = {self.index} < {stop if isinstance(self.stop, (cst.Name, cst.Integer)) else f'({stop})'}",
            ),
        ]

    def _scan(self, update: _Update) -> tuple[list[str], list[str]]:
        """(The lines in the place of an update, those that take the carry on to the next block)."""
        name, tl = update.name, self.tl
        block = self._block_name(name)
        lines: list[str] = []
        if update.kind == "linear":
            a, b = (self._tile(text, default, name) for text, default in zip(update.terms, ("1.0", "0.0")))
            first, second = fresh_name(f"{name}_decay", self.taken), fresh_name(f"{name}_input", self.taken)
            combine = self._combine_name("linear")
            if self._read_later(name):
                a, b = f"{tl}.where({self.mask}, {a}, 1.0)", f"{tl}.where({self.mask}, {b}, 0.0)"
            lines += [f"{first} = {a}", f"{second} = {b}"]
            lines.append(f"{first}, {second} = {tl}.associative_scan(({first}, {second}), 0, {combine})")
            lines.append(f"{block} = {first} * {name} + {second}")
            return lines, [self._last(name, block)]
        (term,) = update.terms
        value = self._value(term or "0.0", update, lines)
        if update.kind == "sum":
            sign = "-" if update.negative else "+"
            lines.append(f"{block} = {name} {sign} {tl}.cumsum({value}, axis=0)")
            return lines, [f"{name} {sign}= {tl}.sum({self._inside(value, update)}, axis=0)"]
        if update.kind == "product":
            inside = self._inside(value, update, "1.0")
            lines.append(f"{block} = {name} * {tl}.cumprod({inside}, axis=0)")
            return lines, [self._last(name, block)]
        scan = f"{tl}.associative_scan({value}, 0, {self._combine_name(update.kind)})"
        lines.append(f"{block} = {tl}.{update.kind}({name}, {scan})")
        inside = self._inside(value, update, _NEUTRAL[update.kind])
        return lines, [f"{name} = {tl}.{update.kind}({name}, {tl}.{update.kind[:3]}({inside}, axis=0))"]

    def _value(self, term: str, update: _Update, lines: list[str]) -> str:
        """A name for what is scanned, as a tile in the type of the carried variable."""
        text = self._tile(term, "0.0", update.name)
        if text.isidentifier():
            return text
        value = fresh_name("value", self.taken)
        lines.append(f"{value} = {text}")
        return value

    def _tile(self, text: str | None, default: str, name: str) -> str:
        """``text`` as a tile in the type of the variable ``name``, whatever elements a launch passes: a value that is the same in each
        iteration is spread over one."""
        known = self.types[name]
        dtype = f"{self.tl}.{known}"
        node = cst.parse_expression(text or default)
        if text is None or not self._moves(node, self.moving):
            wide = f"{self.tl}.{max(dt.FLOAT32, known, key=lambda one: one.bits)}"
            return f"{self.tl}.full([{self.block}], {text or default}, {wide})"
        if isinstance(node, cst.Call) and text.endswith(f".to({dtype})"):
            return text
        return f"{f'({text})' if isinstance(node, _LOOSE) else text}.to({dtype})"

    def _inside(self, value: str, update: _Update, neutral: str = "0.0") -> str:
        """``value`` without what stands in lanes behind the end, where the total is wanted after the loop."""
        if not self._read_later(update.name):
            return value
        return f"{self.tl}.where({self.mask}, {value}, {neutral})"

    def _last(self, name: str, block: str) -> str:
        tl = self.tl
        return f"{name} = {tl}.sum({tl}.where({self.offsets} == {self.block} - 1, {block}, 0.0), axis=0)"

    def _block_name(self, name: str) -> str:
        if name not in self._blocks:
            self._blocks[name] = fresh_name(f"{name}_block", self.taken)
        return self._blocks[name]

    def _read_later(self, name: str) -> bool:
        end = self.source.end(self.loop)
        return any(self.source.start(read) > end for read in self.kernel.reads(name))

    def _uses(self, update: _Update) -> list[TextEdit]:
        """Edits that let what follows in the loop read the block's values."""
        begin, after = self.source.range_of(update.statement)
        first, end = self.source.range_of(self.loop.body)
        edits = []
        for read in self.kernel.reads(update.name):
            start = self.source.start(read)
            if first <= start < begin:
                raise CannotRewrite(f"`{update.name}` is read before it is updated")
            if after <= start < end:
                edits.append(self.source.replace(read, self._block_name(update.name)))
        return edits

    def _combine_name(self, kind: str) -> str:
        """The function that a scan of ``kind`` joins two steps with."""
        if kind not in self._combines:
            self._combines[kind] = fresh_name(f"combine_{kind}", self.taken)
        return self._combines[kind]

    def _combine(self, kind: str, name: str) -> TextEdit:
        """The definition of that function above the kernel."""
        node = self.kernel.node
        at, _ = self.source.with_heading(node)
        jit = next((self.source.code(d) for d in node.decorators if self.source.code(d).endswith("jit")), "")
        return TextEdit(
            at, at, f"{jit or f'@{self.place.triton}.jit'}\n{_COMBINES[kind].format(name=name, tl=self.tl)}\n\n"
        )

    def _block_text(self) -> str:
        """The block's size at the launch: up to the size that the rule prices, less where the row is shorter."""
        size = block_size(self.found)
        argument = self.place.argument(self.stop.value) if isinstance(self.stop, cst.Name) else None
        if argument is None:
            return str(size)
        whole = block_size(self.found, short=False)
        # A row may have no elements, a tile may not.
        return f"min({whole}, {self.place.triton}.next_power_of_2(max({self.source.code(argument.value)}, 1)))"
