"""One call of an entry: its workload, with all that the host learned on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from kernlint.interpret.host.first_call import first_steps, later_steps
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised
from kernlint.interpret.reading.arguments import ArgumentReading
from kernlint.interpret.reading.effects import of_tensors
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.values import Function, Instance, Unknown
from kernlint.records import replace
from kernlint.workload import Expr, Symbol, Tensor, Workload
from kernlint.workload.hints import Hints


class CallReading(ArgumentReading):
    """Follows calls."""

    def _follow(self, function: Function, args: list[Any], entry: str, given: list[Any]) -> Workload:
        host = self.host
        host.kept, host.modes = [], []
        host.escapes = False
        host.bounds, host.zeros, host.ways, host.untaken = [], [], [], set()
        host.numbers_read = set()
        host.open_choices = 0
        host.assumptions, host.unknowns = [], [u for u in host.unknowns if u.startswith("autotune")]
        result: Any = None
        if host.detailed:
            host.forget_numbers(*host.expected)  # what is written from this call serves calls with other ones
        settings = host.float_type, host.deterministic
        if self.trace is not None and entry == self.only:
            host.seen, host.seen_kernels = self.trace.host, self.trace.kernels
        if host.journal is not None:
            host.journal.following = entry
        with host.recording() as steps:
            try:
                result = host.invoke(function, args, {})
            except OutOfBudget:
                host.unknown("the call is too long to follow to its end")
            except (Raised, Break, Continue):
                host.unknown(f"{entry} raises for these arguments")
        host.float_type, host.deterministic = settings
        if host.journal is not None:
            host.journal.following = ""
        host.seen = None
        later, first = later_steps(steps), first_steps(steps)
        inputs = (*(a for a in given if isinstance(a, Tensor)), *tensors_in(host.parts.values()))
        outputs = tensors_in([result, host.kept])
        host.escapes |= bool(tensors_in([result]))
        sizes = {n: v for n, v in host.constants.items() if isinstance(v, int) and not isinstance(v, bool)}
        held = {"": args[0], **dict(_held(args[0]))} if args and isinstance(args[0], Instance) else {}
        workload = Workload(
            entry,
            self.kernel_module.path,
            later,
            tuple(host.current(t) for t in inputs),
            outputs,
            (*sorted(host.input_guesses), *host.assumptions),
            tuple(host.unknowns),
            sizes=sizes,
            bounds=tuple(dict.fromkeys(host.bounds)),
            zeros=tuple(dict.fromkeys(host.zeros)),
            elsewhere=frozenset(host.untaken),
            read_sizes=dict(host.read_sizes),
            numbers_read=frozenset(host.numbers_read),
            hints=Hints(
                {symbol: tuple(names) for symbol, names in host.size_names.items()},
                dict(host.choices),
                dict(host.dtype_choices),
                tuple(frozenset({one.name, other.name}) for one, other in host.alike),
                frozenset(host.annotated),
                frozenset(host.ways),
            ),
            first_steps=first if first != later else None,
            result=_returned(result),
            arguments=_by_parameter(function, args),
            open_choices=host.open_choices,
            held={path: one for path, one in held.items() if not isinstance(one, Instance)},
            modes={path: _modes(one, host.modes) for path, one in held.items() if isinstance(one, Instance)},
            by_mode=frozenset(path for path, one in held.items() if any(one is asked for asked, _ in host.modes)),
            faults=tuple(host.host_faults.values()),
            made=first_steps(host.made),
        )
        workload = of_tensors(workload, host.of_numbers)
        return replace(workload, symbols=open_symbols(workload.first_call()))


#: Parts of a result, those of parts counted each time they stand there, up to which its nesting is kept.
_MOST_PARTS = 256


def _returned(result: Any) -> Any:
    """``result`` as tuples, lists and dictionaries of tensors and plain values, unknown for anything else in it; unknown for one of too
    many parts: lists that hold a list twice grow without end."""
    left = _MOST_PARTS

    def nested(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise OverflowError
        if isinstance(value, Tensor):
            return value
        if isinstance(value, (tuple, list)):
            return (tuple if isinstance(value, tuple) else list)(map(nested, value))
        if isinstance(value, dict):
            return {key: nested(one) for key, one in value.items()}
        return (
            value if value is None or isinstance(value, (bool, int, float, str, Expr)) else Unknown("what is returned")
        )

    try:
        return nested(result)
    except OverflowError:
        return Unknown("what is returned")


#: Kinds of values that are kept of arguments and attributes.
_KEPT = (Tensor, int, float, Expr, str, type(None))


def _by_parameter(function: Function, args: Sequence[Any]) -> dict[str, Any]:
    """The tensors, numbers and texts among ``args``, and what is None, by the name of the parameter; those in a list or tuple of tensors
    by their place there."""
    if not isinstance(function.node, cst.FunctionDef):
        return {}
    params = [*function.node.params.posonly_params, *function.node.params.params]
    given = {p.name.value: v for p, v in zip(params, args)}
    for name, value in list(given.items()):
        if isinstance(value, (list, tuple)) and value and all(isinstance(one, Tensor) for one in value):
            given |= {f"{name}[{at}]": one for at, one in enumerate(value)}
    return {name: value for name, value in given.items() if isinstance(value, _KEPT)}


#: Attributes of an object, and objects inside objects, that are looked at.
_MOST_HELD, _DEEPEST_HELD = 512, 4


def _held(instance: Instance, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The tensors, numbers, texts and tuples of numbers that ``instance`` and the objects in it have, what is None, and these objects,
    by dotted path; but for whether they are in training, which each call may find changed."""
    names = [name for name in instance.attrs if not name.startswith("_") and name != "training"]
    items = [(f"{path}{name}", instance.attrs[name]) for name in names]
    items += [(f"{path}{i}", value) for i, value in enumerate(instance.attrs.get("_items", ()))]
    for name, value in items[:_MOST_HELD]:
        if isinstance(value, _KEPT) or (
            isinstance(value, tuple) and all(isinstance(one, (int, float)) for one in value)
        ):
            yield name, value
        elif isinstance(value, Instance) and depth < _DEEPEST_HELD:
            yield name, value
            yield from _held(value, f"{name}.", depth + 1)


def _modes(instance: Instance, told: Sequence[tuple[Instance, bool]]) -> frozenset[bool]:
    """Whether ``instance`` is in training, with what it was in a call in which objects were ``told``, or asked for it."""
    own = instance, instance.attrs.get("training", True)
    return frozenset(mode for one, mode in [own, *told] if one is instance and isinstance(mode, bool))


def open_symbols(workload: Workload) -> tuple[str, ...]:
    """Names of the sizes that are still open in the launches, in order of appearance."""
    found: dict[str, None] = {}

    def add(value: Any) -> None:
        if isinstance(value, Expr):
            for atom in value.atoms():
                if isinstance(atom, Symbol):
                    found[atom.name] = None

    for launch in workload.launches():
        for extent in launch.grid:
            add(extent)
        for value in launch.arguments.values():
            if isinstance(value, Tensor):
                for extent in value.shape or ():
                    add(extent)
            else:
                add(value)
    return tuple(sorted(found))
