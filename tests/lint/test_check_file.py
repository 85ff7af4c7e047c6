"""The findings of one file, in this process: rules, severities, broken sources."""

import json
import subprocess
import sys
import textwrap

import pytest
from support.lint import CODE, DOT, KERNEL, NAME, check

from kernlint.lint.notebook import read_notebook
from kernlint.rules.registry import all_rules, find_rule


def test_a_finding_has_its_place_its_proof_and_its_price():
    (finding,) = check(KERNEL)
    assert (finding.code, finding.name, finding.severity, finding.category) == (CODE, NAME, "warning", "precision")
    line = KERNEL.splitlines().index(DOT) + 1
    assert (finding.place.line, finding.place.cell) == (line, None)
    assert finding.lines[0] == DOT
    assert DOT[finding.place.column - 1 :].startswith("a.to(tl.float32)")
    assert finding.kernel == "product"
    assert finding.evidence
    assert finding.advice
    assert finding.gain is not None
    assert finding.gain.best > 1.5
    assert finding.gain.scopes["gpu"]["low"] <= finding.gain.scopes["gpu"]["high"]


def test_a_finding_of_several_callers_is_reported_once():
    again = KERNEL.split("def multiply")[1].replace("(a, b):", "def multiply_again(a, b):", 1)
    assert len(check(KERNEL + "\n\n" + again)) == 1


def test_a_slower_unit_is_a_warning_at_sizes_that_are_open():
    source = KERNEL.replace("2048, 2048, 2048, BM", "a.shape[0], b.shape[0], a.shape[1], BM")
    source = source.replace('torch.empty((2048, 2048), device="cuda", dtype=torch.int8)', "{}.to(torch.int8)")
    source = source.replace("{}", "a", 1).replace("{}", "b", 1)
    (finding,) = check(source)
    assert finding.gain is None
    assert finding.severity == "warning"


@pytest.mark.parametrize(("said", "codes"), [("int8", [CODE]), ("float16 or so", []), ("the left one", [])])
def test_types_that_prose_states_make_remarks_without_a_fix(said, codes):
    source = KERNEL.replace("2048, 2048, 2048, BM", "a.shape[0], b.shape[0], a.shape[1], BM")
    source = source.replace("def multiply(a, b):", f'def multiply(a, b):\n    """a: {said}; b: {said}"""')
    source = source.replace('torch.empty((2048, 2048), device="cuda", dtype=torch.int8)', "{}")
    found = check(source.replace("{}", "a", 1).replace("{}", "b", 1), fixes=True)
    assert [finding.code for finding in found if finding.category != "diagnostic"] == codes
    for finding in found:
        assert finding.severity == "info" and finding.fix is None
        assert "assumed: `a` is int8 (the docstring of `multiply` says int8 of a)" in finding.evidence


def test_calls_that_the_file_makes_itself_make_priced_remarks():
    source = KERNEL.replace("2048, 2048, 2048, BM", "a.shape[0], b.shape[0], a.shape[1], BM")
    for name in ("a", "b"):
        source = source.replace(f'    {name} = torch.empty((2048, 2048), device="cuda", dtype=torch.int8)\n', "", 1)
    source += '\n\nif __name__ == "__main__":\n    x = torch.ones(4096, 4096, device="cuda", dtype=torch.int8)\n    multiply(x, x)\n'
    (finding,) = check(source, fixes=True)
    assert (finding.code, finding.severity, finding.fix) == (CODE, "info", None) and finding.gain is not None
    assert (
        f"assumed: `a` is int8[4096,4096], `b` is int8[4096,4096] (the call at k.py:{source.count(chr(10))}, a demonstration or a test)"
        in finding.evidence
    )


def test_a_gain_below_the_least_that_counts_is_information():
    (finding,) = check(KERNEL)
    assert finding.severity == "warning" and finding.gain is not None and finding.gain.best > 1.05
    least = finding.gain.best + 0.01
    assert [finding.severity for finding in check(KERNEL, options={(CODE, "min-gain"): least})] == ["info"]
    assert [finding.severity for finding in check(KERNEL, options={("KL201", "min-gain"): least})] == ["warning"]


def test_nothing_is_said_of_tensor_cores_that_another_vendor_does_not_have():
    assert check(KERNEL)
    assert check("import torch_npu\n" + KERNEL) == []
    filled = find_rule("KL302")
    assert check("import torch_npu\n" + textwrap.dedent(filled.bad), codes=frozenset({"KL302"}))


