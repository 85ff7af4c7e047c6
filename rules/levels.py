"""How loudly a finding is said: what speaks against it, asked of every rule in one place.

A rule proves its condition and says what it is at worst. Whether that can matter in the code at hand is not the rule's to say: another
vendor's compiler, code that nothing uses, a program that catches the failure, sizes that no call in the project has. Each of these is
a doubt here, for every rule, and a new rule gets them for nothing.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.jit_source import awaits_generator
from kernlint.interpret.project import is_helper, is_left, is_tried_alone, is_unused
from kernlint.interpret.reached import is_abandoned
from kernlint.records import replace
from kernlint.rules.base import NOT_ABOUT_SPEED, SEVERITIES
from kernlint.rules.faults import RefusalRule, faults_in
from kernlint.rules.finding import Context, Doubt, Evidence, Finding, doubted
from kernlint.rules.proofs.compiled import (
    asked_for_elsewhere,
    called_before_defined_again,
    interpreter_of,
    is_rewritten,
    never_compiled,
    never_reached,
    run_otherwise,
)
from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.rules.proofs.liveness import is_unread
from kernlint.syntax.testing import is_test_file
from kernlint.syntax.tree import Module
from kernlint.workload import Launch, Tensor, Workload, concrete


def levelled(finding: Finding, context: Context) -> Finding:
    """``finding`` as it may be said: at the level that its doubts leave, with those that lowered it as evidence."""
    severity = finding.severity
    told: list[Evidence] = []
    for doubt in _doubts(finding, context) if severity != "info" else ():
        if SEVERITIES.index(doubt.most) > SEVERITIES.index(severity):
            severity = doubt.most
            told.append(Evidence(doubt.text))
        if severity == "info":
            break
    return replace(finding, severity=severity, evidence=(*finding.evidence, *told)) if told else finding


def priced(finding: Finding, open_to_doubt: bool, sure: bool | None) -> tuple[str, bool]:
    """The level of ``finding`` once its change has a price, and whether it may be another one that somebody asks for. What rests on an
    assumption, or gains nothing, is a remark, and so is what is only slow, unless the change is ``sure`` to gain at sizes that the
    code tells (None where they are open), or gains at any."""
    rule = finding.rule
    if open_to_doubt:
        return "info", False
    slow = finding.severity == "warning" and rule.category not in NOT_ABOUT_SPEED
    return ("info" if slow and not (rule.at_any_size if sure is None else sure) else finding.severity), True


def _doubts(finding: Finding, context: Context) -> Iterator[Doubt]:
    """What speaks against ``finding``, what is soonest told first."""
    rule, bare = finding.rule, context.workload.bare
    yield from finding.doubts
    if (rule.refused or rule.of_compiler) and (why := _other_compiler(context)):
        yield Doubt(f"{why}, whose compiler may take it" if rule.refused else f"{why}, whose compiler may widen it")
    release = context.program.question.target or Target(named=False)
    if rule.of_release and not release.named and is_unused(context.program.kernel):
        yield Doubt(
            "nothing in the project imports or names the file, and it runs nothing itself: it may be kept as it was"
        )
    if rule.of_values and not rule.refused:
        yield Doubt("whether it happens, and matters, is for the values in memory to say")
    if _is_spread(finding, context):
        yield Doubt("what it rests on stands in several fences of a page, which need not be one program")
    if not (rule.refused or rule.lexical) and is_test_file(context.program.kernel.path):
        yield Doubt("the file is a test: it checks itself what it computes, and nobody waits for its speed")
    if rule.category in NOT_ABOUT_SPEED and awaits_generator(context.program.kernel):
        yield Doubt("a code generator has yet to fill the file in")
    if finding.kernel and rule.category in NOT_ABOUT_SPEED:
        if is_rewritten(context, finding.kernel):
            yield Doubt(f"the source of `{finding.kernel}` is rewritten before it is compiled")
        if rule.lexical and (test := never_compiled(context, finding.kernel, finding.span)):
            yield Doubt(f"it is compiled only where `{test}`, and nothing in view makes it so")
        why = "" if rule.refused or rule.lexical else _refusal(finding.kernel, context)
        yield from doubted(why, f"the kernel does not compile as it stands: {why}")
        if rule.refused and (decorator := run_otherwise(context, finding.kernel)):
            yield Doubt(f"`{decorator}` may hand the launch to an interpreter, which takes it")
    if rule.compiler_only and (runner := interpreter_of(context.program.kernel, finding.span)):
        yield Doubt(f"the file has its kernels run as Python, which takes it (`{runner}`)")
    launches = _launches_of(finding.kernel, context)
    yield from _of_launches(finding, launches, context)
    if bare and not rule.lexical and rule.category in NOT_ABOUT_SPEED:
        yield from _of_bare_kernel(finding, context)
    of_sizes = rule.category in NOT_ABOUT_SPEED and not (rule.refused or rule.at_any_size)
    if of_sizes and not all(map(_is_known, launches)) and not _is_called(finding, context):
        yield Doubt("whether it happens is for the sizes to say, and no call in the project is known to have such")
    for name in _parts_about(finding, context):
        yield from doubted(is_abandoned(context.program.kernel, name), f"nothing in the project gets to `{name}`")


def _of_launches(finding: Finding, launches: list[Launch], context: Context) -> Iterator[Doubt]:
    """What the ``launches`` of its kernel say against ``finding``."""
    rule, module = finding.rule, context.program.kernel
    meant = [one for one in launches if one.span.contains(finding.span)] or launches
    if meant and all(called_before_defined_again(module, one.kernel.name, one.span) for one in meant):
        yield Doubt(f"`{finding.kernel}` is defined again below, and the calls above that launch the first one")
    if meant and rule.category not in NOT_ABOUT_SPEED and all(_is_for_show(one, context) for one in meant):
        yield Doubt(
            "nothing reads what the launch writes, and the compiled kernel is kept: it is there to be looked at"
        )
    if meant and not (rule.refused or rule.lexical) and all(_is_only_compiled(one, module) for one in meant):
        yield Doubt("`warmup` compiles the kernel and runs nothing: what runs it has a grid of its own")
    if rule.refused and _is_given_otherwise(finding, launches, context):
        yield Doubt("a call in the project gives a tensor where an annotation says a number, and is not refused for it")
    if rule.refused and launches and all(launch.tried for launch in launches):
        yield Doubt("the program catches what a launch raises, and carries on without it", "warning")


def _of_bare_kernel(finding: Finding, context: Context) -> Iterator[Doubt]:
    """What speaks against ``finding`` in a kernel whose launches are not followed."""
    kernel, module, refused = finding.kernel, context.program.kernel, finding.rule.refused
    fails = "; it fails wherever it is launched" if refused else ""
    if is_left(module, context.workload.entry):
        yield Doubt(f"nothing in view launches or mentions `{kernel}`{fails}")
    elif test := never_reached(context, kernel):
        yield Doubt(f"its launches stand under `{test}`, which no size fulfils")
    elif refused and is_helper(module, context.workload.entry):
        if finding.rule.of_names and asked_for_elsewhere(module, context.workload.entry):
            yield Doubt(
                f"whether it is compiled is for callers in other files to say, whose kernels call `{kernel}`", "warning"
            )
        else:
            yield Doubt(f"other files call `{kernel}` in kernels of their own, with arguments that are not known here")
    elif refused:
        yield Doubt(f"no launch is followed here of `{kernel}`{fails}", "warning")


def _parts_about(finding: Finding, context: Context) -> Iterator[str]:
    """The functions and classes of the module that ``finding`` is about: what it stands in, and what was called."""
    module = context.program.kernel
    definitions: list[cst.FunctionDef | cst.ClassDef] = [*module.of(cst.FunctionDef), *module.of(cst.ClassDef)]
    around = [one for one in definitions if module.span(one).contains(finding.span)]
    if around:
        yield min(around, key=lambda one: module.span(one).line).name.value
    if called := context.workload.entry.partition(".")[0]:
        yield called


def _refusal(kernel: str, context: Context) -> str:
    """Why the compiler refuses ``kernel``, in every release and whatever the conditions of its compilation; empty where it may not."""
    kinds = {kind for rule in RefusalRule.__subclasses__() for kind in rule.kinds}
    for launch, fault in context.workload.once(faults_in):
        sure = fault.certain and not (fault.switch or fault.since or fault.kind == "removed-name")
        if sure and fault.kind in kinds and launch.kernel.name == kernel and fault in launch.kernel.faults:
            return fault.text
    return ""


def _is_spread(finding: Finding, context: Context) -> bool:
    """Whether ``finding`` and the kernel that it is about, or what it shows, stand in different fences of a page."""
    module = context.program.kernel
    if not module.fences:
        return False
    lines = [one.line for one in (finding.span, *(part.span for part in finding.evidence)) if one is not None]
    lines += [module.span(one.node).line for one in jit_functions(module) if one.name == finding.kernel]
    return len({bisect(module.fences, line) for line in lines}) > 1


def _is_given_otherwise(finding: Finding, launches: list[Launch], context: Context) -> bool:
    """Whether calls in the project pass tensors where ``launches`` have none, and none of these calls shows ``finding``."""
    if not context.program.kernel.once(_says_what_it_is_given):
        return False
    known = {launch.kernel.name: launch.arguments for launch in launches}
    given = [
        call
        for call in (context.calls() if context.calls is not None and known else ())
        for other in _launches_of(finding.kernel, call)
        if any(isinstance(v, Tensor) > (n in known[finding.kernel]) for n, v in other.arguments.items())
    ]
    return bool(given) and not any(one.span == finding.span for call in given for one in finding.rule.check(call))


def _says_what_it_is_given(module: Module) -> bool:
    """Whether a function of the host in ``module`` has a parameter with an annotation."""
    kernels = {id(one.node) for one in jit_functions(module)}
    hosts = [node for node in module.of(cst.FunctionDef) if id(node) not in kernels]
    return any(one.annotation is not None for node in hosts for one in module.within(node.params, cst.Param))


def _launches_of(kernel: str, context: Context) -> list[Launch]:
    return context.workload.once(_by_kernel).get(kernel, [])


def _by_kernel(workload: Workload) -> dict[str, list[Launch]]:
    found: dict[str, list[Launch]] = {}
    for launch in workload.launches():
        found.setdefault(launch.kernel.name, []).append(launch)
    return found


def _is_only_compiled(launch: Launch, module: Module) -> bool:
    """Whether ``launch`` is a ``kernel.warmup(...)``."""
    call = module.at(launch.span, cst.Call)
    return call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value == "warmup"


def _is_for_show(launch: Launch, context: Context) -> bool:
    """Whether nobody reads the results of ``launch``, and what it gives back, the compiled kernel, is kept."""
    module = context.program.kernel
    kept = id(module.at(launch.span, cst.Call)) in module.once(_assigned)
    return kept and is_unread(launch, context.workload, module)


def _assigned(module: Module) -> frozenset[int]:
    """The expressions whose value an assignment keeps, by their identity."""
    return frozenset(id(one.value) for one in module.of(cst.Assign))


def _other_compiler(context: Context) -> str:
    """Why another compiler than that of a release of Triton that is known is meant; empty where nothing says so."""
    target = context.program.question.target
    asked = target.asked if target is not None else ""
    return context.program.other_vendor or (f"the project asks for {asked}" if asked else "")


def _is_known(launch: Launch) -> bool:
    """Whether the numbers that ``launch`` works on are known: those of its grid and of its tensors."""
    sizes = [one for value in launch.arguments.values() if isinstance(value, Tensor) for one in value.shape or (None,)]
    return all(concrete(size) is not None for size in (*launch.grid, *sizes))


def _is_called(finding: Finding, context: Context) -> bool:
    """Whether a call in the project shows ``finding``, or there is none to ask in a file alone. Where any size but those that fit shows
    it, a call that nobody follows is enough."""
    if context.calls is None:
        return True
    calls = [*context.calls()] if context.alone else []
    if context.alone and not calls:
        return True
    if finding.at_any_size:
        entry = context.workload.entry
        return not (entry.isidentifier() and is_tried_alone(context.program.kernel, entry))
    return any(one.span == finding.span for call in calls or context.calls() for one in finding.rule.check(call))
