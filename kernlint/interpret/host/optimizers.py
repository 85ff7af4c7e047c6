"""Objects of classes that derive from ``torch.optim.Optimizer``: the parameters that they train, their options, what they keep of each."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.edits import Literal
from kernlint.interpret.host.sequences import open_sequence
from kernlint.interpret.host.values import OpenItems
from kernlint.interpret.values import Builtin, Class, Function, Instance, Namespace, Rest, Unknown
from kernlint.records import dataclass
from kernlint.workload import Tensor

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator

#: The name, which no program has, of the groups of parameters that an object is made with.
_GROUPS = "groups of parameters"
#: The kind of what stands for a group.
GROUP = "parameter group"
#: The key under which nothing is kept, and that says that more may be kept than is known.
_LOST = "lost"
#: Methods of a dictionary that change more of it than one key, or that take one away.
_CHANGING = frozenset({"pop", "popitem", "update", "clear"})


@dataclass(frozen=True, eq=False)
class KeptOfEach(Unknown):
    """``self.state``: something for each parameter, a dictionary unless the program keeps something else, made when it is asked
    for. Parameters are told apart by what they store: a tensor is read anew wherever it is named. As a whole it is not known."""

    kept: dict[Any, Any] = field(default_factory=dict)

    def of(self, index: Any) -> Any:
        """``state[index]``."""
        return self._read(index, {}, keep=True)

    def keep(self, index: Any, value: Any) -> None:
        """``state[index] = value``."""
        key = _key(index)
        if key is None:
            self.lose()
        else:
            self.kept[key] = value

    def forget(self, index: Any) -> None:
        """``del state[index]``."""
        key = _key(index)
        if key is None:
            self.lose()
        else:
            self.kept.pop(key, None)

    def lose(self) -> None:
        """Forget everything: something has changed that is not followed."""
        self.kept.clear()
        self.kept[_LOST] = True

    def holds(self, index: Any) -> Any:
        """``index in state``."""
        key = _key(index)
        return True if key in self.kept else Unknown("a key") if key is None or _LOST in self.kept else False

    def attribute(self, name: str) -> Any:
        """``state.name``."""
        if name in ("get", "setdefault"):
            keep = name == "setdefault"
            return Builtin(name, lambda a, k, n: self._read(*_key_and_usual(a, k), keep=keep))
        if name in _CHANGING:
            return Builtin(name, self._changed)
        return Unknown(name)

    def _changed(self, args: list[Any], kwargs: dict[str, Any], node: Any) -> Unknown:
        self.lose()
        return Unknown("of what an optimizer keeps")

    def _read(self, index: Any, usual: Any, keep: bool) -> Any:
        held = self.holds(index)
        if isinstance(held, Unknown):
            if keep and _key(index) is None:
                self.lose()  # it may be there from now on
            return held
        if not held and keep:
            self.kept[_key(index)] = usual
        return self.kept[_key(index)] if held or keep else usual


def _key_and_usual(args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """What is asked for, and what there is where that is not kept."""
    return args[0] if args else None, args[1] if len(args) > 1 else kwargs.get("default")


def _key(index: Any) -> Any:
    """What ``index`` is told from other keys by; None where that is not known."""
    if isinstance(index, Tensor):
        return Tensor, index.storage.id
    if isinstance(index, str):
        return str, index
    return (int, int(index)) if type(index) in (int, Literal) else None


def is_optimizer(lineage: list[Class]) -> bool:
    bases = (base for cls in lineage for base in cls.bases)
    return any(isinstance(base, Namespace) and base.path.startswith("torch.optim.") for base in bases)


def set_up(h: HostEvaluator, instance: Instance, init: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Give ``instance`` what ``torch.optim.Optimizer`` does, before ``init``, its ``__init__`` where that is in view, is run."""
    node = init.node.params if isinstance(init, Function) else cst.Parameters()
    placed = [*node.posonly_params, *node.params][1:]
    sure = args[: next((place for place, value in enumerate(args) if isinstance(value, Rest)), len(args))]
    given: dict[str, Any] = {**dict(zip((p.name.value for p in placed), sure)), **kwargs}
    params = [*placed, *node.kwonly_params]
    for param in params:
        if param.name.value not in given:
            # Of an argument that may be among others, or that Python would miss, nothing is known.
            open_ended = param.default is None or len(sure) < len(args)
            given[param.name.value] = Unknown(param.name.value) if open_ended else h.default(param, init)
    names = [param.name.value for param in params]
    name = "params" if "params" in given or not names else names[0]
    trained = given.pop(name, sure[0] if sure and not placed else None)
    instance.attrs[_GROUPS] = [_group(given, one) for one in _trained(h, name, trained)]
    instance.attrs["state"] = KeptOfEach()


def _trained(h: HostEvaluator, name: str, trained: Any) -> list[Any]:
    """What each group of the argument ``trained``, called ``name``, is made of: parameters, or a dictionary with options."""
    if isinstance(trained, (list, tuple)) and trained and all(isinstance(one, dict) for one in trained):
        return list(trained)
    return [trained if isinstance(trained, (list, tuple, OpenItems)) else open_sequence(h, name)]


def _group(options: dict[str, Any], trained: Any) -> Instance:
    """A group of parameters: a dictionary, of which other keys are not known, as what gives the options their names is not followed."""
    if not isinstance(trained, dict):
        trained = {"params": trained}
    elif isinstance(trained.get("params"), Tensor):
        trained = {**trained, "params": [trained["params"]]}
    group = Instance(None, GROUP, {**options, **{key: one for key, one in trained.items() if isinstance(key, str)}})

    def get(args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        key, _ = _key_and_usual(args, kwargs)
        return group.attrs.get(key, Unknown(key)) if isinstance(key, str) else Unknown(GROUP)

    group.attrs.setdefault("get", Builtin("get", get))
    return group


def param_groups(h: HostEvaluator, instance: Instance) -> list[Any]:
    """``self.param_groups``: usually one group of all parameters, with the options that the object is made with."""
    if _GROUPS not in instance.attrs:
        set_up(h, instance, None, [], {})  # made in a way that is not followed
    groups: list[Any] = instance.attrs[_GROUPS]
    for group in groups:
        # Programs put others into the list.
        told = group.attrs if isinstance(group, Instance) else group
        items = told.get("params") if isinstance(told, dict) else None
        for item in [items.item] if isinstance(items, OpenItems) else items if isinstance(items, (list, tuple)) else ():
            if isinstance(item, Tensor):
                h.trained.setdefault(item.storage.id, None)
    return groups


def keep(container: KeptOfEach | Instance, index: Any, value: Any) -> None:
    """``container[index] = value``, where that is what an optimizer keeps or a group."""
    if isinstance(container, KeptOfEach):
        container.keep(index, value)
    elif container.kind == GROUP:
        unsure = {} if isinstance(index, str) else {key: Unknown(key) for key in container.attrs}
        container.attrs.update(unsure or {str(index): value})


def gradient(h: HostEvaluator, x: Tensor) -> Tensor | None:
    """``x.grad``: None but for parameters that an optimizer trains."""
    if x.storage.id not in h.trained:
        return None
    made = h.trained[x.storage.id]
    if made is None or (made.dtype, made.shape) != (x.dtype, x.shape):
        made = h.trained[x.storage.id] = h.allocate(x.dtype, x.shape, "input", None)
    return made
