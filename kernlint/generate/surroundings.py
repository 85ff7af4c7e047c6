"""What a program read itself must not rest on, as nothing of it shows in its arguments: what it keeps between calls, what else may
change in its module, and the state of torch, of the process or of the clock."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from kernlint.generate.values import CannotGenerate

#: Modules that only compute.
_PURE = frozenset({"torch", "triton", "math", "typing", "__future__"})

#: Of those, what tells of their own state; and what else does that a tensor has.
_STATEFUL = tuple("is_grad_enabled is_inference_mode_enabled is_autocast get_ are_ backends initial_seed seed".split())
_OF_DEVICES = "get_device"
_OF_TENSORS = frozenset({"requires_grad", "grad", "grad_fn", "is_leaf", "is_inference", "_version"})

#: Builtins that read or change what is elsewhere, or an iterator, of which less is left then.
_IMPURE = frozenset("open input globals locals vars eval exec id hash setattr delattr __import__ iter next".split())

#: What gives an iterator: whoever walks one a second time finds nothing.
_WALKED_ONCE = frozenset("zip map filter enumerate reversed".split())

#: What says which device a tensor is on: another way is taken there, which is not read.
_OF_PLACES = frozenset({"is_cuda", "is_cpu", "device"})

#: What leaves a function as it is.
_DECORATORS = frozenset(
    {"no_grad", "inference_mode", "property", "staticmethod", "classmethod", "compile", "jit", "autotune", "heuristics"}
)


def refuse_hidden_state(module: ast.Module, entry: str) -> None:
    """Raise :class:`CannotGenerate` where a function of ``module`` that ``entry`` reaches by the names that it uses rests on such a
    thing. Functions of other modules are not looked into: those of torch and Triton are given what they need."""
    _Search(module).entered(entry)


def parameters(module: ast.Module, entry: str) -> list[str]:
    """The names of the parameters of the function ``entry`` of ``module``, but for the object that a method belongs to."""
    node = _Search(module).functions.get(entry)
    names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)] if node is not None else []
    return names[1:] if "." in entry else names


class _Search:
    def __init__(self, module: ast.Module) -> None:
        self.functions: dict[str, ast.FunctionDef] = {}
        self.classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
        self.imports: dict[str, str] = {}
        self.bound: dict[str, list[ast.expr | None]] = {}
        self.done: set[str] = set()
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                self.imports |= {(a.asname or a.name.partition(".")[0]): a.name.partition(".")[0] for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                self.imports |= {(a.asname or a.name): (node.module or ".").partition(".")[0] for a in node.names}
            elif isinstance(node, ast.Global):
                self.bound.update({name: [None] for name in node.names})
        for node in module.body:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                self.functions |= {f"{node.name}.{f.name}": f for f in node.body if isinstance(f, ast.FunctionDef)}
        for node in _outside(module):
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                value = None if isinstance(node, ast.AugAssign) else node.value
                for one in (one for target in targets for one in ast.walk(target)):
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                        self.bound.setdefault(one.id, []).append(value)

    def entered(self, name: str) -> None:
        """Look into a function or a method, whose object may call all of its methods."""
        owner = name.partition(".")[0]
        if owner in self.classes:
            self._class(owner)
        else:
            self.function(name)

    def _class(self, name: str) -> None:
        """Look into the methods of a class, but for what makes the object, and of the classes that it names: its bases, and those
        whose objects it holds."""
        if name in self.done:
            return
        self.done.add(name)
        for method in [one for one in self.functions if one.startswith(f"{name}.") and not one.endswith(".__init__")]:
            self.function(method)
        for node in ast.walk(self.classes[name]):
            if isinstance(node, ast.Name) and node.id in self.classes:
                self._class(node.id)

    def function(self, name: str) -> None:
        node = self.functions.get(name)
        if node is None or name in self.done:
            return
        self.done.add(name)
        _refuse_parameters(node)
        if any(_last(one) not in _DECORATORS for one in node.decorator_list):
            raise CannotGenerate(f"`{node.name}` is decorated")
        if any(_last(one) == "jit" for one in node.decorator_list):
            return  # Triton refuses what may change
        own = _bound_in(node)
        _refuse_iterators(node)
        for inner in ast.walk(node):
            self._node(inner, node, own)

    def _node(self, node: ast.AST, function: ast.FunctionDef, own: set[str]) -> None:
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            raise CannotGenerate(f"`{function.name}` changes `{node.names[0]}`, which it keeps between calls")
        if isinstance(node, ast.Try):
            raise CannotGenerate(f"`{function.name}` goes on after an error")
        if isinstance(node, ast.FunctionDef) and node is not function:
            _refuse_parameters(node)
        if isinstance(node, (ast.If, ast.IfExp)) and not _raises(node):
            asked = [one for one in ast.walk(node.test) if isinstance(one, ast.Attribute) and one.attr in _OF_PLACES]
            if asked:
                raise CannotGenerate(f"`{function.name}` goes another way by `{ast.unparse(asked[0])}`")
        if isinstance(node, ast.Attribute):
            self._attribute(node, function, own)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            self._name(node.id)

    def _attribute(self, node: ast.Attribute, function: ast.FunctionDef, own: set[str]) -> None:
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            raise CannotGenerate(f"`{function.name}` changes `{ast.unparse(node)}`, which it keeps between calls")
        root, *path = ast.unparse(node).split(".")
        asked = [one for one in path if one.startswith(_STATEFUL) and not one.startswith(_OF_DEVICES)]
        if self.imports.get(root) in _PURE and asked:
            raise CannotGenerate(f"`{function.name}` asks for `{ast.unparse(node)}`, the state of the process")
        if node.attr in _OF_TENSORS:
            raise CannotGenerate(f"`{function.name}` asks for `{ast.unparse(node)}`, which is not in the result alone")
        if hasattr(builtins, root) and root not in own | self.imports.keys() | self.bound.keys():
            raise CannotGenerate(f"`{ast.unparse(node)}` is not followed")
        if root in self.classes and f"{root}.{node.attr}" not in self.functions and node.attr != "apply":
            raise CannotGenerate(f"`{ast.unparse(node)}` may change")

    def _name(self, name: str) -> None:
        if name in self.functions:
            self.function(name)
        elif name in self.classes:
            self._class(name)
        elif name in self.bound:
            value, *others = self.bound[name]
            if others or value is None or not _stays(value):
                raise CannotGenerate(f"`{name}` of the module may change")
        elif name in self.imports:
            if self.imports[name] not in _PURE:
                raise CannotGenerate(f"`{name}` is of another module")
        elif not hasattr(builtins, name) or name in _IMPURE:
            raise CannotGenerate(f"`{name}` is not known")


def _raises(node: ast.If | ast.IfExp) -> bool:
    return isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise) and not node.orelse


def _refuse_iterators(function: ast.FunctionDef) -> None:
    """Raise where an iterator that has a name is walked, or may be, more than once."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        called = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in _WALKED_ONCE
        if not called and not isinstance(node.value, ast.GeneratorExp):
            continue
        names = {one.id for target in node.targets for one in [target] if isinstance(one, ast.Name)}
        read = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id in names]
        loops = (loop for loop in ast.walk(function) if isinstance(loop, (ast.For, ast.While)))
        again = any(one in ast.walk(line) for loop in loops for line in loop.body for one in read)
        if again or sum(isinstance(one.ctx, ast.Load) for one in read) > 1:
            raise CannotGenerate(f"`{ast.unparse(node.targets[0])}` is an iterator, of which less is left each time")


