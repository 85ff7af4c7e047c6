from pathlib import Path

import libcst
import pytest

from kernlint.errors import SourceError
from kernlint.syntax import SourceText, read_source, read_task, walk

SEED = Path(__file__).parents[2] / "fixtures" / "seed" / "task.md"


def task(text, path="task.md"):
    return read_task(SourceText(text, path))


def test_seed():
    seed = read_task(read_source(str(SEED)))
    assert seed.reference is not None
    assert "class Model(" in seed.reference.text
    assert "class ModelNew(" in seed.kernel.text
    assert "class Model(" not in seed.kernel.text
    assert seed.performance == "No performance data available. Analyze code structure only."
    lines = SEED.read_text().splitlines()
    for module in (seed.kernel, seed.reference):
        for node in walk(module.tree):
            if isinstance(node, libcst.FunctionDef):
                assert f"def {node.name.value}(" in lines[module.span(node.name).line - 1]


def test_python_is_a_kernel_alone():
    plain = task("# Title\nx = 1\n", "k.py")
    assert plain.reference is None
    assert plain.performance == ""
    assert plain.kernel.text == "# Title\nx = 1\n"


@pytest.mark.parametrize(
    "heading",
    ["# Current Triton Kernel", "## Triton Kernel", "###### kernel ##", "# CURRENT TRITON KERNEL:", "  ## My kernel"],
)
def test_kernel_headings(heading):
    assert task(f"intro\n\n{heading}\n\n```python\nx = 1\n```\n").kernel.text == "x = 1\n"


@pytest.mark.parametrize(
    "fence",
    [
        pytest.param("```python\nx = 1\n```", id="backticks"),
        pytest.param("~~~py\nx = 1\n~~~", id="tildes"),
        pytest.param("```\nx = 1\n```", id="no language"),
        pytest.param("````python title='a'\nx = 1\n````", id="four backticks and attributes"),
        pytest.param("```Python\nx = 1\n", id="never closed"),
        pytest.param("```{.python}\nx = 1\n```", id="pandoc attributes"),
    ],
)
def test_fences(fence):
    assert task(f"# Kernel\n{fence}\n").kernel.text.strip() == "x = 1"


def test_a_comment_in_code_is_no_heading():
    text = "# Triton Kernel\n```python\nx = 1\n# Performance\ny = 2\n```\n# Performance\n0.063 ms\n"
    read = task(text)
    assert read.kernel.text == "x = 1\n# Performance\ny = 2\n"
    assert read.performance == "0.063 ms"


def test_fences_of_one_section_keep_their_lines():
    text = "# Kernel\n```python\nx = 1\n```\nand\n```python\ny = f()\n```\n"
    read = task(text)
    spans = [read.kernel.span(node) for node in walk(read.kernel.tree) if isinstance(node, libcst.Call)]
    assert [span.line for span in spans] == [7]


def test_output_beside_code_is_left_out():
    read = task("# Kernel\n```python\nx = 1\n```\n```\n$ python k.py\n```\n")
    assert read.kernel.text == "x = 1\n"


def test_missing_sections():
    read = task("Please look at this.\n\n```python\nimport triton\n```\n")
    assert read.reference is None
    assert read.performance == ""
    assert read.kernel.text == "import triton\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# Title\n\nNo code at all.\n", id="prose"),
        pytest.param("# Kernel\n\n```json\n{}\n```\n", id="another language"),
        pytest.param("# Kernel\n", id="a heading alone"),
        pytest.param("# PyTorch Reference\n```python\nx = 1\n```\n", id="a reference alone"),
    ],
)
def test_markdown_without_kernel_is_refused(text):
    with pytest.raises(SourceError, match=r"^task\.md: Markdown without Python code"):
        task(text)


def test_a_notebook_is_refused_by_its_name():
    with pytest.raises(SourceError, match="only `kernlint check` reads"):
        read_task(SourceText('{"cells": []}', "k.ipynb"))


def test_a_syntax_error_names_the_line_of_the_markdown_file():
    with pytest.raises(SourceError, match=r"^task\.md:5:5: syntax error"):
        task("# Kernel\n\n```python\nx = 1\ny = (\n```\n")


@pytest.mark.parametrize(
    ("text", "first_line"),
    [
        pytest.param("# A comment\nx = 1\n", 1, id="Python"),
        pytest.param("# Kernel\n```python\nx = 1\n```\n", 3, id="Markdown"),
        pytest.param('"""\n```python\na\n```\n"""\nx = 1\n', 1, id="Python with a fence in its docstring"),
    ],
)
def test_standard_input_is_told_by_its_content(text, first_line):
    assert task(text, "<stdin>").kernel.first_line == first_line
