"""Autograd functions: the forward pass that `apply` is, and the backward pass that `torch.autograd.grad` asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernlint.interpret.values import Class, Function, Instance, Unknown
from kernlint.workload import Tensor

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


def applied(h: HostEvaluator, cls: Class, forward: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The forward pass of an autograd function, which is kept for :func:`gradients`."""
    wanted = tuple(isinstance(arg, Tensor) for arg in args)
    context = Instance(None, "torch.autograd.function.FunctionCtx", {"needs_input_grad": wanted})
    result = h.invoke(forward, [context, *args], kwargs)
    if not kwargs:
        h.passes.append((cls, context, tuple(args), result))
    return result


def gradients(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``torch.autograd.grad`` of what one autograd function returned: its backward pass."""
    outputs, inputs, given = (
        args[i] if len(args) > i else kwargs.get(name) for i, name in enumerate(("outputs", "inputs", "grad_outputs"))
    )
    outputs, inputs, given = (v if isinstance(v, (tuple, list)) else (v,) for v in (outputs, inputs, given))
    for cls, context, arguments, result in reversed(h.passes):
        made = result if isinstance(result, tuple) else (result,)
        backward = h.getattr(cls, "backward", cls.node)
        alike = [
            isinstance(a, Tensor) and isinstance(b, Tensor) and a.storage == b.storage for a, b in zip(made, outputs)
        ]
        known = all(alike) and all(isinstance(one, Tensor) for one in given) and isinstance(backward, Function)
        if len({len(made), len(outputs), len(given)}) != 1 or not known:
            continue
        assert isinstance(backward, Function)
        found = h.invoke(backward, [context, *given], {})
        found = found if isinstance(found, tuple) else (found,)
        places = {a.storage.id: i for i, a in enumerate(arguments) if isinstance(a, Tensor)}
        at = [places.get(one.storage.id) if isinstance(one, Tensor) else None for one in inputs]
        if len(found) == len(arguments) and None not in at:
            saved = {id(tensor) for tensor in context.attrs.get("saved_tensors", ())}
            h.kept = [tensor for tensor in h.kept if id(tensor) not in saved]  # nobody waits for them any more
            return tuple(found[i] for i in at if i is not None)
    return Unknown("torch.autograd.grad")
