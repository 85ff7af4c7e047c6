"""What elementwise launches and torch calls do to a matmul's result is done in the matmul, before it stores."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.records import dataclass
from kernlint.rewrite.call_path import CallPath, Stage
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.function import LaunchSource, argument, callee, parameters
from kernlint.rewrite.fused_kernel import Part
from kernlint.rewrite.names import fresh_name
from kernlint.rewrite.output_tile import OutputTile
from kernlint.rewrite.site import Site
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rewrite.torch_in_kernels import TorchCall, arity, expression, number, torch_call
from kernlint.rules.fusion.chains import Chain
from kernlint.rules.proofs.dataflow import may_use
from kernlint.syntax.walk import walk
from kernlint.workload import Dtype, Launch, Load, Repeat, Tensor, TorchOp
from kernlint.workload import dtype as dt
from kernlint.workload.kernel import Access


def is_epilogue(chain: Chain) -> bool:
    """Whether ``chain`` is a matmul kernel followed by elementwise work."""
    first = chain.steps[0]
    return isinstance(first, Launch) and bool(first.kernel.dots())


def fold_epilogue(site: Site, chain: Chain) -> list[TextEdit]:
    """The edits that move the work of ``chain`` behind its first launch into the kernel of that launch.

    The arithmetic is done on the accumulator in fp32 and rounded once. Operands along the rows or columns of the tile are
    loaded once for each; the kernel gets parameters for them, and so does the function around the launch where another
    one has them at hand.
    """
    if chain.kept:
        raise CannotRewrite("the raw product is used elsewhere as well")
    return _Rewrite(site, chain).edits()


@dataclass(frozen=True)
class _Operand:
    """A further operand: ``parameter`` of the kernel, passed as ``code`` of the root function; ``node`` is that code."""

    parameter: str
    node: cst.BaseExpression
    code: str


class _Rewrite:
    def __init__(self, site: Site, chain: Chain) -> None:
        self.site = site
        self.source = site.source
        self.chain = chain
        self.editor = Editor(site.source)
        first = chain.steps[0]
        self.place = LaunchSource(site, first.span)
        if self.place.launch is not first or (self.place.launch.autotuned and first.alternatives == ()):
            raise CannotRewrite("one line makes several of the launches")
        self.place.check_only_launch()
        self.place.check_one_launch()
        self.kernel = self.place.kernel
        self.tile = OutputTile(self.place, self.editor)
        self._check_unchanged()
        self.nodes: list[cst.CSTNode] = [self._node(step) for step in chain.steps]
        self.path = CallPath(site.source, self.place.host.values, self.nodes)
        self.tl = self.place.tl
        self.taken = {n.value for n in walk(self.kernel.node) if isinstance(n, cst.Name)}
        self.lines: list[str] = []
        self.operands: list[_Operand] = []
        self.loaded: dict[tuple[int, str], str] = {}
        #: The variable of the kernel that holds the elements of each tensor between the steps, by storage.
        self.held: dict[int, str] = {}
        #: Those of them that the epilogue made itself.
        self.own: set[str] = set()

    def _check_unchanged(self) -> None:
        """Raise where something that a later step of the chain reads is written between the matmul and that step."""
        steps = [step for step, _ in self.site.workload.walk() if not isinstance(step, Repeat)]
        places = [next(i for i, step in enumerate(steps) if step is one) for one in self.chain.steps]
        made = {self._result_of(step).storage.id for step in self.chain.steps}
        for place in places[1:]:
            read = may_use(steps[place])[0] - made
            for index in range(places[0] + 1, place):
                if index not in places and may_use(steps[index])[1] & read:
                    raise CannotRewrite("an operand of the epilogue is written behind the matmul")

    def _node(self, step: Launch | TorchOp) -> cst.CSTNode:
        kinds = (cst.Call, cst.BinaryOperation, cst.AugAssign, cst.UnaryOperation)
        for kind in kinds:
            node = self.site.module.at(step.span, kind)
            if node is not None:
                return node
        raise CannotRewrite(f"the work at line {step.span.line} is not written as a call or an operator")

    def edits(self) -> list[TextEdit]:
        self.held[self.tile.tensor.storage.id] = self._product()
        inners: list[tuple[Stage, cst.BaseExpression]] = []
        for index, step in enumerate(self.chain.steps[1:], 1):
            stage = self._stage(index)
            passed = self._passed(index)
            if not any(one.node is stage.node for one, _ in inners):
                inners.append((stage, self._inner(stage, passed)))
            made = self._launch(index, stage) if isinstance(step, Launch) else self._torch(index, stage)
            self.held[self._result_of(step).storage.id] = made
        self._store(made)
        self._parameters()
        self.path.collapse(self.editor, inners, self._results_in_root())
        self._output()
        self._drop_unused([stage for stage, _ in inners])
        return self.editor.edits

    # -- where things are --------------------------------------------------------------------------------------------

    def _stage(self, index: int) -> Stage:
        node = self.nodes[index]
        for stage in self.path.stages:
            if stage.node is node or (stage.helper is not None and any(node is n for n in walk(stage.helper.body))):
                return stage
        raise CannotRewrite("a step of the chain was not found in the source")

    def _passed(self, index: int) -> set[int]:
        """The storages that the steps before ``index`` have written."""
        found: set[int] = {self.tile.tensor.storage.id}
        for merge in self.chain.merges[:index]:
            found |= {tensor.storage.id for tensor in merge.passed}
        return found

    def _inner(self, stage: Stage, passed: set[int]) -> cst.BaseExpression:
        """The operand of a stage that holds what the steps before it made."""
        if isinstance(stage.node, cst.AugAssign):
            return stage.node.target
        found = [node for node in _operands(stage.node) if self._storage(node) in passed]
        if not found:
            raise CannotRewrite("a step of the chain does not take the product as one of its arguments")
        # Where it takes both the product and what was made of it, either leads to the product in the end.
        return next((node for node in found if self._storage(node) == self.tile.tensor.storage.id), found[0])

    def _storage(self, node: cst.CSTNode) -> int | None:
        tensor = self.path.tensor(node)
        return tensor.storage.id if tensor is not None else None

    # -- the kernel ---------------------------------------------------------------------------------------------------

    def _product(self) -> str:
        """The variable that holds the product in fp32, before it is cast for the store; a cast that nothing else needs
        goes."""
        node = self.tile.value
        while True:
            if callee(node) == "to" and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
                node = node.func.value
                continue
            if not isinstance(node, cst.Name):
                break
            definition = self.kernel.definition(node.value)
            if definition is None or callee(definition) != "to" or len(self.kernel.reads(node.value)) != 1:
                break
            line = self.kernel.line(definition)
            if not any(line is one for one in self.kernel.body):
                break
            self.editor.delete(line)
            node = definition
        block = self.kernel.values.get(node)
        if not isinstance(block, Block) or block.dtype is None or block.shape != self.tile.access.shape:
            raise CannotRewrite("the product has no value of its own in the kernel")
        code = self.editor.code(node)
        if block.dtype == dt.FLOAT32 and isinstance(node, cst.Name):
            return code
        cast = "" if block.dtype == dt.FLOAT32 else f".to({self.tl}.float32)"
        return self._assign(f"{self.editor.operand(node) if cast else code}{cast}")

    def _torch(self, index: int, stage: Stage) -> str:
        """A torch operation; the variable of its result."""
        op = self.chain.steps[index]
        assert isinstance(op, TorchOp)
        call = self._call(self.nodes[index])
        count = arity(call)
        texts = []
        for node in call.operands[:count]:
            literal = number(node)
            tensor = self.path.tensor(node)
            if literal is not None:
                texts.append(literal if not literal.startswith("-") else f"({literal})")
            elif tensor is not None and tensor.storage.id in self.held:
                texts.append(self.held[tensor.storage.id])
            elif tensor is not None:
                texts.append(self._tensor(index, stage, node, tensor))
            else:
                texts.append(self._scalar(stage, node))
        if len(texts) < count:
            raise CannotRewrite(f"the operands of torch `{call.name}` were not understood")
        if not op.writes[0].dtype or not op.writes[0].dtype.is_float:
            raise CannotRewrite("an operation of the epilogue gives no floating-point numbers")
        text = expression(call, texts, self.tl, [number(node) for node in self._settings(call, count)])
        if text in texts:
            return text
        old = next((t for t in texts if t in self.own and not self._read_later(t, index)), None)
        return self._assign(text, old)

    def _assign(self, text: str, name: str | None = None) -> str:
        """A line that gives ``text`` to the variable ``name``, else to a new one."""
        name = name or fresh_name("out", self.taken)
        self.own.add(name)
        self.lines.append(f"{name} = {text}")
        return name

    def _read_later(self, name: str, index: int) -> bool:
        """Whether a step behind ``index`` reads what the variable holds."""
        storages = {storage for storage, held in self.held.items() if held == name}
        for step in self.chain.steps[index + 1 :]:
            read = step.reads if isinstance(step, TorchOp) else step.arguments.values()
            if any(isinstance(t, Tensor) and t.storage.id in storages for t in read):
                return True
        return False

    def _call(self, node: cst.CSTNode) -> TorchCall:
        """The operation at ``node``, with the receiver of a method call as its first operand."""
        call = torch_call(node)
        receiver = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
        if receiver is not None and self.path.tensor(receiver) is not None:
            return TorchCall(call.name, (receiver, *call.operands), call.options)
        return call

    def _settings(self, call: TorchCall, count: int) -> Sequence[cst.BaseExpression]:
        cast = call.name in ("to", "type", "type_as")
        return () if cast else call.operands[count:]

    def _tensor(self, index: int, stage: Stage, node: cst.BaseExpression, tensor: Tensor) -> str:
        """A further tensor of a torch operation: loaded at the tile, in fp32."""
        span = self.chain.steps[index].span
        moved = [
            load
            for load, _ in self.chain.fused.kernel.walk(Load)
            if isinstance(load, Load) and load.span == span and self._fused_storage(load) == tensor.storage.id
        ]
        if not moved:
            raise CannotRewrite("a further operand of the epilogue was not followed")
        return self._loaded(self.path.in_root(stage, node), tensor, moved[0])

    def _fused_storage(self, access: Access) -> int | None:
        tensor = self.chain.fused.tensor(access.base)
        return tensor.storage.id if tensor is not None else None

    def _loaded(self, node: cst.BaseExpression, tensor: Tensor, access: Access) -> str:
        """The variable with ``tensor``, which the root calls ``node``, at the tile; with what makes it broadcast."""
        code = self.source.code(node)
        known = self.loaded.get((tensor.storage.id, str(access.offset)))
        if known is not None:
            return known
        wish = _name_for(code, "operand")
        pointer = self._parameter(wish + ("_ptr" if self.tile.access.base.endswith("_ptr") else ""), node)
        text, suffix = self.tile.load(pointer, access)
        name = fresh_name(wish if wish != pointer else f"{wish}_tile", self.taken)
        cast = "" if tensor.dtype == dt.FLOAT32 else f".to({self.tl}.float32)"
        self.lines.append(f"{name} = {text}{cast}")
        self.loaded[tensor.storage.id, str(access.offset)] = name + suffix
        return name + suffix

    def _parameter(self, wish: str, node: cst.BaseExpression) -> str:
        """A new parameter of the kernel for the value of ``node`` in the root."""
        self.path.check_known_before(node, self._first_node())
        name = fresh_name(wish, self.taken)
        self.operands.append(_Operand(name, node, self.source.code(node)))
        return name

    def _first_node(self) -> cst.CSTNode:
        """Where the root launches the matmul, or calls the function that does."""
        return self.path.stages[0].node

    def _scalar(self, stage: Stage, node: cst.BaseExpression) -> str:
        """A number that only the host knows: a parameter of the kernel."""
        value = self.path.values.get(node)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise CannotRewrite(f"`{self.source.code(node)}` of the epilogue is not a number that was followed")
        inner = self.path.in_root(stage, node)
        literal = number(inner)
        if literal is not None:
            return f"({literal})" if literal.startswith("-") else literal
        for operand in self.operands:
            if operand.code == self.source.code(inner):
                return operand.parameter
        return self._parameter(_name_for(self.source.code(inner), "scalar"), inner)

    # -- kernels of the chain ----------------------------------------------------------------------------------------

    def _launch(self, index: int, stage: Stage) -> str:
        """The statements of an elementwise kernel, on the tile; the variable of what it stores."""
        step = self.chain.steps[index]
        place = LaunchSource(self.site, step.span)
        if place.launch is not step:
            raise CannotRewrite("one line makes several of the launches")
        part = Part(self.source, place)
        stores = part.calls("store")
        if len(stores) != 1 or any(not isinstance(line, cst.SimpleStatementLine) for line in part.lines):
            raise CannotRewrite(f"`{part.name}` is more than straight arithmetic with one store")
        stored = argument(stores[0], "value", 1)
        assert stored is not None
        for call in part.calls("load"):
            self._replace_load(part, stage, call)
        while callee(stored) == "to" and isinstance(stored, cst.Call) and isinstance(stored.func, cst.Attribute):
            if stored in part.texts:
                break
            stored = stored.func.value
        needed = self._needed(part, stored)
        for name in sorted({n for line in needed for n in part.locals() if n in _bound(part, line)}):
            part.names[name] = fresh_name(name, self.taken)
        self._bind_parameters(part, stage, [*needed, stored])
        for line in needed:
            self.lines += self._text(part, line)
        text = part.render(stored)
        return text if text.isidentifier() else self._assign(text)

    def _replace_load(self, part: Part, stage: Stage, call: cst.Call) -> None:
        """Put the value, or the load at the tile, in the place of a load and of the variable that holds it."""
        storage = part.storage(call)
        if storage is not None and storage in self.held:
            text = self.held[storage]
        else:
            tensor = part.launch.tensor(part.base(call))
            node = self._argument_node(part, part.base(call))
            span = self.site.module.span(call)
            moved = [n for n, _ in self.chain.fused.kernel.walk(Load) if isinstance(n, Load) and n.span == span]
            if tensor is None or not moved:
                raise CannotRewrite("a further operand of the epilogue was not followed")
            text = self._loaded(self.path.in_root(stage, node), tensor, moved[0])
        outer: cst.CSTNode = call
        while True:
            above = part.function.parents[outer]
            method = part.function.parents.get(above)
            if isinstance(above, cst.Attribute) and above.attr.value == "to" and isinstance(method, cst.Call):
                outer = method
                continue
            break
        part.texts[outer] = text
        update = part.function.parents[outer]
        if isinstance(update, cst.Assign) and len(update.targets) == 1:
            target = update.targets[0].target
            if isinstance(target, cst.Name) and len(part.function.bindings(target.value)) == 1:
                part.gone.add(id(part.function.line(call)))
                for read in part.function.reads(target.value):
                    part.texts[self._uncast(part, read)] = text

    def _uncast(self, part: Part, read: cst.CSTNode) -> cst.CSTNode:
        """``read`` with the cast around it, which an fp32 value does not need."""
        above = part.function.parents[read]
        method = part.function.parents.get(above)
        if isinstance(above, cst.Attribute):
            if above.attr.value == "to" and isinstance(method, cst.Call):
                return method
            raise CannotRewrite(f"`{part.name}` depends on the type of the product in memory")
        return read

    def _argument_node(self, part: Part, name: str) -> cst.BaseExpression:
        arg = part.place.argument(name)
        if arg is None:
            raise CannotRewrite(f"the launch of `{part.name}` does not say what `{name}` is")
        return arg.value

    def _needed(self, part: Part, stored: cst.BaseExpression) -> list[cst.CSTNode]:
        """The statements that the stored value depends on, now that its loads are replaced."""
        wanted = part.reads(stored)
        kept: list[cst.CSTNode] = []
        for line in reversed(part.lines):
            if id(line) in part.gone:
                continue
            bound = _bound(part, line)
            if bound & wanted:
                kept.append(line)
                wanted |= part.reads(line)
        return kept[::-1]

    def _bind_parameters(self, part: Part, stage: Stage, nodes: Sequence[cst.CSTNode]) -> None:
        """Say what the parameters of a kernel are that the moved statements read."""
        read = {name for node in nodes for name in part.reads(node)}
        for name in sorted(read & set(part.parameters)):
            if part.parameters[name].kind == "tensor":
                raise CannotRewrite(f"`{part.name}` computes with addresses")
            arg = part.place.argument(name)
            text = number(arg.value) if arg is not None else None
            if text is None and arg is not None and part.parameters[name].kind == "scalar":
                text = self._scalar(stage, arg.value)
            if text is None:
                raise CannotRewrite(f"`{name}` of `{part.name}` is not known in the matmul kernel")
            part.names[name] = text

    def _text(self, part: Part, line: cst.CSTNode) -> list[str]:
        """The rows of a statement with the comments above it."""
        heading = [comment.text for comment in self.source.heading(line)]
        indent = self.source.indent(self.source.start(line))
        rows = part.render(line).replace("\r\n", "\n").split("\n")
        return [*heading, rows[0], *(row.removeprefix(indent) for row in rows[1:])]

    # -- the result ---------------------------------------------------------------------------------------------------

    def _store(self, value: str) -> None:
        dtype = self._result_dtype()
        text = value if dtype == dt.FLOAT32 else f"{value}.to({self.tl}.{dtype})"
        self.editor.replace_whole(self.tile.value, text)
        self.editor.insert_before(self.tile.line, ["# epilogue on the fp32 product", *self.lines])

    def _result_of(self, step: Launch | TorchOp) -> Tensor:
        """The tensor that a step writes."""
        if isinstance(step, TorchOp):
            return step.writes[0]
        stores = [n for n, _ in step.kernel.walk(Access) if not isinstance(n, Load)]
        tensor = step.tensor(stores[-1].base) if stores and isinstance(stores[-1], Access) else None
        if tensor is None:
            raise CannotRewrite("the result of the chain was not followed")
        return tensor

    def _results_in_root(self) -> dict[int, int]:
        """For each launch that stands in the root itself (by the identity of its call), the storage that it writes."""
        return {
            id(node): self._result_of(step).storage.id
            for node, step in zip(self.nodes[1:], self.chain.steps[1:])
            if isinstance(step, Launch) and any(stage.node is node for stage in self.path.stages)
        }

    def _result_dtype(self) -> Dtype:
        result = self._result_of(self.chain.steps[-1])
        if result.shape != self.tile.tensor.shape or result.strides != self.tile.tensor.strides or result.dtype is None:
            raise CannotRewrite("the result has another shape or layout than the product")
        return result.dtype

    def _output(self) -> None:
        """The product's tensor becomes the result's: it may need another type."""
        wanted = self._result_dtype()
        if wanted == self.tile.tensor.dtype:
            return
        made = next(
            (s for s, _ in self.site.workload.walk() if isinstance(s, TorchOp) and s.kind in ("alloc", "fill")
             and s.writes and s.writes[0].storage.id == self.tile.tensor.storage.id), None)  # fmt: skip
        call = self.site.module.at(made.span, cst.Call) if made is not None else None
        if call is None:
            raise CannotRewrite("the allocation of the product was not found")
        name = self.source.spelled(f"torch.{wanted}")
        self.editor.add(self.source.set_argument(call, "dtype", name))

    def _parameters(self) -> None:
        """The kernel and its launch get the further operands, in front of the output; so does the function around it."""
        stage = self.path.stages[0]
        output = next(p for p in parameters(self.kernel.node) if p.name.value == self.tile.access.base)
        arg = self.place.argument(self.tile.access.base)
        if arg is None:
            raise CannotRewrite("the launch does not say where the product goes")
        for operand in self.operands:
            code = operand.code
            if stage.helper is not None:
                code = self._pass_through(stage, operand)
            self.editor.insert_beside(output, operand.parameter)
            self.editor.insert_beside(arg, code if arg.keyword is None else f"{operand.parameter}={code}")

    def _pass_through(self, stage: Stage, operand: _Operand) -> str:
        """A parameter of the function that launches, for an operand that its caller has."""
        assert stage.helper is not None and isinstance(stage.node, cst.Call)
        used = {n.value for n in walk(stage.helper) if isinstance(n, cst.Name)}
        name = fresh_name(_name_for(operand.code, operand.parameter), used)
        if any(arg.star for arg in stage.node.args) or not stage.node.args:
            raise CannotRewrite(f"the call of `{stage.helper.name.value}` unpacks its arguments")
        params = parameters(stage.helper)
        if any(param.default is not None for param in params):
            raise CannotRewrite(f"`{stage.helper.name.value}` has optional parameters")
        self.editor.append_to(params, name)
        by_name = any(arg.keyword is not None for arg in stage.node.args)
        self.editor.append_to(list(stage.node.args), f"{name}={operand.code}" if by_name else operand.code)
        return name

    def _drop_unused(self, stages: Sequence[Stage]) -> None:
        """Helper functions and kernels whose work has moved, where nothing else mentions them."""
        gone = [
            stage.helper
            for stage in stages
            if stage.helper is not None and stage.helper is not self.path.stages[0].helper
        ]
        for step in self.chain.steps[1:]:
            if isinstance(step, Launch):
                kernel = self.site.module.at(step.kernel.span, cst.FunctionDef)
                gone += [kernel] if kernel is not None else []
                call = self.site.module.at(step.span, cst.Call)
                inside_root = call is not None and any(call is stage.node for stage in stages)
                if call is not None and not inside_root and not any(call is n for g in gone for n in walk(g)):
                    raise CannotRewrite("a launch of the chain stands beside its caller's other work")
        inside = {id(n) for function in gone for n in walk(function)}
        removed = {id(stage.node) for stage in stages}
        for function in gone:
            mentions = [
                n for n in walk(self.site.module.tree)
                if isinstance(n, cst.Name) and n.value == function.name.value and id(n) not in inside
            ]  # fmt: skip
            calls = [
                n
                for stage in stages
                for n in walk(getattr(stage.node, "func", stage.node))
                if id(stage.node) in removed
            ]
            if all(any(m is c for c in calls) for m in mentions):
                start, end = _definition(self.source, function)
                self.editor.put(start, end, "", describes=True)


def _name_for(code: str, default: str) -> str:
    """What to call the value of ``code``: its last name."""
    last = code.rpartition(".")[2]
    return last if last.isidentifier() else default


def _operands(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The expressions that an operation works on."""
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    if isinstance(node, cst.UnaryOperation):
        return [node.expression]
    if isinstance(node, cst.Call):
        receiver = [node.func.value] if isinstance(node.func, cst.Attribute) else []
        return [*receiver, *(arg.value for arg in node.args)]
    return []


def _bound(part: Part, line: cst.CSTNode) -> set[str]:
    return {n.value for n in walk(line) if isinstance(n, cst.Name) and part.is_bound(n)}


def _definition(source: Source, function: cst.FunctionDef) -> tuple[int, int]:
    """The lines of a function with its decorators, the comments above, and the blank lines behind it."""
    start, end = source.with_heading(function)
    while end < len(source.text) and not source.text[end : source.line_end(end)].strip():
        end = source.line_end(end)
    return start, end
