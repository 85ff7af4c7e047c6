"""The host side of generated kernels: buffers, sizes, launches and what is returned, as the body of a function."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kernlint.generate.kernel import Kernel, NextPower
from kernlint.generate.spelling import expression, wrapped
from kernlint.generate.terms import Buffer
from kernlint.generate.values import CannotGenerate, Named, Unbound
from kernlint.rewrite.names import fresh_name
from kernlint.workload import Dtype, Expr, Size, Symbol, Tensor
from kernlint.workload import expr as ex
from kernlint.workload.expr import Monomial, lift


class Host:
    """What the function that is written can get at: ``arguments`` (tensors and numbers, by parameter) and what its object has
    (``held``, by path)."""

    def __init__(self, arguments: Mapping[str, Any], held: Mapping[str, Any], taken: Iterable[str]) -> None:
        self.arguments = arguments
        self.held = held
        self.taken = {*taken, *arguments, "self"}
        #: How the sizes that are needed are called here, in the order in which they were asked for.
        self.sizes: dict[Symbol, str] = {}
        self.lines: list[str] = []
        self._in_progress: set[Symbol] = set()
        #: What holds where sizes are parts of others.
        self.divisions: dict[str, None] = {}

    def new(self, wish: str) -> str:
        return fresh_name(re.sub(r"\W", "_", wish).strip("_") or "value", self.taken)

    def size(self, symbol: Symbol) -> str:
        """A variable with the size. Raises :class:`Unbound` where nothing in view has it."""
        if symbol in self._in_progress:
            raise Unbound(symbol.name)  # only a product with it stands anywhere, and the rest asks for it
        if symbol not in self.sizes:
            self._in_progress.add(symbol)
            source = self._source(symbol)
            self._in_progress.discard(symbol)
            self.sizes[symbol] = source if source.isidentifier() else self.new(symbol.name)
        return self.sizes[symbol]

    def _source(self, symbol: Symbol) -> str:
        """Where the size stands: an extent, a number among the arguments or attributes, or what is left of one that is a product with
        it."""
        places = [(f"{name}.shape[{axis}]", extent) for name, axis, extent in _extents(self.arguments)]
        places += [(name, value) for name, value in self.arguments.items() if isinstance(value, Expr)]
        places += [(f"self.{path}", value) for path, value in self.held.items() if isinstance(value, Expr)]
        places += [(f"self.{path}.shape[{axis}]", extent) for path, axis, extent in _extents(self.held)]
        wanted = Expr.atom(symbol)
        for text, value in places:
            if value == wanted:
                return text
        for text, value in places:
            rest = ex.floordiv(value, wanted) if isinstance(value, Expr) and symbol in value.atoms() else None
            if rest is not None and lift(rest) * wanted == value and symbol not in lift(rest).atoms():
                part = wrapped(self.expression(rest), 7)
                self.divisions.setdefault(f"{text} % {part} == 0", None)
                return f"{text} // {part}"
        raise Unbound(symbol.name)

    def number(self, value: Named) -> str:
        """An expression for a number that the source has a name for, the number itself where the function cannot see it."""
        for where, prefix in ((self.arguments, ""), (self.held, "self.")):
            for name, known in where.items():
                if isinstance(known, Named) and known.name == value.name and float(known) == float(value):
                    return f"{prefix}{name}"
        return repr(float(value))

    def expression(self, size: Size) -> tuple[str, int]:
        def names(monomial: Monomial) -> list[str]:
            for atom in monomial:
                if not isinstance(atom, Symbol):
                    raise CannotGenerate(f"a size that holds {atom}")
            return [self.size(atom) for atom in monomial if isinstance(atom, Symbol)]

        return expression(lift(size), names)

    def size_lines(self) -> list[str]:
        """The lines that read the sizes, those of one tensor together."""
        lines: list[str] = []
        left = {symbol: name for symbol, name in self.sizes.items() if name != self._source(symbol)}
        for argument, value in self.arguments.items():
            if not isinstance(value, Tensor) or not value.shape:
                continue
            names = []
            for extent in value.shape:
                symbol = next(iter(extent.atoms()), None) if isinstance(extent, Expr) else None
                known = isinstance(symbol, Symbol) and extent == Expr.atom(symbol) and left.get(symbol)
                names.append(known if known and known not in names else "_")
            if sum(name != "_" for name in names) > 1:
                lines.append(f"{', '.join(names)} = {argument}.shape")
                left = {symbol: name for symbol, name in left.items() if name not in names}
        lines += sorted(
            (f"{name} = {self._source(symbol)}" for symbol, name in left.items()), key=lambda line: "//" in line
        )
        return lines


def _extents(values: Mapping[str, Any]) -> list[tuple[str, int, Size]]:
    return [(n, axis, e) for n, v in values.items() if isinstance(v, Tensor) for axis, e in enumerate(v.shape or ())]


def launch_text(kernel: Kernel, host: Host, names: Mapping[int, str]) -> list[str]:
    """The launch of ``kernel``; ``names`` are the variables of values that lie in memory."""
    extents = []
    for factors in kernel.grid:
        texts = []
        for total, block in factors:
            text = host.expression(total)
            if block:
                texts.append(f"triton.cdiv({text[0]}, {_constant(kernel, block, host)})")
            else:
                texts.append(text[0] if len(factors) == 1 else wrapped(text, 6))
        extents.append(" * ".join(texts))
    grid = f"({', '.join(extents)},)" if len(extents) == 1 else f"({', '.join(extents)})"
    given = [names[id(buffer.value)] for buffer, _ in kernel.buffers]
    given += [host.expression(size)[0] for size in kernel.sizes]
    given += [host.number(number) for number in kernel.numbers.values()]
    options = [f"{name}={_constant(kernel, name, host)}" for name in kernel.constants]
    if kernel.num_warps != 4:
        options.append(f"num_warps={kernel.num_warps}")
    if kernel.num_stages is not None:
        options.append(f"num_stages={kernel.num_stages}")
    head = f"{kernel.name}[{grid}]("
    one = f"{head}{', '.join([*given, *options])})"
    if len(one) <= 100:
        return [one]
    return [head, f"    {', '.join(given)},", *([f"    {', '.join(options)},"] if options else []), ")"]


def _constant(kernel: Kernel, name: str, host: Host) -> str:
    value = kernel.constants[name]
    if not isinstance(value, NextPower):
        return str(value)
    power = f"triton.next_power_of_2({host.expression(value.total)[0]})"
    return power if value.least == 1 else f"max({value.least}, {power})"


def allocation(buffer: Buffer, name: str, host: Host, like: Callable[[Dtype], str], device: str) -> str:
    """The line that makes the memory of an intermediate or final result."""
    extents = [wrapped(host.expression(extent), 0) for extent in buffer.value.shape]
    shape = f"({', '.join(extents)},)" if len(extents) == 1 else f"({', '.join(extents)})"
    begin = buffer.value.operands[0].value.attributes["value"] if buffer.value.op == "scattered" else None
    function, number = (
        ("empty", "") if begin is None else ("zeros", "") if begin == 0 else ("full", f", {_plain(begin)}")
    )
    return f"{name} = torch.{function}({shape}{number}, device={device}, dtype={like(buffer.value.dtype)})"


def _plain(number: float) -> str:
    return repr(number) if math.isfinite(number) else f'float("{number}")'


def returned(result: Any, spell: Callable[[Tensor], str], host: Host) -> str:
    """The expression that is returned."""
    if isinstance(result, Tensor):
        return spell(result)
    if isinstance(result, (tuple, list)):
        texts = [returned(one, spell, host) for one in result]
        texts = [f"({text})" if type(one) is tuple and len(one) > 1 else text for text, one in zip(texts, result)]
        if isinstance(result, list):
            return f"[{', '.join(texts)}]"
        return ", ".join(texts) if len(texts) > 1 else f"({''.join(f'{text},' for text in texts)})"
    if isinstance(result, dict):
        return "{" + ", ".join(f"{key!r}: {returned(one, spell, host)}" for key, one in result.items()) + "}"
    if isinstance(result, Named):
        return host.number(result)
    if isinstance(result, Expr):
        return host.expression(result)[0]
    assert is_plain(result)
    return repr(result)


def is_plain(value: Any) -> bool:
    """Whether ``value`` is one that a function may return as it is."""
    return value is None or isinstance(value, (bool, int, float, str))


def values_of(result: Any) -> list[Tensor]:
    """The tensors of ``result``. Raises :class:`CannotGenerate` where it holds what is not known."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [t for one in result for t in values_of(one)]
    if isinstance(result, dict):
        return [t for one in result.values() for t in values_of(one)]
    if is_plain(result) or isinstance(result, Expr):
        return []
    raise CannotGenerate("a result that is not known")
