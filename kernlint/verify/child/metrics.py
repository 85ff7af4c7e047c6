"""Numbers that say how far two results are apart. The judgement on them is the parent's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


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
