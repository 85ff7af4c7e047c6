"""What a script is started with: the defaults of its options (argparse)."""

from __future__ import annotations

from typing import Any

from kernlint.interpret.values import Builtin, Instance, Unknown


def parser() -> Instance:
    """An ``argparse.ArgumentParser`` whose command line is empty."""
    options: dict[str, Any] = {}
    made = Instance(None, "argparse.ArgumentParser")

    def add(args: list[Any], kwargs: dict[str, Any], node: Any) -> None:
        flags = [flag for flag in args if isinstance(flag, str)]
        longest = max(flags, key=lambda flag: (flag.startswith("--"), len(flag)), default="")
        name = kwargs.get("dest", longest.lstrip("-").replace("-", "_"))
        usual = {"store_true": False, "store_false": True, "count": None}.get(
            kwargs.get("action", ""), Unknown(longest)
        )
        options[name] = kwargs.get("default", usual)

    def parsed(args: list[Any], kwargs: dict[str, Any], node: Any) -> Instance:
        return Instance(None, "argparse.Namespace", dict(options))

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
