"""Autograd functions: the forward pass that `apply` is, and the backward pass that `torch.autograd.grad` asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernlint.interpret.values import Class, Function, Instance, Unknown
from kernlint.workload import Tensor

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


def applied(h: HostEvaluator, cls: Class, forward: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The forward pass of an autograd function, which is kept for :func:`gradients`."""
    context, result = forward_pass(h, cls, forward, args, kwargs)
    if not kwargs:
        h.passes.append((cls, context, tuple(args), result))
    return result


def forward_pass(
    h: HostEvaluator, cls: Class, forward: Function, args: list[Any], kwargs: dict[str, Any]
) -> tuple[Instance, Any]:
    """The context and the result of the forward pass of an autograd function."""
    wanted = tuple(isinstance(arg, Tensor) for arg in args)
    context = Instance(None, "torch.autograd.function.FunctionCtx", {"needs_input_grad": wanted})
    result = h.invoke(forward, [*before_arguments(h, cls, forward, context), *args], kwargs)
    set_up = h.getattr(cls, "setup_context", cls.node)
    if isinstance(set_up, Function):
        h.invoke(set_up, [context, tuple(args), result], {})
    return context, result


def before_arguments(h: HostEvaluator, cls: Class, method: Function, context: Any) -> list[Any]:
    """What a pass of an autograd function is given before its arguments: the context, unless a method of its own sets that up
    after the forward pass; the class, where it is a class method."""
    apart = method.name == "forward" and isinstance(h.getattr(cls, "setup_context", cls.node), Function)
    return [*([cls] if "classmethod" in method.decorators else []), *([] if apart else [context])]


def backward_pass(h: HostEvaluator, cls: Class, context: Instance, gradients: Any) -> Any:
    """What the backward pass behind the forward pass of ``context`` gives for ``gradients``, those of its results; None without one."""
    backward = h.getattr(cls, "backward", cls.node)
    if not isinstance(backward, Function):
        return None
    given = gradients if isinstance(gradients, tuple) else (gradients,)
    return h.invoke(backward, [*before_arguments(h, cls, backward, context), *given], {})


def gradients(h: HostEvaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``torch.autograd.grad`` of what one autograd function returned: its backward pass."""
    outputs, inputs, given = (
        args[i] if len(args) > i else kwargs.get(name) for i, name in enumerate(("outputs", "inputs", "grad_outputs"))
    )
    outputs, inputs, given = (v if isinstance(v, (tuple, list)) else (v,) for v in (outputs, inputs, given))
    for cls, context, arguments, result in reversed(h.passes):
        made = result if isinstance(result, tuple) else (result,)
        alike = [
            isinstance(a, Tensor) and isinstance(b, Tensor) and a.storage == b.storage for a, b in zip(made, outputs)
        ]
        known = all(alike) and all(isinstance(one, Tensor) for one in given)
        if len({len(made), len(outputs), len(given)}) != 1 or not known:
            continue
        found = backward_pass(h, cls, context, tuple(given))
        found = found if isinstance(found, tuple) else (found,)
        places = {a.storage.id: i for i, a in enumerate(arguments) if isinstance(a, Tensor)}
        at = [places.get(one.storage.id) if isinstance(one, Tensor) else None for one in inputs]
        if len(found) == len(arguments) and None not in at:
            saved = {id(tensor) for tensor in context.attrs.get("saved_tensors", ())}
            h.kept = [tensor for tensor in h.kept if id(tensor) not in saved]  # nobody waits for them any more
            return tuple(found[i] for i in at if i is not None)
    return Unknown("torch.autograd.grad")