#: The example of KL301 without the sizes of its tensors.
COPIED = textwrap.dedent(find_rule("KL301").bad).partition("def get_inputs")[0]


def test_what_has_no_price_is_kept_for_those_who_ask_for_the_rule():
    only = frozenset({"KL301", "KL911"})
    assert check(COPIED, codes=only) == []
    assert [finding.code for finding in check(COPIED, codes=only, asked=only)] == ["KL301"]


def test_a_rule_of_which_nothing_would_be_said_does_not_run(monkeypatch):
    monkeypatch.setattr(type(find_rule("KL301")), "check", lambda self, context: pytest.fail("it ran"))
    assert check(COPIED, codes=frozenset({"KL301", "KL911"})) == []


def test_a_suppression_of_what_is_not_said_is_used():
    (finding,) = check(COPIED, codes=frozenset({"KL301"}), asked=frozenset({"KL301"}))
    lines = COPIED.splitlines()
    lines[finding.place.line - 1] += "  # kernlint: ignore[KL301] small"
    assert check("\n".join(lines), codes=frozenset({"KL301", "KL911"})) == []


def test_severity_can_be_overridden():
    assert [finding.severity for finding in check(KERNEL, severity={CODE: "error"})] == ["error"]


def test_a_rule_that_is_not_selected_does_not_run(monkeypatch):
    monkeypatch.setattr(type(find_rule(CODE)), "check", lambda self, context: pytest.fail("it ran"))
    assert check(KERNEL, codes=frozenset({"KL901"})) == []


def test_a_crashing_rule_is_one_diagnostic_and_the_others_go_on(monkeypatch):
    def crash(self, context):
        raise ValueError("two\nlines")

    monkeypatch.setattr(type(find_rule("KL102")), "check", crash)
    crashed, found = check(KERNEL, codes=frozenset({"KL101", "KL102", "KL902"}))
    assert (crashed.code, crashed.severity, found.code) == ("KL902", "info", "KL101")
    assert crashed.message == "KL102: internal error, please report it: ValueError: two lines"


@pytest.mark.parametrize(
    "source",
    ["", "\n\n", "x = 1\n", b"\xef\xbb\xbf", "import triton\n# no jit here\n", "triton.jit\n", "\f\n\t\n"],
    ids=["empty", "blank", "no Triton", "only a byte-order mark", "no kernel", "no decorator", "form feed"],
)
def test_nothing_to_find(source):
    assert check(source) == []


def test_another_language_of_kernels_is_left_alone():
    source = KERNEL.replace("import triton\n", "import triton\nfrom triton.experimental import gluon\n")
    assert check(source.replace("@triton.jit", "@gluon.jit")) == []


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [("import triton\ndef f(:\n", 2, 7), ("x = (\n", 1, 5), ("if x:\npass\n", 2, 1)],
)
def test_a_syntax_error_is_one_finding(source, line, column):
    (finding,) = check(source)
    assert (finding.code, finding.severity) == ("KL901", "error")
    assert (finding.place.line, finding.place.column) == (line, column)
    assert "syntax error" not in finding.message
    assert finding.lines == (source.splitlines()[line - 1],)


def test_source_too_deep_for_the_parser_is_refused_before_it():
    (finding,) = check("x = " + "(" * 2000 + "1" + ")" * 2000)
    assert finding.code == "KL902"
    assert "too deeply nested" in finding.message


# -- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = '\xe9'\n", "not utf-8 text: byte 0xe9"),
        (b"# coding: klingon\nx = 1\n", "unknown encoding: klingon"),
        (b"# coding: ascii\nx = '\xe9'\n", "not ascii text: byte 0xe9"),
        (b"\0\0", "a binary file, not source"),
        ("x = 1".encode("utf-16"), "a binary file, not source"),
    ],
    ids=["no coding line", "unknown coding", "wrong coding", "binary", "UTF-16"],
)
def test_undecodable_bytes_are_one_finding(data, message):
    (finding,) = check(data)
    assert (finding.code, finding.message) == ("KL903", message)


