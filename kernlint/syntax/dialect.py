"""Which kernel language a file is written in; kernlint reads Triton's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst

from kernlint.syntax.names import origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk

#: Decorators that make a kernel of another language, by the dotted origin they start with.
_DECORATORS = {
    "triton.experimental.gluon.": "Gluon",
    "helion.": "Helion",
    "tilelang.": "TileLang",
    "cutlass.cute.": "CuTe DSL",
    "numba.cuda.": "Numba CUDA",
    "cuda.tile.": "cuTile",
    "warp.kernel": "Warp",
}

#: Libraries that a kernel of Triton's syntax uses when it is of another language.
_EXTENSIONS = {"triton.language.extra.tlx": "TLX", "triton.experimental.gluon.language": "Gluon"}

#: Calls that compile a kernel from a string or a function.
_BUILDERS = {
    "torch.utils.cpp_extension.load_inline": "CUDA C++",
    "torch.utils.cpp_extension.load": "CUDA C++",
    "cupy.RawKernel": "CUDA C++",
    "cupy.RawModule": "CUDA C++",
    "jax.experimental.pallas.pallas_call": "Pallas",
}


def dialect(module: Module) -> str | None:
    """The language of the module's kernels where it is not Triton's: "Gluon", "TLX", "Helion", "CUDA C++" ...

    None for Triton and where there is no kernel at all. A file with kernels of both counts as the other language only
    if its Triton kernels themselves use it (as TLX's do).
    """
    imports = module.imports
    decorated = {language for function in module.of(libcst.FunctionDef) for language in _languages(function, imports)}
    extended = _extension_used(module, imports)
    if extended:
        return extended
    if has_kernel(module):
        return None
    if decorated:
        return sorted(decorated)[0]
    for node in module.of(libcst.Call):
        language = _BUILDERS.get(origin_of(node, imports) or "")
        if language:
            return language
    return None


def has_kernel(module: Module) -> bool:
    """Whether a function of the module is compiled by ``triton.jit``, as decorator or by a call, under any alias."""
    return module.once(_has_kernel)


def _has_kernel(module: Module) -> bool:
    imports = module.imports
    return any(is_triton_jit(node.decorator, imports) for node in module.of(libcst.Decorator)) or any(
        node.args and is_triton_jit(node.func, imports) for node in module.of(libcst.Call)
    )


def is_triton_jit(node: libcst.CSTNode, imports: Mapping[str, str]) -> bool:
    """Whether ``node`` (a decorator's expression, a called function) is ``triton.jit``.

    Libraries re-export the package (``from vllm.triton_utils import triton``), so that the last two parts of the
    origin decide, not the whole of it; ``triton.runtime.jit`` is where the function lives.
    """
    origin = origin_of(node, imports) or ""
    return is_tritons(origin, "jit") or origin.startswith("triton.runtime.jit")


def is_tritons(origin: str, *names: str) -> bool:
    """Whether ``origin`` is one of these ``names`` of the package, which may be re-exported."""
    package, _, name = origin.rpartition(".")
    return name in names and (package.startswith("triton.runtime.") or f".{package}".endswith(".triton"))


def _languages(function: libcst.FunctionDef, imports: Mapping[str, str]) -> Iterator[str]:
    for decorator in function.decorators:
        origin = origin_of(decorator.decorator, imports) or ""
        for start, language in _DECORATORS.items():
            if origin.startswith(start):
                yield language


def _extension_used(module: Module, imports: Mapping[str, str]) -> str | None:
    """The extension language that a function decorated with a jit calls into."""
    if "tlx" not in module.text and "gluon" not in module.text:
        return None  # the names of both stand in their imports
    for function in module.of(libcst.FunctionDef):
        if not any(is_triton_jit(decorator.decorator, imports) for decorator in function.decorators):
            continue
        for node in walk(function.body):
            if type(node) is libcst.Attribute:
                origin = origin_of(node, imports) or ""
                for start, language in _EXTENSIONS.items():
                    if origin.startswith(f"{start}."):
                        return language
    return None
