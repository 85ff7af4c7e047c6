"""Tuning configurations that are made by a comprehension over a table, or come out of a function."""

from __future__ import annotations

import libcst as cst
from mutators.trees import after_imports, code, replaced, statements

from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk


def configurations_from_table(module: cst.Module) -> cst.Module | None:
    """``[Config({"BM": 64}, num_warps=4), ...]`` as one ``Config`` for each row of a table."""
    for configs in _lists(module, (cst.List,)):
        assert isinstance(configs, cst.List)
        rows = [_row(element.value) for element in configs.elements]
        shapes = {(tuple(block), tuple(rest)) for block, rest in rows}
        if len(rows) < 2 or len(shapes) != 1 or not rows[0][0]:
            continue
        blocks, options = shapes.pop()
        names = [f"v{i}" for i in range(len(blocks) + len(options))]
        settings = ", ".join(f"{key}: {name}" for key, name in zip(blocks, names))
        keywords = "".join(f", {key}={name}" for key, name in zip(options, names[len(blocks) :]))
        table = ", ".join("(" + ", ".join([*block.values(), *rest.values(), ""]) + ")" for block, rest in rows)
        made = f"[triton.Config({{{settings}}}{keywords}) for {', '.join([*names, ''])} in TABLE]"
        module = replaced(module, configs, cst.parse_expression(made))
        return after_imports(module, statements(f"TABLE = [{table}]"))
    return None


def configurations_from_function(module: cst.Module) -> cst.Module | None:
    """A list of configurations as what a function returns."""
    for configs in _lists(module, (cst.List, cst.ListComp)):
        text = f"def configurations():\n    return {code(configs)}\n"
        module = replaced(module, configs, cst.parse_expression("configurations()"))
        return after_imports(module, statements(text))
    return None


def _lists(module: cst.Module, kinds: tuple[type[cst.BaseExpression], ...]) -> list[cst.BaseExpression]:
    """The lists of configurations of the tuners in ``module``."""
    found: list[cst.BaseExpression] = []
    for node in walk(module):
        if isinstance(node, cst.Call) and (dotted_name(node.func) or "").endswith("autotune"):
            for arg in node.args:
                name = arg.keyword.value if arg.keyword is not None else "configs"
                if name == "configs" and isinstance(arg.value, kinds):
                    found.append(arg.value)
                    break
    return found


def _row(config: cst.BaseExpression) -> tuple[dict[str, str], dict[str, str]]:
    """The settings of ``Config(...)``, and its options; nothing where it is written otherwise."""
    if not isinstance(config, cst.Call) or not config.args or not isinstance(config.args[0].value, cst.Dict):
        return {}, {}
    settings = {
        code(element.key): code(element.value)
        for element in config.args[0].value.elements
        if isinstance(element, cst.DictElement)
    }
    options = {arg.keyword.value: code(arg.value) for arg in config.args[1:] if arg.keyword is not None}
    return settings, options
