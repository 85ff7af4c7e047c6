"""Further configurations for a kernel that ``triton.autotune`` tunes already."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from kernlint.interpret.edits import Edits
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import LaunchSource, argument
from kernlint.rewrite.settings import order_of_sums, same_work
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rewrite.tuners import tuner_at
from kernlint.rules.tiling.tuning_lists import MoreConfigurations, written
from kernlint.syntax.walk import walk


@codemod(MoreConfigurations)
def more_configurations(site: Site, transform: MoreConfigurations) -> Rewriting:
    """The list of configurations ends with those of ``transform`` too."""
    source = site.source
    place = LaunchSource(site, transform.launch)
    # A launch elsewhere, which may have another grid, would try them as well.
    place.check_only_launch()
    configs = argument(tuner_at(source, transform.tuner), "configs", 0)
    if configs is None:
        raise CannotRewrite("the autotuner is given no configurations")
    listed = _listed(source, configs)
    last = listed.elements[-1].value if listed is not None else None
    name = source.code(last.func) if isinstance(last, cst.Call) else source.spelled("triton.Config")
    texts = [written(one, name) for one in transform.configurations]
    effects = Effects()
    for launch in place.launches:
        effects |= order_of_sums(launch, {name for name, _ in transform.configurations[0].values})
    if site.program.question.configuration == 0:  # that the present ones come out alike is up to the author
        for one in transform.configurations:
            tile = frozenset((transform.launch, name, value) for name, value in one.values)
            effects |= same_work(site, Edits(options=tile))
    edits = [_spread(source, configs, texts)] if listed is None else _appended(source, listed, texts)
    return Rewriting(tuple(edits), effects)


def _listed(source: Source, configs: cst.BaseExpression) -> cst.List | None:
    """The list behind ``configs``: written there, or at a name that is bound once and used for nothing else; None where they come from
    elsewhere, or are not written out one by one."""
    if isinstance(configs, cst.Name):
        name = configs.value
        uses = [node for node in walk(source.module.tree) if isinstance(node, cst.Name) and node.value == name]
        bound = [
            one.value
            for statement in source.module.tree.body
            if isinstance(statement, cst.SimpleStatementLine)
            for one in statement.body
            if isinstance(one, cst.Assign) and len(one.targets) == 1
            if isinstance(target := one.targets[0].target, cst.Name) and target.value == name
        ]
        configs = bound[0] if len(uses) == 2 and len(bound) == 1 else configs
    if not isinstance(configs, cst.List) or not configs.elements:
        return None
    return configs if all(isinstance(one.value, cst.Call) for one in configs.elements) else None


def _spread(source: Source, configs: cst.BaseExpression, texts: Sequence[str]) -> TextEdit:
    """A list of ``configs``, from wherever they come, and of ``texts``."""
    plain = isinstance(configs, (cst.Name, cst.Call, cst.Attribute, cst.Subscript, cst.List, cst.ListComp)) or bool(
        configs.lpar
    )
    present = source.full_code(configs)
    start, end = source.whole(configs)
    indent = source.indent(start)
    inner = indent + source.indent_step
    lines = [f"*{present}" if plain else f"*({present})", *texts]
    return TextEdit(start, end, "[\n" + "".join(f"{inner}{line},\n" for line in lines) + f"{indent}]")


def _appended(source: Source, listed: cst.List, texts: Sequence[str]) -> list[TextEdit]:
    """``texts`` as the last elements, each on a line of its own where the present ones are."""
    start, end = source.whole(listed.elements[-1].value)
    line = source.line(start)
    if len(source.text[source.line_start(line) : start].strip()):
        return [TextEdit(end, end, "".join(f", {text}" for text in texts))]
    indent = source.indent(start)
    behind = source.text[end : source.line_end(end)]
    if re.fullmatch(r"[ \t]*,?[ \t]*(#.*)?", behind.rstrip("\r\n")) is None:
        # The closing bracket stands on the line.
        return [TextEdit(end, end, "".join(f",\n{indent}{text}" for text in texts))]
    comma = [] if behind.lstrip().startswith(",") else [TextEdit(end, end, ",")]
    place = source.line_end(end)
    return [*comma, TextEdit(place, place, "".join(f"{indent}{text},\n" for text in texts))]
