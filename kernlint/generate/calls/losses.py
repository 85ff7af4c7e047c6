"""Losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernlint.generate.calls.writer import Writer
from kernlint.generate.values import (
    CannotGenerate,
    Value,
    View,
    element,
    identity,
    lane,
    looked_through,
)
from kernlint.interpret.torch.layers import LOSS_SETTINGS, LOSSES_OF_THREE
from kernlint.interpret.torch.shapes import product
from kernlint.workload import Size, Tensor
from kernlint.workload import dtype as dt


def loss_settings(w: Writer) -> Mapping[str, Any]:
    """What a loss is told beside its tensors, by name, wherever it stands in the call."""
    names = LOSS_SETTINGS[w.call.function]
    tensors = 3 if w.call.function in LOSSES_OF_THREE else 2
    given = {**dict(zip(names, w.args[tensors:])), **w.kwargs}
    for name in ("size_average", "reduce", "weight"):
        if given.get(name) is not None:
            raise CannotGenerate(f"{w.call.function} with `{name}`")
    return given


def reduced_loss(w: Writer, losses: Value) -> Value:
    how = loss_settings(w).get("reduction", "mean")
    if how == "none":
        return losses
    total = w.reduce("sum", losses, list(range(len(losses.shape))), False)
    return w.map("div", total, product(losses.shape)) if how == "mean" else total


def _loss(losses: Callable[[Writer, Tensor, Tensor, tuple[Size, ...]], Value]) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x, y = w.tensor(0, "input"), w.tensor(1, "target")
        if x.shape != y.shape or x.shape is None:
            raise CannotGenerate(f"{w.call.function} of tensors of two shapes")
        return reduced_loss(w, losses(w, x, y, x.shape))

    return make


def _classified(w: Writer) -> tuple[Tensor, Tensor, tuple[Size, ...]]:
    """What has an element for each class along its second axis, the class numbers, and the shape of these."""
    x, target = w.tensor(0, "input"), w.tensor(1, "target")
    shape = x.shape or ()
    rows = (*shape[:1], *shape[2:])
    if len(shape) < 2 or target.shape != rows or not (target.dtype or dt.FLOAT32).is_integer:
        raise CannotGenerate("a loss of other than class numbers")
    return x, target, rows


def _cross_entropy(w: Writer) -> Value:
    """Of logits [n, classes, ...] and class numbers [n, ...]."""
    x, target, rows = _classified(w)
    shape, given = x.shape or (), loss_settings(w)
    smoothing = given.get("label_smoothing", 0.0)
    top, total = (w.reduce(kind, x, [1], False, dt.FLOAT32) for kind in ("max", "expsum"))
    level = w.map("add", top, w.map("log", total, shape=rows), shape=rows, dtype=dt.FLOAT32)

    def lost(own: Value) -> Value:
        found = w.map("sub", level, own, shape=rows, dtype=dt.FLOAT32)
        if not smoothing:
            return found
        mean = w.map("div", w.reduce("sum", x, [1], False, dt.FLOAT32), shape[1], shape=rows, dtype=dt.FLOAT32)
        even = w.map("sub", level, mean, shape=rows, dtype=dt.FLOAT32)
        parts = (w.map("mul", one, f, shape=rows) for one, f in ((found, 1.0 - smoothing), (even, float(smoothing))))
        return w.map("add", *parts, shape=rows, dtype=dt.FLOAT32)

    return _of_classes(w, x, target, given, lost)


def _of_classes(
    w: Writer, x: Tensor, target: Tensor, given: Mapping[str, Any], losses: Callable[[Value], Value]
) -> Value:
    """What ``losses`` makes of the element of each row of ``x`` that ``target`` names, put together; some classes do not count."""
    rows, reduction = target.shape or (), given.get("reduction", "mean")
    every = list(range(len(rows)))
    counts = w.map("ne", target, given.get("ignore_index", -100), shape=rows)
    known = w.map("where", counts, target, 0, shape=rows, dtype=dt.INT64)
    view = w.operand(x)
    places = looked_through(view.index, [lane(0), element(1), *map(lane, every[1:])])
    own = Value("pick", rows, dt.FLOAT32, (View(view.value, places), View(known, identity(rows))), {"wraps": ()})
    lost = w.map("where", counts, losses(own), 0.0, shape=rows, dtype=dt.FLOAT32)
    if reduction == "none":
        return lost
    whole = w.reduce("sum", lost, every, False, dt.FLOAT32)
    if reduction == "sum":
        return whole
    number = w.reduce("sum", w.map("cast", counts, shape=rows, dtype=dt.FLOAT32), every, False, dt.FLOAT32)
    return w.map("div", whole, number)


def _squared_error(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
    return w.map("square", w.map("sub", x, y, shape=shape), shape=shape)


def _absolute_error(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
    return w.map("abs", w.map("sub", x, y, shape=shape), shape=shape)


def _huber(scaled: bool) -> Callable[[Writer, Tensor, Tensor, tuple[Size, ...]], Value]:
    def losses(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
        beta = loss_settings(w).get("beta" if scaled else "delta", 1.0)
        far = _absolute_error(w, x, y, shape)
        half = w.map("mul", w.map("square", far, shape=shape), 0.5, shape=shape)
        line = w.map("sub", far, w.map("mul", beta, 0.5, shape=()), shape=shape)
        if scaled:
            near = w.map("div", half, beta, shape=shape)
        else:
            near, line = half, w.map("mul", line, beta, shape=shape)
        return w.map("where", w.map("lt", far, beta, shape=shape), near, line, shape=shape)

    return losses


def _kl_div(w: Writer) -> Value:
    x, y = w.tensor(0, "input"), w.tensor(1, "target")
    shape, given = x.shape or (), loss_settings(w)
    if shape != y.shape:
        raise CannotGenerate("a divergence of tensors of two shapes")
    if given.get("log_target", False):
        known = w.map("mul", w.map("exp", y, shape=shape), w.map("sub", y, x, shape=shape), shape=shape)
    else:
        entropy = w.map("mul", y, w.map("log", y, shape=shape), shape=shape)
        known = w.map("where", w.map("eq", y, 0.0, shape=shape), 0.0, entropy, shape=shape)
        known = w.map("sub", known, w.map("mul", y, x, shape=shape), shape=shape)
    if given.get("reduction") == "batchmean":
        return w.map("div", w.reduce("sum", known, list(range(len(shape))), False), shape[0])
    return reduced_loss(w, known)


def _picked_loss(w: Writer) -> Value:
    """``nll_loss`` of logarithms [n, classes, ...] and class numbers [n, ...]."""
    x, target, rows = _classified(w)
    return _of_classes(w, x, target, loss_settings(w), lambda own: w.map("neg", own, shape=rows, dtype=dt.FLOAT32))


def _binary(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
    """Cross entropies of probabilities, whose logarithms torch holds above -100."""

    def log(one: Any) -> Value:
        return w.map("maximum", w.map("log", one, shape=shape), -100.0, shape=shape)

    other = w.map("sub", 1.0, x, shape=shape)
    apart = w.map("sub", y, 1.0, shape=shape)
    return w.map("sub", w.map("mul", apart, log(other), shape=shape), w.map("mul", y, log(x), shape=shape), shape=shape)


def _binary_with_logits(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
    """(1 - y) * x + log(1 + exp(-x)), without overflow."""
    if loss_settings(w).get("pos_weight") is not None:
        raise CannotGenerate("a cross entropy with weights of its own")
    soft = w.map(
        "log1p", w.map("exp", w.map("neg", w.map("abs", x, shape=shape), shape=shape), shape=shape), shape=shape
    )
    low = w.map("maximum", w.map("neg", x, shape=shape), 0.0, shape=shape)
    return w.map("add", w.map("mul", w.map("sub", 1.0, y, shape=shape), x, shape=shape),
                 w.map("add", low, soft, shape=shape), shape=shape)  # fmt: skip


def _triplet(w: Writer) -> Value:
    anchor, positive, negative = (w.tensor(i, n) for i, n in enumerate(("anchor", "positive", "negative")))
    given = loss_settings(w)
    if given.get("p", 2.0) not in (2, 2.0) or given.get("swap") or len(anchor.shape or ()) != 2:
        raise CannotGenerate("a triplet loss of another norm")
    shape, margin, eps = anchor.shape or (), given.get("margin", 1.0), given.get("eps", 1e-6)

    def distance(other: Tensor) -> Value:
        apart = w.map("add", w.map("sub", anchor, other, shape=shape), eps, shape=shape)
        return w.map("sqrt", w.reduce("sum", w.map("square", apart, shape=shape), [1], False), shape=shape[:1])

    apart = w.map("sub", distance(positive), distance(negative), shape=shape[:1])
    return reduced_loss(w, w.map("maximum", w.map("add", apart, margin, shape=shape[:1]), 0.0, shape=shape[:1]))


def _of_a_margin(w: Writer) -> Value:
    """``margin_ranking_loss``: how far the first is from being larger than the second, or smaller, as the target says."""
    x, y, target = (w.tensor(i, n) for i, n in enumerate(("input1", "input2", "target")))
    if x.shape != y.shape or x.shape != target.shape or x.shape is None:
        raise CannotGenerate("a ranking of tensors of several shapes")
    apart = w.map("mul", w.map("neg", target, shape=x.shape), w.map("sub", x, y, shape=x.shape), shape=x.shape)
    lost = w.map("add", apart, loss_settings(w).get("margin", 0.0), shape=x.shape)
    return reduced_loss(w, w.map("maximum", lost, 0.0, shape=x.shape))


def _soft_margin(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
    return w.map(
        "log1p", w.map("exp", w.map("mul", w.map("neg", y, shape=shape), x, shape=shape), shape=shape), shape=shape
    )


def _hinge_embedding(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
    margin = loss_settings(w).get("margin", 1.0)
    far = w.map("maximum", w.map("sub", margin, x, shape=shape), 0.0, shape=shape)
    # As torch has it, which adds both parts for targets that are neither.
    near = w.map("where", w.map("ne", y, -1.0, shape=shape), x, 0.0, shape=shape)
    return w.map("add", w.map("where", w.map("ne", y, 1.0, shape=shape), far, 0.0, shape=shape), near, shape=shape)


def _poisson(w: Writer, x: Tensor, y: Tensor, shape: tuple[Size, ...]) -> Value:
    given = loss_settings(w)
    if given.get("full"):
        raise CannotGenerate("a Poisson loss with Stirling's terms")
    if given.get("log_input", True):
        return w.map("sub", w.map("exp", x, shape=shape), w.map("mul", y, x, shape=shape), shape=shape)
    log = w.map("log", w.map("add", x, given.get("eps", 1e-8), shape=shape), shape=shape)
    return w.map("sub", x, w.map("mul", y, log, shape=shape), shape=shape)


def _gaussian(w: Writer) -> Value:
    x, y, variance = (w.tensor(i, n) for i, n in enumerate(("input", "target", "var")))
    given, shape = loss_settings(w), x.shape
    if shape != y.shape or shape != variance.shape or shape is None or given.get("full"):
        raise CannotGenerate("a Gaussian loss of tensors of several shapes")
    spread = w.map("maximum", variance, given.get("eps", 1e-6), shape=shape)
    far = w.map("div", _squared_error(w, x, y, shape), spread, shape=shape)
    return reduced_loss(
        w, w.map("mul", w.map("add", w.map("log", spread, shape=shape), far, shape=shape), 0.5, shape=shape)
    )


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "cross_entropy": _cross_entropy,
    "mse_loss": _loss(_squared_error),
    "l1_loss": _loss(_absolute_error),
    "smooth_l1_loss": _loss(_huber(True)),
    "huber_loss": _loss(_huber(False)),
    "kl_div": _kl_div,
    "triplet_margin_loss": _triplet,
    "nll_loss": _picked_loss,
    "margin_ranking_loss": _of_a_margin,
    "soft_margin_loss": _loss(_soft_margin),
    "hinge_embedding_loss": _loss(_hinge_embedding),
    "poisson_nll_loss": _loss(_poisson),
    "gaussian_nll_loss": _gaussian,
    "binary_cross_entropy": _loss(_binary),
    "binary_cross_entropy_with_logits": _loss(_binary_with_logits),
}
