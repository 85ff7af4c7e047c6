from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.jit_source import assignment
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.jit_functions import Decorated, functions, keyword, strings
from kernlint.syntax.names import origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters

_AUTOTUNERS = ("triton.autotune", "triton.runtime.autotuner.autotune")
_TUNERS = (*_AUTOTUNERS, "triton.heuristics", "triton.runtime.autotuner.heuristics")
#: The release from which the tuner refuses names in its key that are no arguments.
_CHECKS_KEY = (3, 9)


class TunerCannotWrap(Rule):
    code = "KL714"
    name = "tuner-cannot-wrap"
    severity = "error"
    refused = True
    lexical = True
    summary = "triton.autotune or triton.heuristics on something that it cannot tune"
    what_it_does = """
        Finds `@triton.autotune` and `@triton.heuristics` on a function that is no jit function, above which `@triton.jit`
        stands in the wrong order, without configurations or key, with configurations that are dicts, with a keyword that the
        target release does not have, and with names in `key`, `reset_to_zero` or `restore_value` that are no parameters of the kernel.
        """
    why = """
        The tuner asks its function for `arg_names` and `run`, which a Python function does not have: decorating or calling it
        raises an AttributeError, as does a configuration that is a dict. Names that are no arguments raise a ValueError from
        Triton 3.9; before, a wrong name in `reset_to_zero` or `restore_value` raised a KeyError while tuning, and one in `key`
        was ignored.
        """
    when_not = """
        Functions with further decorators, which may make them jit functions.
        """
    fix_safety = "No automatic fix: the order of decorators, or the configuration, is the author's to say."
    evidence = """
        Read from the autotuner of Triton 3.2 to 3.9. Of 723 evaluated LLM-written kernels 12 failed through a tuner that was
        misused, most often around a Python function that launches the kernel.
        """

    bad = (
        elementwise("kernel", "{}")
        + """
        @triton.autotune(configs=[triton.Config({"BLOCK": 1024})], key=["n"])
        def launch(x, y, n, BLOCK):
            kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)
        """
    )
    good = """
        @triton.autotune(configs=[triton.Config({"BLOCK": 1024})], key=["n"])
        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

        def launch(x, y, n):
            kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
        """
    example = '@triton.autotune(configs=configs, key=["n"])\ndef launch(x, y, n, BLOCK): ...'
    use_instead = (
        '@triton.autotune(configs=configs, key=["n"])\n@triton.jit\ndef kernel(x, y, n, BLOCK: tl.constexpr): ...'
    )

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        target = context.program.question.target or Target()
        raises = Evidence(f"Triton {target.release} raises where the module is imported or the kernel first launched")
        for function in functions(module):
            for node, text in _problems(function, module, target):
                yield self.finding(text, module.span(node), function.name, (raises,))
            for literal, parameter in _unknown_names(function):
                text = f"`{literal.raw_value}` in `{parameter}` is no parameter of `{function.name}`"
                ignored = parameter == "key" and target.version < _CHECKS_KEY
                does = f"Triton {target.release} leaves it out of the key: no value of it is tuned for"
                evidence = Evidence(does) if ignored else raises
                severity = "warning" if ignored else self.severity
                yield self.finding(text, module.span(literal), function.name, (evidence,), severity=severity)


def _problems(function: Decorated, module: Module, target: Target) -> Iterator[tuple[cst.CSTNode, str]]:
    origins = function.origins
    tuners = [i for i, origin in enumerate(origins) if origin in _TUNERS]
    if not tuners:
        return
    decorator = function.node.decorators[tuners[-1]].decorator
    name = origins[tuners[-1]].rpartition(".")[2]
    if not function.is_jit:
        if all(origin in _TUNERS for origin in origins):
            yield decorator, f"`{name}` tunes jit functions, and `{function.name}` has no @triton.jit"
        return
    jit = next((i for i, origin in enumerate(origins) if origin.endswith("triton.jit")), None)
    if jit is not None and jit < tuners[-1]:
        yield decorator, f"@triton.jit must stand below `{name}`, next to `def {function.name}`"
    for index in tuners:
        if origins[index].endswith("autotune"):
            yield from _bad_arguments(function.node.decorators[index].decorator, function, target)
            yield from _dicts(keyword(function.node.decorators[index].decorator, "configs", 0), module)


def _bad_arguments(call: cst.BaseExpression, function: Decorated, target: Target) -> Iterator[tuple[cst.CSTNode, str]]:
    if not isinstance(call, cst.Call) or any(a.star for a in call.args):
        if not isinstance(call, cst.Call):
            yield call, "triton.autotune is used without its configurations and key"
        return
    known = [p.rstrip("!") for p in target.parameters("triton.autotune") or ()]
    for arg in call.args:
        if arg.keyword is not None and known and arg.keyword.value not in known:
            yield arg, f"triton.autotune has no parameter `{arg.keyword.value}` in Triton {target.release}"
    for position, parameter in enumerate(("configs", "key")):
        if keyword(call, parameter, position) is None:
            yield call, f"triton.autotune is called without `{parameter}`"


def _unknown_names(function: Decorated) -> Iterator[tuple[cst.SimpleString, str]]:
    """The names that a tuner of ``function`` takes for its parameters, with the parameter of the tuner that they stand in."""
    names = {p.name.value for p in parameters(function.node)}
    for node, origin in zip(function.node.decorators, function.origins, strict=True):
        tunes = function.is_jit and origin in _AUTOTUNERS
        for parameter in ("key", "reset_to_zero", "restore_value") if tunes else ():
            for literal in strings(keyword(node.decorator, parameter, 1 if parameter == "key" else None)):
                if literal.raw_value not in names:
                    yield literal, parameter


def _dicts(configs: cst.BaseExpression | None, module: Module) -> Iterator[tuple[cst.CSTNode, str]]:
    """The configurations that are dicts, in a list that is written in place or at module level, or by a comprehension."""
    if isinstance(configs, cst.Name):
        assigned = assignment(module.tree.body, configs.value)
        configs = assigned.value if isinstance(assigned, (cst.Assign, cst.AnnAssign)) else None
    if isinstance(configs, (cst.List, cst.Tuple)):
        values = [element.value for element in configs.elements]
    else:
        values = [configs.elt] if isinstance(configs, (cst.ListComp, cst.GeneratorExp)) else []
    for value in values:
        called = origin_of(value.func, module.imports) if isinstance(value, cst.Call) else None
        if isinstance(value, (cst.Dict, cst.DictComp)) or called == "dict":
            yield value, "a configuration of triton.autotune is a dict; it must be a triton.Config"
