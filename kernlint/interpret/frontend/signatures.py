"""Whether the arguments of a call fit what the release asked about gives the function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.values import Unknown

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


def check_call(f: FrontEnd, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> bool:
    """Whether the arguments fit the parameters that the target release gives the function."""
    parameters = f.target.parameters(path)
    if parameters is None or any(a.star for a in node.args):
        return True
    shown = path.replace("triton.language", "tl", 1)
    names = [p.rstrip("!") for p in parameters]
    for keyword in kwargs:
        if keyword in ("boundary_check", "padding_option") and args and isinstance(args[0], Unknown):
            continue  # said where the block pointer is made
        if keyword not in names and "**" not in names:
            _unexpected(f, path, shown, keyword, node)
            return False
    for keyword in kwargs:
        change = f.target.change(path, keyword)
        if change is not None and change.deprecated and f.target.deprecated(change):
            text = f"`{keyword}` of `{shown}` is deprecated; use {change.replacement}"
            f.fault("deprecated-parameter", _argument(node, keyword), text, f"{path}({keyword}=)")
    if "*" in names:
        return True
    positional = [n for n in names if n not in ("*", "**")]
    if len(args) > len(positional):
        f.fault("bad-call", node, f"`{shown}` takes {len(positional)} arguments; {len(args)} are given", path)
        return False
    given = {*positional[: len(args)], *kwargs}
    for keyword in kwargs:
        if keyword in positional[: len(args)]:
            f.fault("bad-call", node, f"`{shown}` is given `{keyword}` twice", path)
            return False
    for parameter in parameters:
        if parameter.endswith("!") and parameter[:-1] not in given:
            f.fault("bad-call", node, f"`{shown}` is called without `{parameter[:-1]}`", path)
            return False
    return True


def _unexpected(f: FrontEnd, path: str, shown: str, keyword: str, node: cst.Call) -> None:
    change = f.target.change(path, keyword)
    if change is not None:
        since = None if f.target.named else f.target.gone_since(path, keyword)
        text = f"`{shown}` has no `{keyword}` " + (
            f"since Triton {since}" if since else f"in Triton {f.target.release}"
        )
        f.fault("removed-parameter", _argument(node, keyword), text, f"{path}({keyword}=)")
    else:
        f.fault("bad-call", _argument(node, keyword), f"`{shown}` has no parameter `{keyword}`", path)


def _argument(node: cst.CSTNode, keyword: str) -> cst.CSTNode:
    """The argument of a call that is given by ``keyword``."""
    for arg in getattr(node, "args", ()):
        if arg.keyword is not None and arg.keyword.value == keyword:
            return arg
    return node
