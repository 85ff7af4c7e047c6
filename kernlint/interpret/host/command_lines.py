"""What a script is started with: the defaults of its options (argparse)."""

from __future__ import annotations

from typing import Any

from kernlint.interpret.values import Builtin, Instance, Namespace, Unknown

#: What options are when nothing is given, by the action of those that store no argument.
_USUAL = {"store_true": False, "store_false": True, "count": None}
#: What a ``type=`` that is one of Python's own makes of a text.
_MAKING = {"builtins.int": int, "builtins.float": float, "builtins.str": str, "builtins.bool": bool}
#: Longest text that is read as a number: Python refuses to make integers of very long ones.
_MOST_DIGITS = 64


def parser() -> Instance:
    """An ``argparse.ArgumentParser`` whose command line is empty."""
    options: dict[str, Any] = {}
    kinds: dict[str, Any] = {}
    made = Instance(None, "argparse.ArgumentParser")

    def add(args: list[Any], kwargs: dict[str, Any], node: Any) -> None:
        flags = [flag for flag in args if isinstance(flag, str)]
        longest = max(flags, key=lambda flag: (flag.startswith("--"), len(flag)), default="")
        name = kwargs.get("dest", longest.lstrip("-").replace("-", "_"))
        if not isinstance(name, str):
            return  # nobody knows what it is read as
        action = kwargs.get("action", "")
        usual = _USUAL.get(action, Unknown(longest)) if isinstance(action, str) else Unknown(longest)
        options[name] = kwargs.get("default", usual)
        kinds[name] = kwargs.get("type")

    def parsed(args: list[Any], kwargs: dict[str, Any], node: Any) -> Instance:
        told = [*args, kwargs.get("args")][0]
        if isinstance(told, (list, tuple)) and told:  # the program's own command line, which is not followed
            return Instance(None, "argparse.Namespace", {name: Unknown(name) for name in options})
        values = {name: _made(value, kinds.get(name)) for name, value in options.items()}
        return Instance(None, "argparse.Namespace", values)

    made.attrs.update(
        add_argument=Builtin("add_argument", add),
        parse_args=Builtin("parse_args", parsed),
        parse_known_args=Builtin("parse_known_args", lambda a, k, n: (parsed(a, k, n), [])),
        set_defaults=Builtin("set_defaults", lambda a, k, n: options.update(k)),
        **{
            name: Builtin(name, lambda a, k, n: made) for name in ("add_argument_group", "add_mutually_exclusive_group")
        },
    )
    return made


def _made(default: Any, kind: Any) -> Any:
    """``default`` as ``argparse`` hands it out: a text is read as one from the command line, by the ``kind`` that is asked for."""
    if kind is None or not isinstance(default, str):
        return default
    make = _MAKING.get(kind.path) if isinstance(kind, Namespace) else None
    if make is None or len(default) > _MOST_DIGITS:
        return Unknown("an option that is converted")
    try:
        return make(default)
    except ValueError:
        return Unknown("an option that is refused")
