"""The work for one file grows with what is in it, not with its square; limits on it are kept without losing findings."""

import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from support.lint import KERNEL

from kernlint import analysis, work
from kernlint.generate.calls import reader
from kernlint.headroom import headroom
from kernlint.interpret import moved, project
from kernlint.interpret.edits import Edits
from kernlint.interpret.host import kernels
from kernlint.interpret.program import Program
from kernlint.interpret.reading.entries import Reading
from kernlint.interpret.substituted import Substitution
from kernlint.lint import asking, file_findings
from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.settings import FileSettings
from kernlint.operators import product_tiles
from kernlint.operators.retile import RETILE
from kernlint.request import Request
from kernlint.rules.fusion import chains
from kernlint.rules.proofs.kernel_copies import once_of_copies
from kernlint.rules.registry import all_rules, find_rule
from kernlint.syntax.copies import top_functions, without
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import read_task
from kernlint.verdict import judge

_PATH = Path(__file__).parents[2] / "benchmarks" / "growth.py"
_SPEC = importlib.util.spec_from_file_location("growth", _PATH)
growth = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(growth)

CODES = frozenset(rule.code for rule in all_rules()) | {"KL902"}


def checked(source, codes=CODES, fixes=False):
    """The findings of a check, and the work that it took."""
    before = work.spent()
    result = check_file(Job("k.py", source.encode(), FileSettings(codes, timeout_s=10_000.0), fixes=fixes))
    return result.findings, work.spent() - before


#: The same, of programs that several tests ask about.
of_layers = cache(lambda program, count: checked(growth.PROGRAMS[program](count)))


def tiles(findings):
    return [f.place.line for f in findings if f.code in ("KL201", "KL220")]


@pytest.mark.parametrize("program", ["written_out", "copies"])
def test_twice_the_layers_take_twice_the_work(program):
    """Each launch of its own has its own finding."""
    few, many = (of_layers(program, count) for count in (4, 8))
    assert len(tiles(few[0])) == 4 and len(tiles(many[0])) == 8
    assert many[1] < 2.5 * few[1]
    assert not [f for f in many[0] if f.code == "KL902"]


def test_layers_that_share_their_kernels_take_hardly_more_work():
    """Their shapes are searched once, however many layers have them."""
    few, many = (checked(growth.layers(count)) for count in (8, 32))
    assert len(tiles(few[0])) == len(tiles(many[0])) == 1
    assert many[1] < 2 * few[1]


def test_open_sizes_of_several_kernels():
    few, many = (checked(growth.open_copies(count), frozenset({"KL220", "KL902"})) for count in (1, 2))
    assert len(tiles(few[0])) == 1 and len(tiles(many[0])) == 2
    assert many[1] < 2.5 * few[1]


def test_fixes_of_copies_take_work_for_each():
    """Whether they hold for other calls is asked of one program with all of the copies in it."""
    codes = frozenset({"KL220", "KL902"})
    plain, fixed = (
        [checked(growth.open_copies(count), codes, fixes)[1] for count in (2, 8)] for fixes in (False, True)
    )
    few, many = (with_fixes - alone for with_fixes, alone in zip(fixed, plain))
    assert many < 12 * few


def advised(findings):
    """What is said of each tile, without names and places."""
    return [f.advice.replace(f.kernel, "kernel") for f in findings if f.code in ("KL201", "KL220")]


@pytest.mark.parametrize("program", ["copies", "open_copies", "written_out"])
def test_copies_are_searched_once(program):
    """Four widths take turns, so that of eight layers four are copies: they take reading, and the chosen tile once more."""
    counts = (1, 2) if program == "open_copies" else (4, 8)
    few, many = (of_layers(program, count) for count in counts)
    further = (many[1] - few[1]) / (counts[1] - counts[0])
    assert further < 0.6 * few[1] / counts[0]
    assert len(tiles(many[0])) == counts[1]
    assert len(set(tiles(many[0]))) == counts[1]
    assert advised(many[0])[: counts[0]] == advised(few[0])


def judged(source):
    """A verdict on ``source``, which none before answers."""
    analysis.analysis(Request(source))


def counted(monkeypatch, owner, name, source, ask=judged):
    """How often a verdict on ``source``, or what else to ``ask``, asks ``owner`` for what it calls ``name``."""
    times, asked = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args: times.append(args) or asked(*args))
    ask(source)
    monkeypatch.undo()
    return len(times)


