"""Torch calls that map and reduce the same rows become one Triton kernel with a row for each program.

The expression that the last call stands for is followed back to the tensors that none of the calls made; what lies between
is written as kernel code on fp32 values, the tensors and numbers become arguments.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from kernlint.interpret.trace import Values
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import FunctionSource, argument, callee, enclosing_function, module_alias, parameters
from kernlint.rewrite.names import fresh_name, names_in_use
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rewrite.torch_in_kernels import arity, expression, is_cast, number, torch_call
from kernlint.rules.fusion.row_kernel import LONGEST_ROW
from kernlint.rules.fusion.torch_groups import FuseGroup, Group, group_at
from kernlint.syntax.walk import walk
from kernlint.workload import Span, Tensor, TorchOp, concrete

_EFFECTS = Effects(
    "unsafe",
    "reordered",
    "less",
    ("values between the calls keep fp32 where torch rounded them, and no gradient flows through the kernel",),
)
#: Reduction to its form, and what lanes beyond the row have to hold.
_REDUCTIONS = {
    "sum": ("{tl}.sum({0}, axis=0)", "0.0"),
    "mean": ("{tl}.sum({0}, axis=0) / {n}", "0.0"),
    "amax": ("{tl}.max({0}, axis=0)", 'float("-inf")'),
    "amin": ("{tl}.min({0}, axis=0)", 'float("inf")'),
}
_REDUCTION_OPTIONS = frozenset({"dim", "axis", "keepdim"})
_LONGEST_CHAIN = 20
_NODES = (cst.Call, cst.BinaryOperation, cst.UnaryOperation)


@codemod(FuseGroup, _EFFECTS)
def torch_rows(site: Site, transform: FuseGroup) -> list[TextEdit]:
    """A new kernel and its launch in the place of the calls."""
    group = group_at(site.workload, transform.places)
    if group is None:
        raise CannotRewrite("the torch calls are no longer there")
    if not group.reduces:
        raise CannotRewrite("calls that reduce nothing have no automatic rewrite")
    return _Rewrite(site, group).edits()


class _Rewrite:
    def __init__(self, site: Site, group: Group) -> None:
        self.site, self.group, self.source = site, group, site.source
        self.editor = Editor(site.source)
        values: Values = site.program.trace(site.workload.entry).host
        self.ops = {id(node): op for op in group.ops for node in [self._node(op.span)]}
        self.last = self._node(group.ops[-1].span)
        self.host = FunctionSource(site.module, enclosing_function(self.source, self.last), values)
        self.tl, self.triton = (module_alias(site.module, name) for name in ("triton.language", "triton"))
        self.taken = names_in_use(site.module) | {"row", "columns", "inside", "out", "N", "BLOCK"}
        #: Kernel parameter to what the launch passes for it, for tensors (with how a row of it is loaded) and numbers.
        self.arguments: dict[str, str] = {}
        self.leaves: dict[str, tuple[str, Tensor]] = {}
        self.lines: list[str] = []
        #: What the host calls a tensor, and the row of it that is loaded.
        self.loaded: dict[str, str] = {}
        self.known: dict[int, str] = {}
        self.consumed: list[cst.CSTNode] = []
        self.definitions: list[str] = []

    def _node(self, span: Span) -> cst.BaseExpression:
        for kind in _NODES:
            node = self.source.module.at(span, kind)
            if isinstance(node, cst.BaseExpression):
                return node
        raise CannotRewrite(f"the torch call at line {span.line} is not written as a call or an operator")

    def edits(self) -> list[TextEdit]:
        for op in self.group.ops:
            self._check(op)
        result = self._value(self.last)
        unused = [op for op in self.group.ops if id(self._node(op.span)) not in self.known]
        if unused:
            raise CannotRewrite(f"torch `{unused[0].name}` does not lead to the result")
        self._check_names()
        shaped = next((text for text, t in self.leaves.values() if t.shape == self.group.shape), None)
        if shaped is None:
            raise CannotRewrite("no operand has the shape of the rows")
        self._insert_kernel(result)
        self._change_host(shaped)
        return self.editor.edits

    def _check(self, op: TorchOp) -> None:
        if enclosing_function(self.source, self._node(op.span)) is not self.host.node:
            raise CannotRewrite("the torch calls are not all in one function")
        for tensor in (*op.reads, *op.writes):
            if tensor.dtype is None or not tensor.dtype.is_float or tensor.dtype.bits > 32:
                raise CannotRewrite(f"torch `{op.name}` works on {tensor.dtype or 'an unknown type'}")
        columns = concrete(self.group.shape[-1])
        if columns is None or columns > LONGEST_ROW:
            raise CannotRewrite("the length of a row is not known, or is more than a program can hold")

    # -- values -----------------------------------------------------------------------------------------------------

    def _value(self, node: cst.BaseExpression) -> str:
        """The kernel's text for what ``node`` of the host stands for, which binds as tightly as a name."""
        if id(node) in self.known:
            return self.known[id(node)]
        self.consumed.append(node)
        text = number(node)
        if text is not None:
            return text if text[0] != "-" else f"({text})"
        if id(node) not in self.ops:
            definition = self.host.definition(node.value) if isinstance(node, cst.Name) else None
            if isinstance(node, cst.Name) and definition is not None and self._leads_to_op(definition):
                if node.value not in self.definitions:
                    self.definitions.append(node.value)
                return self._value(definition)
            seen = self._unsqueezed(node)
            return self._value(seen) if seen is not None else self._leaf(node)
        text = self._computed(node, self.ops[id(node)])
        self.known[id(node)] = text
        return text

    def _unsqueezed(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The statistic of the rows that ``node`` gives a last axis of one element."""
        if not (isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and callee(node) == "unsqueeze"):
            return None
        inner = node.func.value
        value = self.host.values.get(inner)
        one = isinstance(value, Tensor) and value.shape == self.group.shape[:-1]
        return inner if one and number(argument(node, "dim", 0)) == "-1" else None

    def _leads_to_op(self, node: cst.BaseExpression, names: int = _LONGEST_CHAIN) -> bool:
        """Whether ``node`` is one of the calls, or a name or view of one, ``names`` of them at most."""
        if id(node) in self.ops:
            return True
        found = self.host.definition(node.value) if isinstance(node, cst.Name) else self._unsqueezed(node)
        return found is not None and names > 0 and self._leads_to_op(found, names - 1)

    def _computed(self, node: cst.BaseExpression, op: TorchOp) -> str:
        call = torch_call(node)
        operands = list(call.operands)
        method = node.func if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
        if method is not None and not (self.source.origin(method) or "").startswith("torch."):
            operands.insert(0, method.value)
        if not operands:
            raise CannotRewrite(f"the operands of torch `{op.name}` are not written out")
        if op.kind == "reduce":
            return self._reduced(node, op, operands)
        call = type(call)(call.name, tuple(operands), call.options)
        values = [self._value(operand) for operand in operands[: arity(call)]]
        if is_cast(call):
            return values[0]
        literals = [number(operand) for operand in operands[arity(call) :]]
        return self._named(node, expression(call, values, self.tl, literals))

    def _reduced(self, node: cst.BaseExpression, op: TorchOp, operands: Sequence[cst.BaseExpression]) -> str:
        form = _REDUCTIONS.get(op.name)
        assert isinstance(node, cst.Call)
        options = {arg.keyword.value for arg in node.args if arg.keyword is not None}
        if form is None or not options <= _REDUCTION_OPTIONS:
            raise CannotRewrite(f"torch `{op.name}` with these options has no form in a row kernel that kernlint knows")
        value = self._value(operands[0])
        masked = f"{self.tl}.where(inside, {value}, {form[1]})"
        return self._named(node, form[0].format(masked, tl=self.tl, n="N"))

    def _named(self, node: cst.BaseExpression, text: str) -> str:
        """A line that computes ``text``, under the name that the host has for it, if any."""
        wish = next((n for n in self.definitions if self.host.definition(n) is node), None)
        name = wish if wish is not None and wish not in self._local() else self._fresh("value")
        self.lines.append(f"{name} = {text}")
        return name

    def _local(self) -> set[str]:
        return {line.split(" = ")[0] for line in self.lines} | set(self.arguments) | {"row", "columns", "inside", "out"}

    def _fresh(self, wish: str) -> str:
        return fresh_name(wish, self.taken | self._local())

    def _leaf(self, node: cst.BaseExpression) -> str:
        """A tensor that is loaded, or a number that is passed."""
        code = self.source.code(node)
        if isinstance(node, cst.Name):
            wish = node.value
        elif isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
            wish = node.attr.value
        else:
            raise CannotRewrite(f"`{code}` is computed in between, by none of the calls")
        if code in self.loaded:
            return self.loaded[code]
        value = self.host.values.get(node)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            known = next((p for p, text in self.arguments.items() if text == code), None)
            if known is None:
                known = wish if wish not in self._local() and wish not in ("N", "BLOCK") else self._fresh(wish)
                self.arguments[known] = code
            return known
        if not isinstance(value, Tensor):
            raise CannotRewrite(f"nothing tells what `{code}` is")
        parameter = wish if wish not in self._local() and wish not in ("N", "BLOCK") else self._fresh(wish)
        self.arguments[parameter] = code
        self.leaves[code] = (code, value)
        row = self._fresh(f"{parameter}_row")
        self.lines.append(f"{row} = {self._load(parameter, value)}.to({self.tl}.float32)")
        self.loaded[code] = row
        return row

    def _load(self, parameter: str, tensor: Tensor) -> str:
        shape, full = tensor.shape, self.group.shape
        if shape is None or tensor.is_contiguous is not True:
            raise CannotRewrite(f"`{parameter}` is not known to be contiguous")
        if shape == full:
            return f"{self.tl}.load({parameter} + row * N + columns, mask=inside, other=0.0)"
        ones = all(concrete(extent) == 1 for extent in shape[:-1])
        if shape and ones and shape[-1] == full[-1]:
            return f"{self.tl}.load({parameter} + columns, mask=inside, other=0.0)"
        if shape == (*full[:-1], 1):
            return f"{self.tl}.load({parameter} + row)"
        raise CannotRewrite(f"`{parameter}` is spread over the rows in a way that kernlint does not write")

    # -- edits ------------------------------------------------------------------------------------------------------

    def _check_names(self) -> None:
        """Raise where a name has another value where the kernel is launched, or is still needed for itself."""
        inside = {id(n) for node in self.consumed for n in walk(node)}
        for name in self.definitions:
            if any(id(read) not in inside for read in self.host.reads(name)):
                raise CannotRewrite(f"`{name}` is used for more than the result")
        for code in self.arguments.values():
            name = code.split(".")[0]
            given = any(param.name.value == name for param in parameters(self.host.node))
            if len(self.host.bindings(name)) + given > 1:
                raise CannotRewrite(f"`{name}` changes in the function")

    def _insert_kernel(self, result: str) -> None:
        out = self.group.ops[-1].writes[0]
        place = "row * N + columns" if out.shape == self.group.shape else "row"
        mask = ", mask=inside" if out.shape == self.group.shape else ""
        self.kernel = fresh_name("row_kernel", self.taken)
        params = ", ".join([*self.arguments, "out", "N", f"BLOCK: {self.tl}.constexpr"])
        lines = [
            f"@{self.triton}.jit",
            f"def {self.kernel}({params}):",
            f"    row = {self.tl}.program_id(0).to({self.tl}.int64)",
            f"    columns = {self.tl}.arange(0, BLOCK)",
            "    inside = columns < N",
            *(f"    {line}" for line in self.lines),
            f"    {self.tl}.store(out + {place}, {result}{mask})",
            "",
            "",
        ]
        top = self.host.node
        for outer in self.source.above(self.host.node):
            if isinstance(outer, (cst.FunctionDef, cst.ClassDef)):
                top = outer  # type: ignore[assignment]
        at = self.source.with_heading(top)[0]
        self.editor.insert(at, "".join(f"{line}\n" for line in lines))

    def _change_host(self, shaped: str) -> None:
        line = self.host.line(self.last)
        if not isinstance(line, cst.SimpleStatementLine):
            raise CannotRewrite("the last call stands in a condition")
        for outer in self.host.around(self.last):
            if outer is line:
                break
            if isinstance(outer, (cst.IfExp, cst.Lambda, cst.BooleanOperation, cst.BaseComp)):
                raise CannotRewrite("the last call is not always made")
        out = self.group.ops[-1].writes[0]
        name = self.host.free_name("rows_out")
        shape = f"{shaped}.shape"
        if out.shape != self.group.shape:
            keeps = out.shape == (*self.group.shape[:-1], 1)
            shape = f"(*{shaped}.shape[:-1], 1)" if keeps else f"{shaped}.shape[:-1]"
        torch = self.source.spelled("torch.empty")
        passed = ", ".join([*self.arguments.values(), name, f"{shaped}.shape[-1]"])
        warps = self.group.fused.num_warps
        options = f"BLOCK={self.triton}.next_power_of_2({shaped}.shape[-1])" + (
            f", num_warps={warps}" if warps != 4 else ""
        )
        grid = f"({shaped}.numel() // {shaped}.shape[-1],)"
        lines = [
            f"{name} = {torch}({shape}, device={shaped}.device, dtype={self._dtype(out)})",
            f"{self.kernel}[{grid}](",
            f"    {passed},",
            f"    {options},",
            ")",
        ]
        self.editor.insert_before(line, lines, above_comments=True)
        self.editor.replace_whole(self.last, name)
        for one in self.definitions:
            definition = self.host.definition(one)
            assert definition is not None
            self.editor.delete(self.host.line(definition))

    def _dtype(self, out: Tensor) -> str:
        """How the host can say the type of the result."""
        asked = self._cast_to(self.last)
        if asked is not None:
            return asked
        # Where the values got the type that the result has: from a cast, or from an operand.
        for op in self.group.ops:
            node = self._node(op.span)
            text = self._cast_to(node) if op.kind == "cast" and op.writes[0].dtype == out.dtype else None
            if text is not None:
                return text
        same = next((code for code, tensor in self.leaves.values() if tensor.dtype == out.dtype), None)
        if same is None:
            raise CannotRewrite("no operand has the type of the result")
        return f"{same}.dtype"

    def _cast_to(self, node: cst.BaseExpression) -> str | None:
        """The type that ``node`` casts to, as the host can say it; None where it is no cast."""
        call = torch_call(node)
        if not is_cast(call) or not isinstance(node, cst.Call):
            return None
        known = {"half": "float16", "float": "float32", "bfloat16": "bfloat16"}.get(call.name)
        if known is not None:
            return self.source.spelled(f"torch.{known}")
        asked = argument(node, "other" if call.name == "type_as" else "dtype", 0)
        if asked is None:
            raise CannotRewrite("the type of the result is not written out")
        value = self.host.values.get(asked)
        return f"{self.source.code(asked)}.dtype" if isinstance(value, Tensor) else self.source.code(asked)