def _refuse_parameters(node: ast.FunctionDef) -> None:
    if node.args.kwonlyargs or node.args.vararg or node.args.kwarg:
        raise CannotGenerate(f"`{node.name}` takes arguments by keyword alone, or any number of them")
    if any(not _stays(one) for one in node.args.defaults):
        raise CannotGenerate(f"a default of `{node.name}` may change")


def _outside(module: ast.Module) -> Iterator[ast.AST]:
    """The nodes of ``module`` outside of its functions and classes."""
    waiting: list[ast.AST] = [*module.body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            waiting += ast.iter_child_nodes(node)


def _stays(value: ast.expr) -> bool:
    """Whether an expression is one that nobody can change later: numbers, text, attributes of modules, tuples of those."""
    if isinstance(value, ast.Dict):  # a table of types
        return all(key is not None and _is_dotted(key) for key in value.keys) and all(map(_is_dotted, value.values))
    allowed = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.Attribute, ast.Name, ast.operator, ast.unaryop)
    return all(isinstance(one, (*allowed, ast.expr_context)) for one in ast.walk(value))


def _is_dotted(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and (isinstance(node.value, ast.Name) or _is_dotted(node.value))


def _last(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)


def _bound_in(function: ast.FunctionDef) -> set[str]:
    """The names that ``function`` and the functions in it bind."""
    found = set[str]()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef) and node is not function:
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(a.asname or a.name).partition(".")[0] for a in node.names}
    return found