@pytest.mark.parametrize("program", ["layers", "written_out", "copies"])
def test_a_verdict_searches_launches_that_do_the_same_work_once(monkeypatch, program):
    """The fix of all of them is what the finding has found of each kind."""
    few, many = (counted(monkeypatch, product_tiles, "searched_tiles", growth.PROGRAMS[program](n)) for n in (5, 10))
    assert 0 < many == few


@pytest.mark.parametrize("program", ["written_out", "copies"])
def test_a_verdict_follows_each_launch_again_a_few_times(monkeypatch, program):
    """However many others there are."""
    few, many = (counted(monkeypatch, Substitution, "_again", growth.PROGRAMS[program](n)) for n in (8, 24))
    assert few < many < few + 3 * (24 - 8)


def test_the_tiles_of_all_launches_are_chosen_once(monkeypatch):
    assert counted(monkeypatch, type(RETILE), "apply", growth.written_out(8)) == 1


def test_a_program_of_more_launches_than_are_written_anew_is_not_followed_for_that(monkeypatch):
    """Its launches alone are too many."""
    source = growth.copies(24)
    asked = counted(monkeypatch, Program, "_follow", source)
    monkeypatch.setattr(reader, "_MOST_STEPS", 9)
    assert counted(monkeypatch, Program, "_follow", source) == asked - 1


@pytest.mark.parametrize("ask", [judged, checked])
def test_values_of_copies_are_not_moved_to_find_nothing_in_them(monkeypatch, ask):
    few, many = (counted(monkeypatch, moved._Moved, "_values", growth.copies(n), ask) for n in (5, 8))
    assert many == few


def test_tiles_are_read_at_a_size_and_with_sizes_open(monkeypatch):
    """The one at hand at two, of four."""
    read = []
    read_kernel = kernels.read_kernel
    monkeypatch.setattr(kernels, "read_kernel", lambda *args: read.append(args[2]) or read_kernel(*args))
    checked(growth.layers(8))
    tiles = [(made["BM"], made["BN"], made["BK"]) for made in read if made.get("BM") in (32, 64, 128, 256)]
    assert len(tiles) > 10
    assert max(map(tiles.count, tiles)) <= 2


def test_a_mend_follows_the_program_as_often_whatever_a_tuner_tries(monkeypatch):
    """What it was under each configuration is known."""

    def followed(count):
        configs = ", ".join(f"triton.Config({{'BM': 16, 'BN': 16, 'BK': {16 << i}}})" for i in range(count))
        source = growth.layers(1).replace(
            "@triton.jit", f"@triton.autotune(configs=[{configs}], key=['M'])\n@triton.jit", 1
        )
        source = source.replace("tl.dot(x, y, acc)", "tl.dot(x, y, acc, allow_tf32=False)").replace(
            ", BM=16, BN=16, BK=32", ""
        )
        source = source.replace(
            "(triton.cdiv(M, 16), triton.cdiv(N, 16))", "lambda m: (triton.cdiv(M, m['BM']), triton.cdiv(N, m['BN']))"
        )
        found = []
        ask = lambda text: found.extend(checked(text, frozenset({"KL802"}), fixes=True)[0])  # noqa: E731
        times = counted(monkeypatch, Program, "_follow", source, ask)
        assert [finding.fix.applicability for finding in found] == ["safe"]
        return times

    assert followed(2) == followed(6)


def test_chains_are_looked_for_once_by_all_rules(monkeypatch):
    few, many = (counted(monkeypatch, chains, "_grown", growth.copies(n), checked) for n in (2, 4))
    assert many - few == 4 * 2  # two launches and two buffers a layer


def test_a_verdict_that_edits_make_imports_nothing_that_writes_kernels():
    asked = "import sys; from kernlint import analyze; print(analyze(sys.argv[1]).worth_optimizing, *sys.modules)"
    command = [sys.executable, "-c", asked, growth.layers(2)]
    worth, *names = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    assert worth == "True"
    assert not [name for name in names if name.startswith(("kernlint.generate", "kernlint.operators.generate"))]


def test_a_file_is_looked_for_in_its_project_once(monkeypatch):
    assert counted(monkeypatch, project, "project_root", growth.open_copies(4), checked) == 1


def test_names_of_a_module_are_counted_once(monkeypatch):
    """However many functions it is asked of whether something mentions them."""
    assert counted(monkeypatch, project, "_named", growth.open_copies(4), checked) == 1


def test_what_is_written_anew_is_followed_alone(monkeypatch):
    """Of many functions whose sizes are their callers', one is written anew for sizes that are plausible."""
    few, many = (counted(monkeypatch, Reading, "_launching", growth.open_copies(n)) for n in (4, 12))
    assert many - few == 2 * (12 - 4)