def test_a_coding_line_is_heeded():
    data = b"# coding: latin-1\nx = '\xe9'\n" + KERNEL.encode()
    (finding,) = check(data)
    assert finding.code == CODE
    assert finding.place.line == check(KERNEL)[0].place.line + 2


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.replace("\n", "\r\n"),
        lambda s: s.replace("\n", "\r"),
        lambda s: "\ufeff" + s,
        lambda s: s.replace("    ", "\t"),
        lambda s: s.replace("@triton.jit", "\f\n@triton.jit").replace("\n\n\n\f", "\n\n\f", 1),
        lambda s: s.rstrip("\n"),
    ],
    ids=["CRLF", "CR", "byte-order mark", "tabs", "form feed", "no last newline"],
)
def test_layout_does_not_change_the_finding(change):
    source = change(KERNEL)
    (finding,) = check(source)
    (plain,) = check(KERNEL)
    assert finding.code == CODE
    assert finding.place.line == plain.place.line
    assert finding.fingerprint == plain.fingerprint


# -- Markdown and notebooks -------------------------------------------------------------------------------------------


def test_markdown_fences_keep_the_lines_of_the_file():
    (finding,) = check(f"# A page\n\n```python\n{KERNEL}```\n", "page.md")
    assert finding.place.line == check(KERNEL)[0].place.line + 3


def test_markdown_without_code_is_nothing():
    assert check("# triton.jit\n\nSome words.\n", "page.md") == []


def test_broken_code_in_markdown_is_information():
    (finding,) = check("```python\nimport triton\n@triton.jit\ndef f(:\n```\n", "page.md")
    assert (finding.code, finding.severity, finding.place.line) == ("KL901", "info", 4)


def test_a_broken_fence_does_not_stop_the_others():
    gaps = (
        "```python\nimport triton\ndef f(x\n    ...\n```\n\n- then\n\n  ```python\n  @triton.jit\n  def g(:\n  ```\n\n"
    )
    page = f"{gaps}```python\n{KERNEL}```\n"
    broken, found = check(page, "page.md")
    assert (broken.code, broken.severity, broken.place.line, broken.lines) == ("KL901", "info", 3, ("def f(x",))
    assert (found.code, found.lines) == (CODE, (DOT,))
    assert page.split("\n")[found.place.line - 1] == DOT
    assert check(page, "page.md", severity={"KL901": "error"})[0].severity == "error"
    # Only the reference is wrong.
    (reference,) = check(f"## Reference\n```python\nx = (\n```\n## Kernel\n```python\n{KERNEL}```\n", "page.md")
    assert reference.code == "KL901"


def notebook(*cells, **metadata):
    made = [{"cell_type": kind, "source": source, "metadata": {}} for kind, source in cells]
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def test_a_notebook_is_one_program_with_places_in_cells():
    kernel, launch = KERNEL.split("def multiply")
    source = notebook(
        ("markdown", "# Title"),
        ("code", "%matplotlib inline\n!pip install triton"),
        ("code", kernel.splitlines(keepends=True)),
        ("code", "%%bash\nls ("),
        ("code", "def multiply" + launch),
    )
    (finding,) = check(source, "n.ipynb")
    assert (finding.place.cell, finding.place.line) == (3, check(KERNEL)[0].place.line)
    assert finding.lines[0] == DOT
    assert f"at line {finding.place.line}" in finding.message
    assert f"at cell 3, line {finding.place.line}" in finding.evidence[0]


def test_what_was_found_before_the_time_was_nearly_over_is_kept(monkeypatch):
    """The clock goes on by as much as each rule may take, so that some are asked and others not."""
    codes = frozenset({*(rule.code for rule in all_rules()), "KL902", "KL911"})
    source = KERNEL.replace(DOT, f"{DOT}  # kernlint: ignore[KL999, KL602]")
    everything = {f.code for f in check(source, codes=codes) if f.code < "KL9"}
    ticks = iter(range(10_000))
    monkeypatch.setattr("time.process_time", lambda: float(next(ticks)))
    found = check(source, codes=codes, timeout_s=100.0)
    assert {f.code for f in found if f.code < "KL9"} < everything and len(found) > 1
    (late,) = [f for f in found if f.code == "KL902"]
    advice = " other rules may find more; split the file, or ask for fewer rules with `--select`"
    assert late.message.startswith("took nearly 100 s: ") and late.message.endswith(advice)
    assert late.severity == "info", "nothing is known to be amiss"
    assert "KL911" not in {f.code for f in found}  # the rule may not have been asked


