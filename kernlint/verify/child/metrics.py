"""Numbers that say how far two results are apart. The judgement on them is the parent's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from kernlint.verify.child.noise import Unit, factor

#: Rounding is even between its bounds; of such errors the root mean square is this part of the bound.
_EVEN = 3.0**-0.5


def tensors(value: Any, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor and number in a result, with its place in it."""
    if isinstance(value, torch.Tensor):
        yield path, value.detach()
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from tensors(inner, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from tensors(inner, f"{path}[{name!r}]")
    elif isinstance(value, (int, float)):
        yield path, torch.tensor(value, dtype=torch.float64)


def error(result: torch.Tensor, truth: torch.Tensor) -> dict[str, Any]:
    """How far ``result`` is from ``truth``, both of one shape.

    ``error`` is the largest |result - truth| / (|truth| + rms(truth)). ``wrong_nonfinite`` counts the
    elements where one is finite and the other, rounded to the type of the result, is not. ``worst`` is the index of the
    largest error.
    """
    y, t = result.double(), truth.double()
    expected = t.to(result.dtype).double() if result.dtype.is_floating_point else t
    finite = torch.isfinite(expected)
    same = (y == expected) | (torch.isnan(y) & torch.isnan(expected))
    wrong = (~finite & ~same) | (finite & ~torch.isfinite(y))
    measured = finite & torch.isfinite(y)
    reach = torch.where(finite, t, torch.zeros_like(t))
    count = max(1, int(finite.sum()))
    rms = float((reach.square().sum() / count).sqrt())
    distance = torch.where(measured, (y - t).abs(), torch.zeros_like(t))
    relative = distance / (reach.abs() + rms).clamp_min(1e-300)
    largest, worst = (float(relative.max()), int(relative.argmax())) if relative.numel() else (0.0, 0)
    if bool(wrong.any()):
        worst = int(wrong.flatten().int().argmax())
    index = _unravelled(worst, tuple(result.shape))
    return {
        "error": largest,
        "wrong_nonfinite": int(wrong.sum()),
        "worst": list(index),
        "value": float(y[index]) if y.numel() else None,
        "expected": float(t[index]) if t.numel() else None,
    }


def statistics(result: torch.Tensor, truth: torch.Tensor, unit: Unit) -> dict[str, Any]:
    """The errors of ``result`` in terms of ``unit``, what rounding explains; all are of one shape.

    ``excess`` is the largest error in units and ``at`` its place, ``allowance`` one unit there in the terms of :func:`error`;
    ``spread`` the root mean square of errors in units. ``factor`` is the least-squares factor from truth to result, less one,
    ``factor_noise`` its standard error from the last rounding, ``factor_shared`` what other rounding, which elements may have
    in common, does to it; ``drift`` the mean of signed errors in units, with the same two. ``scatter`` is the error that
    is left once the factor is taken out, relative to the truth. ``widest`` is the largest unit in the terms of :func:`error`.
    """
    y, t = result.double(), truth.double()
    known = torch.isfinite(y) & torch.isfinite(t)
    nothing = torch.zeros_like(t)
    t = torch.where(known, t, nothing)
    r = torch.where(known, y - t, nothing)
    count = int(known.sum())
    if not count:
        return {"excess": 0.0, "spread": 0.0, "factor": 0.0, "drift": 0.0}
    total = unit.total.clamp_min(1e-300)
    units = torch.where(known, r / total, nothing)
    power = float(t.square().sum())
    rms = (power / count) ** 0.5
    relative = total / (t.abs() + rms).clamp_min(1e-300)
    largest = int(units.abs().argmax())
    scaled = factor(y, t)
    found = {
        "excess": float(units.abs().max()),
        "at": list(_unravelled(largest, tuple(result.shape))),
        "value_at": float(y.flatten()[largest]),
        "expected_at": float(t.flatten()[largest]),
        "allowance": float(relative.flatten()[largest]),
        "widest": float(relative.max()),
        "spread": float((units.square().sum() / count).sqrt()),
        "factor": scaled,
        "drift": float(units.sum()) / count,
        "scatter": float(((r - scaled * t).square().sum() / power).sqrt()) if power else 0.0,
    }
    # Equal numbers are rounded alike: their errors are one error.
    groups = torch.unique(truth.to(result.dtype).double()[known], return_inverse=True)[1]
    own, ratio = unit.own[known] * _EVEN, (unit.own / total)[known] * _EVEN
    found["drift_noise"] = _alone(ratio, groups) / count
    found["drift_shared"] = float(((unit.sums + unit.coarse) / total)[known].sum()) / count
    found["factor_noise"] = _alone(own * t[known].abs(), groups) / power if power else 0.0
    weighted = torch.where(known, unit.coarse * t.abs(), nothing) * _EVEN
    common = max(_in_rows(weighted), _in_rows(weighted.transpose(0, -1))) if t.dim() > 1 else float(weighted.sum())
    found["factor_shared"] = (float((unit.sums * t.abs())[known].sum()) + common) / power if power else 0.0
    found["factor_cut"] = unit.cut
    return found


def _alone(parts: torch.Tensor, groups: torch.Tensor) -> float:
    """The standard deviation of a sum of errors of these sizes: those of one group have one sign, groups are independent."""
    sums = torch.zeros(int(groups.max()) + 1, dtype=parts.dtype, device=parts.device).index_add_(0, groups, parts)
    return float(sums.square().sum().sqrt())


def _in_rows(parts: torch.Tensor) -> float:
    """The same where each row is a group."""
    return float(parts.sum(-1).square().sum().sqrt())


def moved(after: torch.Tensor, before: torch.Tensor, truth: torch.Tensor | None) -> dict[str, Any]:
    """What a change that is to leave each element as it is did to them; all tensors are of one shape.

    ``count`` elements of ``of`` are not the same number (NaN is the same as NaN). With a ``truth``, ``away`` counts those of
    them that are farther from it than before by more than one rounding of their type, and ``worst`` is the index of the one
    that got away farthest.
    """
    y, x = after.double(), before.double()
    differs = (y != x) & ~(torch.isnan(y) & torch.isnan(x))
    found: dict[str, Any] = {"count": int(differs.sum()), "of": y.numel()}
    if truth is None or not found["count"]:
        return found
    t = truth.double()
    epsilon = torch.finfo(after.dtype).eps if after.dtype.is_floating_point else 0.0
    farther = (y - t).abs() - (x - t).abs() - epsilon * t.abs()
    # A number that is finite no more, or is so only now, is judged as wrong elsewhere.
    farther = torch.where(differs & torch.isfinite(farther), farther, torch.full_like(farther, -1.0))
    found["away"] = int((farther > 0).sum())
    if found["away"]:
        index = _unravelled(int(farther.argmax()), tuple(after.shape))
        found |= {
            "worst": list(index),
            "after": float(y[index]),
            "before": float(x[index]),
            "expected": float(t[index]),
        }
    return found


def _unravelled(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for extent in reversed(shape):
        index.append(flat % max(1, extent))
        flat //= max(1, extent)
    return tuple(reversed(index))
