"""Objects of classes that derive from ``torch.optim.Optimizer``: the parameters that they train, their options, what they keep of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernlint.interpret.host.sequences import open_sequence
from kernlint.interpret.host.values import OpenItems
from kernlint.interpret.values import Class, Function, Instance, Namespace
from kernlint.workload import Tensor

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator

#: What an object is made with, by the names of the parameters; the first of them are those that it trains.
_GIVEN = "_made_with"


class KeptOfEach(dict[int, Any]):
    """``self.state``: a dictionary for each parameter, made when it is asked for."""

    def of(self, parameter: Any) -> Any:
        return self.setdefault(parameter.storage.id, {}) if isinstance(parameter, Tensor) else {}


def is_optimizer(lineage: list[Class]) -> bool:
    bases = (base for cls in lineage for base in cls.bases)
    return any(isinstance(base, Namespace) and base.path.startswith("torch.optim.") for base in bases)


def set_up(h: HostEvaluator, instance: Instance, init: Function, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Note what ``instance`` is made with, as ``init`` takes it."""
    params = [*init.node.params.posonly_params, *init.node.params.params][1:]
    given: dict[str, Any] = {**dict(zip((p.name.value for p in params), args)), **kwargs}
    left = (param for param in params if param.name.value not in given and param.default is not None)
    given.update((param.name.value, h.default(param, init)) for param in left)
    instance.attrs[_GIVEN] = [(param.name.value, given.get(param.name.value)) for param in params]
    instance.attrs["state"] = KeptOfEach()


def param_groups(h: HostEvaluator, instance: Instance) -> Any:
    """``self.param_groups``: one group of all parameters, with the options that the object is made with."""
    (name, trained), *options = instance.attrs[_GIVEN]
    items = trained if isinstance(trained, (list, OpenItems)) else open_sequence(h, name)
    for item in [items.item] if isinstance(items, OpenItems) else items:
        if isinstance(item, Tensor):
            h.trained.setdefault(item.storage.id, None)
    return [{**dict(options), "params": items}]


def gradient(h: HostEvaluator, x: Tensor) -> Tensor | None:
    """``x.grad``: None but for parameters that an optimizer trains."""
    if x.storage.id not in h.trained:
        return None
    made = h.trained[x.storage.id]
    if made is None or (made.dtype, made.shape) != (x.dtype, x.shape):
        made = h.trained[x.storage.id] = h.allocate(x.dtype, x.shape, "input", None)
    return made