def test_fixes_are_not_tried_once_the_time_is_nearly_over(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.process_time", lambda: clock[0])

    def slow(self, *_):
        clock[0] = 80.0

    monkeypatch.setattr("kernlint.lint.check_file.Check._made", slow)
    two = KERNEL.replace(DOT, f"{DOT}\n{DOT}")
    found = check(two, timeout_s=100.0, fixes=True)
    assert [f.code for f in found if f.code < "KL9"] == [CODE, CODE]
    (late,) = [f for f in found if f.code == "KL902"]
    assert f"took nearly 100 s: not all fixes of {find_rule(CODE).name} ({CODE}) were worked out; " in late.message


def test_a_cell_may_be_newer_than_the_running_python():
    newer = "try:\n    pass\nexcept ValueError, TypeError:\n    pass"
    (finding,) = check(notebook(("code", newer), ("code", KERNEL)), "n.ipynb")
    assert (finding.code, finding.place.cell) == (CODE, 2)


@pytest.mark.parametrize(
    ("text", "cell", "said"),
    [
        ("the loop at line 4", 2, "the loop at line 2"),
        ("the loop at line 4", None, "the loop at cell 2, line 2"),
        ("the loop at line 1, twice", 2, "the loop at cell 1, line 1, twice"),
        ("lines 3 to 5", 2, "lines 1 to 3"),
        ("the casts at lines 3, 4 and 5", 1, "the casts at cell 2, lines 1, 2 and 3"),
        ("at lines 2 and 3", 1, "at cell 1, line 2 and cell 2, line 1"),
        ("128-byte lines, line 99, line 0, baseline 4", 1, "128-byte lines, line 99, line 0, baseline 4"),
    ],
)
def test_lines_in_messages_are_those_of_cells(text, cell, said):
    assert read_notebook(notebook(("code", "a = 1\nb = 2"), ("code", "c = 3\nd = 4\ne = 5"))).worded(text, cell) == said


def test_a_broken_cell_is_a_finding_and_the_others_are_read():
    broken, found = check(notebook(("code", "triton.jit = ("), ("code", KERNEL)), "n.ipynb")
    assert (broken.code, broken.severity, broken.place.cell, broken.place.line) == ("KL901", "error", 1, 1)
    assert (found.code, found.place.cell) == (CODE, 2)
    (quiet, _) = check(notebook(("code", "triton.jit = ("), ("code", KERNEL)), "n.ipynb", severity={"KL901": "info"})
    assert quiet.severity == "info"


@pytest.mark.parametrize("source", ["{}", "[]", "{", '{"cells": 3}', "1"])
def test_what_is_no_notebook_is_unreadable(source):
    (finding,) = check(source, "n.ipynb")
    assert finding.code == "KL903"
    assert finding.message.startswith("not a notebook")


@pytest.mark.parametrize(
    "cell", [{}, {"cell_type": "code"}, {"cell_type": "code", "source": 3}, 3, {"cell_type": "code", "source": [1]}]
)
def test_odd_cells_are_skipped(cell):
    source = json.dumps({"cells": [cell, {"cell_type": "code", "source": KERNEL}]})
    (finding,) = check(source, "n.ipynb")
    assert finding.place.cell == 2


def test_a_notebook_in_another_language_is_nothing():
    assert check(notebook(("code", "triton.jit <- ("), language_info={"name": "R"}), "n.ipynb") == []


# -- references -------------------------------------------------------------------------------------------------------

MODEL = """
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b.t()
def get_inputs():
    return [torch.zeros(2048, 2048, dtype=torch.int8), torch.zeros(2048, 2048, dtype=torch.int8)]
def get_init_inputs():
    return []
"""


def test_a_reference_tells_the_dtypes():
    launcher = (
        KERNEL.split("def multiply")[0]
        + """
class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty((2048, 2048), device="cuda", dtype=torch.float32)
        product[(16, 16)](a, b, c, 2048, 2048, 2048, BM=128, BN=128, BK=64, num_warps=8)
        return c
"""
    )
    assert check(launcher) == []
    (finding,) = check(launcher, reference=("ref.py", MODEL.encode()))
    assert finding.code == CODE


def test_a_broken_reference_is_named():
    (finding,) = check(KERNEL, reference=("ref.py", b"def f(:\n"))
    assert finding.code == "KL901"
    assert "ref.py" in finding.message


ALONE = """
import sys
from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.settings import FileSettings
from kernlint.rules.registry import all_rules

job = Job("k.py", sys.argv[1].encode(), FileSettings(frozenset(rule.code for rule in all_rules())))
assert check_file(job).findings
print([name for name in sys.modules if name.startswith(("kernlint.generate", "kernlint.compare.difference"))])
"""


def test_a_check_imports_nothing_that_writes_kernels_anew():
    done = subprocess.run([sys.executable, "-c", ALONE, KERNEL], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
