"""Which modules are for devices whose compiler is a fork of Triton's: what NVIDIA's and AMD's back ends refuse may pass there.

Told by what a module cannot do without (an unconditional import of a vendor's package, its own or that of a file of the project that
it imports or of a package around it, tensors made on its device, functions that only its Triton has, functions that ask torch for
that) or by the packages around it, whose ``__init__`` registers them, or functions that import them, for a vendor or a device, or turns
away tensors of others, by the fork that the project requires, by a ``triton`` of its own that has a ``jit``, or by what a folder of the
project around it is called. Names of files say nothing: `sort_ascend.py` sorts.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import libcst as cst

from kernlint.interpret import project
from kernlint.interpret.imports import file_state, imported_at_top
from kernlint.interpret.triton_release import fork_asked_for, requirement_files
from kernlint.syntax.names import origin_of
from kernlint.syntax.positions import python_tree, python_value
from kernlint.syntax.tree import Module

#: Devices and vendors that Triton itself compiles for, and words for devices that say nothing of the vendor.
_OWN = frozenset({"cuda", "nvidia", "hip", "rocm", "amd", "gpu", "cpu", "meta", "auto", ""})
#: Devices of torch that have an extension package ``torch_NAME``.
_DEVICES = frozenset({"npu", "mlu", "musa", "gcu", "xmlir", "txda", "ptpu", "hpu", "xpu", "sdaa", "gaudi"})
#: Vendors with a fork of Triton, and what their devices are called, as folders and files are named for them.
_FORKING = _DEVICES - {"xpu", "hpu"} | frozenset(
    "ascend camb cambricon enflame iluvatar kunlunxin maca metax mthreads tsingmicro".split()
)
#: What ``triton.language.extra`` and ``triton.backends`` hold in Triton's own releases.
_OWN_EXTRAS = frozenset({"cuda", "hip", "libdevice", "nvidia", "amd", "compiler", "driver", "backends"})

#: Modules for NVIDIA's devices: parts of Triton, and bindings of the vendor's own libraries.
_OF_NVIDIA = (
    "triton.language.extra.cuda",
    "triton.backends.nvidia",
    "triton.experimental.gluon.language.nvidia",
    "pynvml",
    "cutlass",
)

#: Functions of ``triton.language`` in Triton-Ascend (its reference), which no release of Triton has had.
_OF_FORKS = frozenset(
    "extract_slice insert_slice get_element compile_hint multibuffer parallel sync_block_all sync_block_set sync_block_wait".split()
)

#: Folders of what is installed: beside a package that stands in one, Triton itself does.
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def other_vendor(module: Module) -> str:
    """Why the kernels of ``module`` are compiled by another vendor's fork of Triton; empty where nothing says so."""
    return module.once(_other_vendor)


def needs_nvidia(module: Module) -> bool:
    """Whether ``module`` imports what is there for NVIDIA's devices alone, whatever the circumstances."""
    return any(path.startswith(_OF_NVIDIA) for _, _, path in imported_at_top(module))


def files_around(path: str) -> list[Path]:
    """The files around the module at ``path`` that tell whose compiler it is for."""
    return [*package_files(path), *requirement_files(path)]


def package_files(path: str) -> list[Path]:
    """The ``__init__.py`` of each package around the module at ``path``, the innermost first; a folder between may be one
    without."""
    found = []
    here = Path(os.path.realpath(path)).parent
    while here.parent != here:
        files = [folder / "__init__.py" for folder in (here, here.parent)]
        if not any(file.is_file() for file in files):
            break
        found += [file for file in files[:1] if file.is_file()]
        here = here.parent
    return found


def _other_vendor(module: Module) -> str:
    for _, _, path in imported_at_top(module):
        if _is_foreign_package(path):
            return f"the module imports `{path}`"
    for path in _used(module):
        return f"the module calls `{path}`"
    devices = _devices(module)
    if devices and not devices & _OWN:
        return f"the module makes tensors on `{min(devices)}`"
    if not os.path.isfile(module.path):
        return ""
    if _has_own_triton(module.path):
        return "`import triton` finds a module of the project"
    tree = python_tree(module.text)
    if needed := _needed(tree.body if tree is not None else (), module.path):
        return f"what the module imports needs `{needed}`"
    for file in package_files(module.path):
        if needed := _needed(project.statements_of(str(file)), str(file)):
            return f"what its package `{file.parent.name}` imports needs `{needed}`"
        registrations = _registered(file)
        part = Path(os.path.realpath(module.path)).relative_to(file.parent).parts[0].removesuffix(".py")
        for name, registered in ((file.parent.name, registrations.get("")), (part, registrations.get(part))):
            if registered:
                return f"its package `{name}` is for `{registered}`"
    for file in package_files(module.path)[:1]:
        if device := _demanded(project.statements_of(str(file))):
            return f"its package `{file.parent.name}` takes tensors on `{device}` alone"
    fork = fork_asked_for(module.path)
    return f"the project needs `{fork}`" if fork else _named_for(module.path)


def _named_for(path: str) -> str:
    """That a folder around the module at ``path``, within its project, is called after a vendor; empty where none is."""
    root, folder = project.project_root(path), Path(os.path.realpath(path)).parent
    parts = folder.relative_to(root.resolve()).parts if root is not None else ()
    named = [part for part in parts if _FORKING & set(re.split(r"[\W_\d]+", part.lower()))]
    return f"it stands under `{named[0]}`, as code for that vendor does" if named else ""


