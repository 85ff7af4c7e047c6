"""Further items in a list of parameters or arguments, laid out as the list is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst

from kernlint.rewrite.function import LaunchSource, parameters
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import MAX_LINE, CannotRewrite, TextEdit


def insert_parameters(source: Source, node: cst.FunctionDef, after: int, texts: Sequence[str]) -> list[TextEdit]:
    """Edits that put ``texts`` behind the parameter number ``after`` (-1: in front of all)."""
    params = parameters(node)
    if after < 0:
        if not params:
            raise CannotRewrite(f"`{node.name.value}` has no parameters")
        start = source.start(params[0])
        return [TextEdit(start, start, "".join(f"{text}, " for text in texts))]
    end = source.item_end(params[after])
    following = source.start(params[after + 1]) if after + 1 < len(params) else None
    return [_insertion(source, source.start(params[after]), end, following, texts)]


def insert_arguments(source: Source, call: cst.Call, after: int, texts: Sequence[str]) -> list[TextEdit]:
    """Edits that put ``texts`` behind the argument number ``after`` (-1: in front of all)."""
    if not call.args:
        end = source.end(call) - 1
        return [TextEdit(end, end, ", ".join(texts))]
    if after < 0:
        start = source.start(call.args[0])
        return [TextEdit(start, start, "".join(f"{text}, " for text in texts))]
    arg = call.args[after]
    following = source.start(call.args[after + 1]) if after + 1 < len(call.args) else None
    start, end = source.range_of(call)
    length = len(source.text[source.line_start(source.line(start)) : end]) + sum(len(text) + 2 for text in texts)
    if source.line(start) == source.line(end) and length > MAX_LINE:
        return _on_lines(source, call, after, texts)
    return [_insertion(source, source.start(arg), source.whole(arg.value)[1], following, texts)]


def _on_lines(source: Source, call: cst.Call, after: int, texts: Sequence[str]) -> list[TextEdit]:
    """As :func:`insert_arguments`, with the arguments of a call on one line moved to lines of their own."""
    indent = source.indent(source.start(call))
    first, last = source.start(call.args[0]), source.whole(call.args[-1].value)[1]
    opening = source.text.rindex(
        "(", 0, source.whole(call.args[0].value)[0] + 1 if call.args[0].keyword is None else first
    )
    end = source.whole(call.args[after].value)[1]
    inside = f",\n{indent}    {', '.join(texts)}"
    head = TextEdit(opening + 1, opening + 1, f"\n{indent}    ")
    if after + 1 == len(call.args):
        return [head, TextEdit(end, source.end(call) - 1, f"{inside},\n{indent}")]
    return [head, TextEdit(end, end, inside), TextEdit(last, source.end(call) - 1, f",\n{indent}")]


def _insertion(source: Source, start: int, end: int, following: int | None, texts: Sequence[str]) -> TextEdit:
    """``texts`` behind the item from ``start`` to ``end``: on a line of their own where the item is the last of its own
    line in a list of several lines."""
    rest = source.text[end : source.line_end(end)]
    indent = source.indent(start)
    alone = rest.lstrip().startswith(",") and not rest.lstrip()[1:].split("#")[0].strip()
    if alone and (following is None or source.line(following) > source.line(end)):
        after = source.line_end(end)
        return TextEdit(after, after, f"{indent}{', '.join(texts)},\n")
    return TextEdit(end, end, "".join(f", {text}" for text in texts))


def change_parameters(
    source: Source, place: LaunchSource, added: Sequence[tuple[str, str]], dropped: Collection[str] = ()
) -> list[TextEdit]:
    """Edits that give a kernel further run-time parameters, and its launch their arguments, (name, argument text) each;
    the parameters ``dropped`` go, and what the launch passes for them."""
    node = place.kernel.node
    params = parameters(node)
    plain = [i for i, param in enumerate(params) if not _is_option(source, param) and param.name.value not in dropped]
    if not plain:
        raise CannotRewrite(f"`{node.name.value}` has no run-time parameters")
    last = plain[-1]
    edits = drop_parameters(source, node, dropped)
    gone = [arg for name in dropped for arg in [place.argument(name)] if arg is not None]
    edits += source.drop_arguments(place.call, gone)
    if not added:
        return edits
    edits += insert_parameters(source, node, last, [name for name, _ in added])
    args = place.call.args
    positional = next((i for i, arg in enumerate(args) if arg.keyword is not None or arg.star), len(args))
    if positional > last:
        return edits + insert_arguments(source, place.call, last, [text for _, text in added])
    stars = [arg for arg in args if arg.star == "**"]
    kept = [i for i, arg in enumerate(args) if all(arg is not one for one in (*gone, *stars))]
    return edits + insert_arguments(source, place.call, kept[-1], [f"{name}={text}" for name, text in added])


def drop_parameters(source: Source, node: cst.FunctionDef, names: Collection[str]) -> list[TextEdit]:
    """Edits that take parameters out of a signature."""
    params = parameters(node)
    edits = []
    kept: cst.Param | None = None
    for index, param in enumerate(params):
        if param.name.value not in names:
            kept = param
        elif any(later.name.value not in names for later in params[index + 1 :]):
            edits.append(TextEdit(source.start(param), source.start(params[index + 1]), ""))
        else:
            # The last ones, with the comma in front of them.
            start = source.item_end(kept) if kept is not None else source.start(param)
            edits.append(TextEdit(start, source.item_end(params[-1]), ""))
            break
    return edits


def _is_option(source: Source, param: cst.Param) -> bool:
    """Whether a parameter is a constexpr or has a default, so that plain ones stand before it."""
    return param.default is not None or (
        param.annotation is not None and "constexpr" in source.code(param.annotation.annotation)
    )
