"""What reads names, attributes and texts of code without naming them."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath

import libcst as cst

from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.tree import Module

#: What takes the name that it asks an object for, or gives it, as a text.
BY_TEXT = frozenset(
    "getattr setattr delattr attrgetter methodcaller object multiple __getattribute__ __setattr__".split()
)
#: What gives all names that an object has, or its text.
LOOKS_THROUGH = frozenset(
    {"vars", "dir", "__dict__", "__getstate__", "__reduce_ex__", "__annotations__", "__match_args__"}
    | {"__defaults__", "__kwdefaults__", "__globals__", "__closure__", "__code__"}
    | {"signature", "getfullargspec", "getsource", "getsourcelines", "getmembers", "getattr_static", "get_type_hints"}
)
#: What imports, or runs, a module whose name it computes.
DYNAMIC_IMPORT = frozenset({"import_module", "__import__", "spec_from_file_location", "run_path", "run_module"})
#: What a module with any of it may read of itself.
_OF_ITSELF = (
    (BY_TEXT - {"object", "multiple"})
    | LOOKS_THROUGH
    | DYNAMIC_IMPORT
    | {*"exec eval reload globals locals compile inspect _getframe f_globals f_locals gc __file__".split()}
    | {"__getattr__", "__init_subclass__", "__set_name__", "__prepare__", "__class_getitem__"}
)


#: What binds names of a module by their texts.
_BINDS = frozenset({"exec", "globals", "__globals__", "f_globals"})
#: What gives the text or the constants of code, those without a name among them.
_CODE = frozenset({"__code__", "getsource", "getsourcelines"})


def reads_its_code(module: Module) -> bool:
    """Whether something in ``module`` may read the numbers of its code."""
    return any(isinstance(node, cst.Name) and node.value in _CODE for node in module.nodes)


def binds_by_text(module: Module) -> bool:
    """Whether a name of ``module``, such as that of a kernel, may be bound to something else without being named there."""
    return any(name.value in _BINDS for name in module.of(cst.Name)) or _has_modules(module)


def reflects(module: Module) -> bool:
    """Whether something in ``module`` may read a name or an attribute of it without naming it there."""
    named = any(name.value in _OF_ITSELF for name in module.of(cst.Name))
    return named or _has_modules(module) or any(map(partial(_imports, PurePath(module.path)), module.nodes))


def _has_modules(module: Module) -> bool:
    """Whether ``module`` speaks of `sys.modules`."""
    spelled = (node for node in module.of(cst.Attribute) if node.attr.value == "modules")
    return "sys.modules" in module.imports.values() or any(
        origin_of(node, module.imports) == "sys.modules" for node in spelled
    )


def _imports(own: PurePath, node: cst.CSTNode) -> bool:
    """Whether ``node`` imports the module at ``own``, in which it stands."""
    package, name = own.parent.name, own.stem
    if name == "__init__":
        package, name = own.parent.parent.name, package
    if isinstance(node, cst.Import):
        return any(_last(one.name) == name for one in node.names)
    if not isinstance(node, cst.ImportFrom):
        return False
    if _last(node.module) == name:
        return True
    within = _last(node.module) == package if node.module is not None else bool(node.relative)
    return within and not isinstance(node.names, cst.ImportStar) and any(_last(one.name) == name for one in node.names)


def _last(name: cst.BaseExpression | None) -> str:
    return (dotted_name(name) or "").rpartition(".")[2]