def _used(module: Module) -> Iterator[str]:
    """What ``module`` takes from ``triton.language``, under no condition, that only a fork has there."""
    if "triton.language" not in module.imports.values():
        return
    conditional = {node for branch in module.of(cst.If) for node in module.within(branch, cst.Attribute)}
    for node in module.of(cst.Attribute):
        path = origin_of(node, module.imports) or ""
        package, _, name = path.rpartition(".")
        foreign = package == "triton.language" and name in _OF_FORKS
        if (foreign or _is_foreign_package(path)) and node not in conditional:
            yield path


def _has_own_triton(path: str) -> bool:
    """Whether ``import triton`` finds a module of the project for the module at ``path``, one in which ``jit`` is defined."""
    file = project.module_of(path, "triton", 0)
    if file is None or not _INSTALLED.isdisjoint(file.parts):
        return False
    where, name = project.origin(str(file), "jit")
    return name in project.defined(where)


def _needed(statements: Iterable[ast.stmt], importer: str) -> str:
    """The vendor's package, or the device, that what ``statements`` import from files of the project cannot do without."""
    for statement in statements:
        if isinstance(statement, ast.ImportFrom):
            module, names = statement.module or "", [alias.name for alias in statement.names]
            for path in (module, *(f"{module}.{name}".lstrip(".") for name in names if statement.level)):
                file = project.module_of(importer, path, statement.level)
                if file is not None and (needed := _needed_by(str(file), names)):
                    return needed
    return ""


def _needed_by(file: str, names: Sequence[str]) -> str:
    """The vendor's package, or the device, that the module in ``file``, or a function of it that has one of the ``names``, asks for."""
    statements = project.statements_of(file)
    for function in (one for one in statements if isinstance(one, ast.FunctionDef) and one.name in names):
        asked = (ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Attribute))
        devices = {name.removeprefix("torch.") for name in asked if name.startswith("torch.")} & (_DEVICES | _OWN)
        if devices and not devices & _OWN:
            return f"torch.{min(devices)}"
    return _foreign_import(statements)


def _foreign_import(statements: Sequence[ast.stmt]) -> str:
    """The first package of another vendor that ``statements`` import, whatever the circumstances."""
    imported = (alias.name for one in statements if isinstance(one, ast.Import) for alias in one.names)
    return next(filter(_is_foreign_package, imported), "")


def _is_foreign_package(path: str) -> bool:
    root, *rest = path.split(".")
    if root == "triton" and len(rest) > 2 and rest[:2] == ["language", "extra"]:
        return rest[2] not in _OWN_EXTRAS
    if root == "triton" and len(rest) > 1 and rest[0] == "backends":
        return rest[1] not in _OWN_EXTRAS
    head, _, tail = root.partition("_")
    return head in ("torch", "triton") and tail in _DEVICES


def _devices(module: Module) -> set[str]:
    """The devices that calls name literally, without their number."""
    named = (arg.value for arg in module.of(cst.Arg) if arg.keyword is not None and arg.keyword.value == "device")
    return {str(python_value(one.value)).partition(":")[0] for one in named if isinstance(one, cst.SimpleString)}


def _demanded(statements: Iterable[ast.stmt]) -> str:
    """The device of another vendor that ``statements`` turn away tensors of all others for (``if x.device.type != "npu": return``)."""
    nodes = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.If)]
    tests = [node.test for node in nodes if isinstance(node.body[-1], (ast.Return, ast.Raise))]
    found = set()
    for one in (node for test in tests for node in ast.walk(test)):
        match one:
            case ast.Compare(ast.Attribute(attr="type"), [ast.NotEq()], [ast.Constant(str(device))]):
                found.add(device)
    return min(found) if found and found <= _DEVICES else ""


def _registered(file: Path) -> Mapping[str, str]:
    """The vendor, or the device, whose package the ``__init__.py`` of a package imports, or for which it registers it (by an empty
    name), or the parts of it that functions import which it registers; none that Triton itself compiles for."""
    state = file_state(file)
    return {} if state is None else _registered_at(*state)


@lru_cache(maxsize=256)
def _registered_at(path: str, mtime_ns: int, size: int) -> Mapping[str, str]:
    """As :func:`_registered`; time and size are there to tell apart what is not the same file any more."""
    statements = project.statements_of(path)
    if package := _foreign_import(statements):
        return {"": package}
    imported = {one.name: _parts(one) for one in statements if isinstance(one, ast.FunctionDef)}
    found: dict[str, tuple[set[str], set[str]]] = {"": (set(), set())}
    for statement in statements:
        value = getattr(statement, "value", None) if isinstance(statement, (ast.Assign, ast.Expr)) else None
        nodes = list(ast.walk(value)) if value is not None else []
        parts = {part for node in nodes if isinstance(node, ast.Name) for part in imported.get(node.id, ())}
        for keyword in (keyword for call in nodes if isinstance(call, ast.Call) for keyword in call.keywords):
            words = (keyword.arg or "").lower().split("_")
            which = 0 if "vendor" in words else 1 if words[0] in ("device", "devices") else None
            for part in ("", *parts) if which is not None else ():
                found.setdefault(part, (set(), set()))[which or 0].update(_strings(keyword.value))
    named = {part: vendors or devices & (_DEVICES | _OWN) for part, (vendors, devices) in found.items()}
    return {part: min(names) for part, names in named.items() if names and not names & _OWN}


def _parts(function: ast.FunctionDef) -> set[str]:
    """What of its own package a function imports: the first name of each module."""
    imports = (node for node in ast.walk(function) if isinstance(node, ast.ImportFrom) and node.level == 1)
    return {node.module.partition(".")[0] for node in imports if node.module}


def _strings(node: ast.expr) -> set[str]:
    """The string literals that ``node`` is, or holds."""
    nodes = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return {n.value.lower() for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
