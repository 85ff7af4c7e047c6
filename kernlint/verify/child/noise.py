"""How far rounding alone takes a result from the truth: the reference itself, computed in narrower formats.

The reference runs in float64 with each number that it computes rounded to the bits of a format. What that does to its
results, element by element, is the noise of that format for this computation on these inputs: cancellation, saturation and
small elements next to large ones are in it, which no flat tolerance knows of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from kernlint.records import dataclass
from kernlint.verify.child.modes import mapped
from kernlint.verify.significand import BITS, CUT


def rounded(value: torch.Tensor, format: str) -> torch.Tensor:
    """``value``, float64, with the significand of ``format`` and an unlimited exponent."""
    drop = 53 - BITS[format]
    if drop <= 0:
        return value
    pattern = value.contiguous().view(torch.int64)
    half = 0 if format in CUT else 1 << (drop - 1)
    kept = ((pattern + half) & ~((1 << drop) - 1)).view(torch.float64)
    return torch.where(torch.isfinite(value), kept, value)


def _named(names: str) -> frozenset[Any]:
    owners = (torch, torch.Tensor, torch.nn.functional)
    found = (getattr(owner, name, None) for owner in owners for name in names.split())
    return frozenset(function for function in found if function is not None)


_CONTRACTIONS = _named(
    "matmul mm bmm mv dot vdot inner outer addmm addbmm addmv baddbmm einsum tensordot linear bilinear conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d conv_transpose3d scaled_dot_product_attention chain_matmul __matmul__ __rmatmul__"
)
_PRODUCTS = _named("mul multiply __mul__ __rmul__")


class Rounding(TorchFunctionMode):
    """Every floating-point result is rounded to the format ``results``, and the operands of contractions to ``operands``
    (None: not at all). ``products`` counts plain products as contractions: for references that have no other.

    ``depth`` is then the number of terms of the longest sum that was seen, ``contracted`` of the longest contraction (0: none).
    """

    def __init__(self, results: str | None, operands: str | None = None, products: bool = False) -> None:
        super().__init__()
        self.results, self.operands = results, operands
        self.contracting = _CONTRACTIONS | _PRODUCTS if products else _CONTRACTIONS
        self.depth, self.contracted = 1, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self.contracting and self.operands is not None:
            round_to: Callable[[Any], Any] = lambda value: _rounded(value, self.operands)  # noqa: E731
            args, kwargs = mapped(args, round_to), mapped(kwargs, round_to)
        made = func(*args, **kwargs)
        self._measure(args, made, func in self.contracting)
        if self.results is not None:
            mapped(made, self._round_in_place)
        return made

    def _measure(self, args: Any, made: Any, contracts: bool) -> None:
        if not _is_float(made) or not made.numel():
            return
        given: list[torch.Tensor] = []
        mapped(args, lambda value: given.append(value) if _is_float(value) else None)
        given = [one for one in given if one.numel() and one.data_ptr() != made.data_ptr()]
        for one in given:
            self.depth = max(self.depth, *one.shape, one.numel() // made.numel())
        if contracts and given:
            # [m, k] times [k, n]: m k k n / (m n) is the square of k.
            largest = sorted(one.numel() for one in given)[-2:]
            self.contracted = max(self.contracted, 1, int((largest[0] * largest[-1] / made.numel()) ** 0.5))

    def _round_in_place(self, value: Any) -> Any:
        # In place, since a view of something has to stay one; rounding twice changes nothing.
        if _is_float(value) and not any(s == 0 and n > 1 for s, n in zip(value.stride(), value.shape)):
            assert self.results is not None
            value.copy_(rounded(value, self.results))
        return value


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype is torch.float64 and value.layout is torch.strided


def _rounded(value: Any, format: str | None) -> Any:
    return rounded(value, format) if format is not None and _is_float(value) else value


@dataclass(frozen=True)
class Noise:
    """What formats do to the results of a reference, by path. ``fine`` are its results in float32, ``coarse`` those in the
    formats that a change may compute in (None: none narrower), ``depth`` the terms of its longest sum; ``sums`` is the format
    that sums are held in. ``contracted`` are the terms of its longest contraction on tensor cores."""

    fine: Mapping[str, torch.Tensor] | None
    coarse: Mapping[str, torch.Tensor] | None
    depth: int
    sums: str = "float32"
    operands: str | None = None
    results: str | None = None
    contracted: int = 0


#: Tensor cores cut sums off after each eight terms or more, by less than a unit in the last place: always towards zero.
_CUT_SUMS = 2.0**-26
#: Of a number, how often its rounding in a sum of ``depth`` terms: errors of many terms mostly cancel, so that their size
#: grows with the root. The factor leaves room for functions that are accurate to some units only.
_ROOM = 4.0
#: Of rounded operands: the largest of a million normal deviates is five standard ones.
_ROOM_COARSE = 3.0
#: Sizes are told apart by their powers of two up to this, and as far as there are so many of one.
_EXPONENTS = 64
_LEAST_GROUP = 64
#: Below this many elements a row says little about its scale.
_LEAST_ROW = 8


@dataclass(frozen=True)
class Unit:
    """The errors that one element may have: ``own`` from the last rounding to the type of the result, which is independent
    of that of other elements; ``sums`` from adding up; ``coarse`` from narrower formats, those of the version before among
    them. ``cut`` is by how much the narrower format scales the result as a whole."""

    own: torch.Tensor
    sums: torch.Tensor
    coarse: torch.Tensor
    cut: float = 0.0

    @property
    def total(self) -> torch.Tensor:
        return self.own + self.sums + self.coarse


def unit_of(
    path: str,
    dtype: torch.dtype,
    truth: torch.Tensor,
    noise: Noise,
    roundings: int = 1,
    before: torch.Tensor | None = None,
) -> Unit:
    """What results of ``dtype`` may be off by around ``truth`` (float64); ``roundings`` to that type. ``before`` are those of
    the version before, where they are no worse than rounding makes them: what it rounds on the way shows in its errors."""
    limits = torch.finfo(dtype)
    size = torch.where(torch.isfinite(truth), truth.abs(), torch.zeros_like(truth))
    own = size.clamp_min(limits.smallest_normal) * (limits.eps / 2) * roundings
    fine = _error(noise.fine, path, truth)
    if fine is None:
        fine = _guess(size, "float32")
    wider = 2.0 ** (BITS["float32"] - BITS[noise.sums])
    sums = _scale(fine) * (_ROOM * noise.depth**0.5 * wider)
    sums = sums + size * (noise.contracted * _CUT_SUMS)
    coarse, cut = _coarse(path, truth, size, noise)
    if before is not None and before.shape == truth.shape:
        beyond = ((before.double() - truth).abs() - own).clamp_min(0.0)
        coarse = coarse + _ROOM_COARSE * _by_size(torch.nan_to_num(beyond, 0.0, 0.0, 0.0), size)
    return Unit(own, sums, coarse, cut)


def _coarse(path: str, truth: torch.Tensor, size: torch.Tensor, noise: Noise) -> tuple[torch.Tensor, float]:
    """The noise of formats that are new with the change, and by how much they scale the result as a whole."""
    narrow = [format for format in (noise.operands, noise.results) if format is not None]
    if not narrow:
        return torch.zeros_like(size), 0.0
    found = _error(noise.coarse, path, truth)
    if found is None:
        narrowest = min(narrow, key=lambda format: BITS[format])
        cut = -(2.0 ** (1 - BITS[narrowest])) if narrowest in CUT else 0.0
        return _scale(_guess(size, narrowest)) * _ROOM_COARSE, cut
    assert noise.coarse is not None
    return _scale(found) * _ROOM_COARSE, factor(noise.coarse[path].double(), truth)


def _by_size(error: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """The root mean square of the errors of elements as large as each one: those of one power of two."""
    exponent = torch.frexp(size).exponent.clamp(-_EXPONENTS, _EXPONENTS).flatten().long() + _EXPONENTS
    count = torch.bincount(exponent, minlength=2 * _EXPONENTS + 1)
    power = torch.bincount(exponent, error.square().flatten(), 2 * _EXPONENTS + 1)
    usual = error.square().mean()
    mean = torch.where(
        count >= _LEAST_GROUP, power / count.clamp_min(1), torch.maximum(power / count.clamp_min(1), usual)
    )
    return mean[exponent].reshape(error.shape).sqrt()


def _error(results: Mapping[str, torch.Tensor] | None, path: str, truth: torch.Tensor) -> torch.Tensor | None:
    found = None if results is None else results.get(path)
    if found is None or found.shape != truth.shape:
        return None
    return torch.nan_to_num((found.double() - truth).abs(), 0.0, 0.0, 0.0)


def _guess(size: torch.Tensor, format: str) -> torch.Tensor:
    """Where the reference cannot be run in ``format``: half a rounding of each number and of its row."""
    return (size + _row(size)) * 2.0 ** -(BITS[format] + 1)


def _row(value: torch.Tensor) -> torch.Tensor:
    """The root mean square of the row that each element stands in."""
    if not value.numel():
        return value
    if value.dim() and value.shape[-1] >= _LEAST_ROW:
        return value.square().mean(-1, keepdim=True).sqrt().expand_as(value)
    return value.square().mean().sqrt().expand_as(value)


def _scale(error: torch.Tensor) -> torch.Tensor:
    """One sample of errors as a scale for others: no smaller than is usual in the row."""
    return torch.maximum(error, _row(error))


def factor(result: torch.Tensor, truth: torch.Tensor) -> float:
    """The least-squares factor from ``truth`` to ``result``, less one."""
    both = torch.isfinite(result) & torch.isfinite(truth)
    t = torch.where(both, truth, torch.zeros_like(truth))
    r = torch.where(both, result - truth, torch.zeros_like(truth))
    power = float(t.square().sum())
    return float((r * t).sum()) / power if power else 0.0