def test_without_torch_calls_nobody_looks_for_rows_of_them(monkeypatch):
    source = growth.copies(2)

    def rows(text):
        checked(text, frozenset({"KL404"}))

    calls = source.replace("        return x\n\n\ndef get", "        return torch.tanh(torch.sin(x))\n\n\ndef get")
    assert counted(monkeypatch, headroom, "headroom_of", source, rows) == 0
    assert counted(monkeypatch, headroom, "headroom_of", calls, rows) == 1


OTHERS = {
    "another tile": ("BM=16, BN=16, BK=32", "BM=64, BN=64, BK=64"),
    "other arithmetic": ("acc = tl.dot(x, y, acc)", "acc = tl.dot(x, y, acc) * 1.5"),
    "another launcher": ("M, K = a.shape", "K = a.shape[1]; M = a.shape[0] + 0"),
}


@pytest.mark.parametrize("change", list(OTHERS))
def test_what_is_no_copy_is_searched_for_itself(change):
    """It is advised what it would be advised alone."""
    first, second = (
        growth.open_copies(2).split("import triton.language as tl\n")[1].partition("@triton.jit\ndef matmul1")
    )[::2]
    head, second = growth.open_copies(0), "@triton.jit\ndef matmul1" + second
    changed = second.replace(*OTHERS[change])
    assert changed != second
    alone, both = (checked(head + text, frozenset({"KL220"}))[0] for text in (changed, first + changed))
    assert advised(both)[1:] == advised(alone)


def asked(monkeypatch, code, source):
    """How often a check of ``source`` asks the rule, and the lines of what that finds."""
    rule, times = type(find_rule(code)), []
    check = rule.check
    monkeypatch.setattr(rule, "check", lambda self, context: times.append(context) or check(self, context))
    found, _ = checked(source, frozenset({code}))
    monkeypatch.undo()
    return len(times), [f.place.line for f in found if f.code == code]


def test_where_a_rule_finds_nothing_it_is_not_asked_about_copies(monkeypatch):
    assert asked(monkeypatch, "KL745", growth.open_copies(4)) == (2, [])
    times, lines = asked(monkeypatch, "KL730", growth.open_copies(4))
    assert len(lines) == 4 and times == 5  # of the norms one


GUARDING = "\n\ndef guarded(a, b):\n    with torch.cuda.device(a.device):\n        return linear0(a, b)\n"


def test_a_copy_that_others_call_tells_nothing_of_the_rest(monkeypatch):
    """What is around the one call says nothing of the other."""
    source = growth.open_copies(2)
    _, lines = asked(monkeypatch, "KL773", source)
    assert len(lines) == 4
    times, guarded = asked(monkeypatch, "KL773", source + GUARDING)
    assert times == 5 and guarded == lines[1:]


def test_launches_that_look_up_more_than_they_pass_are_searched_for_themselves(monkeypatch):
    """Alike as they are, the one grid may follow from another number than the other."""
    looked = []
    names = product_tiles.tile_names
    monkeypatch.setattr(product_tiles, "tile_names", lambda *asked: looked.append(asked) or names(*asked))
    source = growth.written_out(8)
    findings = checked(source)[0]
    assert len(looked) == 5  # four kinds, and the one that is given what the call is given
    looked.clear()
    unpassed = source.replace("(triton.cdiv(x.shape[0]", "(triton.cdiv(rows")
    unpassed = unpassed.replace("forward(self, x):", "forward(self, x):\n        rows = x.shape[0]")
    assert advised(checked(unpassed)[0]) == advised(findings)
    assert len(looked) == 8


def kept_of_copies(source, other=()):
    """The lines of the products of ``source`` whose tile, were it twice as deep in all, would be asked about, with ``other`` depths at
    some places."""
    module = read_task(SourceText(source, "k.py")).kernel
    (workload,) = Program(module).workloads()
    places = [one.literals["BK"][0] for one in workload.launches() if "BK" in one.literals]
    edits = Edits(literals=frozenset((span, dict(other).get(i, 64)) for i, span in enumerate(places)))
    kept = once_of_copies(module, workload, edits)
    assert kept.literals <= edits.literals
    return [i for i, span in enumerate(places) if span in kept.new_literals]


def test_of_copies_one_is_asked_about_at_other_sizes():
    source = growth.written_out(10)
    assert kept_of_copies(source) == [0, 1, 2, 3, 4]  # the first is given what the call is given
    assert kept_of_copies(source, {7: 128}) == [0, 1, 2, 3, 4, 7]
    warps = source.replace("h7, x.shape[0], 1024, 2048, BM", "h7, x.shape[0], 1024, 2048, num_warps=8, BM")
    assert warps != source and kept_of_copies(warps) == [0, 1, 2, 3, 4, 7]
    # A number around the launches that is one of their tile.
    assert kept_of_copies(source.replace("        h7 = ", "        depth = 32\n        h7 = ")) == [*range(10)]


@pytest.mark.parametrize(
    ("text", "names", "form"),
    [
        ("def f1():\n    return f1", {"f1": "host"}, "def <host>():\n    return <host>"),
        ("def f1():\n    return x.f1", {"f1": "host"}, None),
        ("def f1():\n    return 'f1'", {"f1": "host"}, None),
        ("def f1():\n    return g(f1=1)", {"f1": "host"}, None),
        ("def f1():\n    return f10", {"f1": "host"}, "def <host>():\n    return f10"),
        ("def f1():\n    return 'of f1'", {"f1": "host"}, None),
        ("def g():\n    return 1", {"f1": "host"}, None),
    ],
)
def test_the_text_of_a_copy(text, names, form):
    assert without(text, names) == form


def test_names_that_are_bound_again_tell_no_copies():
    text = "def f():\n    pass\n\ndef f():\n    pass\n\ndef g():\n    pass\n\ng = 1\n\ndef h():\n    pass\n"
    assert set(read_task(SourceText(text, "k.py")).kernel.once(top_functions)) == {"h"}


def test_headroom_of_layers_that_are_alike_is_found_once(monkeypatch):
    asked = []
    found = headroom.witness_of
    monkeypatch.setattr(headroom, "witness_of", lambda *args: asked.append(args) or found(*args))
    counts = []
    for count in (4, 12):
        analysis.analyze(growth.layers(count))
        counts.append(len(asked))
        asked.clear()
    assert counts[0] == counts[1] > 0


def test_what_is_found_before_the_work_is_done_is_kept(monkeypatch):
    """Twice alike, and the rule that did not come to its end is named."""
    source = growth.written_out(8)
    everything, needed = checked(source)
    monkeypatch.setattr(asking, "MOST_WORK", needed * 3 // 4)
    found, _ = checked(source)
    assert 0 < len(tiles(found)) < len(tiles(everything))
    (short,) = [f for f in found if f.code == "KL902"]
    assert f"{find_rule('KL201').name} (KL201)" in short.message and "too much work" in short.message
    assert short.message.endswith(" may find more; split the file, or ask for fewer rules with `--select`")
    assert found == checked(source)[0]


def test_rules_that_ask_nothing_of_the_model_are_not_cut_short(monkeypatch):
    monkeypatch.setattr(asking, "MOST_WORK", 0)
    source = growth.open_copies(2)
    found, _ = checked(source)
    assert {f.code for f in found} >= {"KL730", "KL902"}


def test_fixes_that_are_too_much_work_are_named(monkeypatch):
    monkeypatch.setattr(file_findings, "_MOST_FIXING", 0)
    found, _ = checked(KERNEL, fixes=True)
    assert any(f.code == "KL101" and f.fix is None for f in found)
    (short,) = [f for f in found if f.code == "KL902"]
    assert f"too much work: not all fixes of {find_rule('KL101').name} (KL101) were worked out; " in short.message


def test_a_verdict_says_what_was_not_looked_at(monkeypatch):
    source = growth.layers(2)
    assert "looked at" not in analysis.analysis(Request(source)).verdict.reason
    monkeypatch.setattr(analysis, "MOST_WORK", 0)
    verdict = analysis.analysis(Request(source)).verdict
    assert not verdict.worth_optimizing
    assert "Not everything was looked at" in verdict.reason
    assert "KL201" in verdict.reason and "other kernels" in verdict.reason


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_rule_leaves_work_for_others(share):
    allowance = judge.Allowance(900)
    for code in ("KL1", "KL2"):
        with allowance.share(code):
            for _ in range(int(share * 10)):
                work.check()
                work.spend(100)
    assert allowance.short == ({} if share == 0.3 else {"KL2": None})


def test_a_network_has_a_verdict():
    verdict = analysis.analyze(growth.vgg())
    assert verdict.worth_optimizing and verdict.details.category in ("fusion", "tiling")
    assert "looked at" not in verdict.reason
