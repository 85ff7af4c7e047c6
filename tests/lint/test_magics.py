"""What IPython reads otherwise than Python, told from Python that looks like it."""

import ast
import json

import pytest
from support.lint import CODE, DOT, KERNEL, check

from kernlint.lint.magics import is_python, without_magics


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if x:\n    %timeit f(\n    !ls | cat", "if x:\n    pass\n    pass"),
        ("!pip install \\\n   torch \\\n  triton\nx = 1", "pass\n\n\nx = 1"),
        ("files = !ls\nt, u = %timeit -o f()\nx[0] = %time 3", "pass\npass\npass"),
        ("?f\nf?\nf.g??\n%time?\nx[0]?\n*int*?", "pass\npass\npass\npass\npass\npass"),
        ("%%time\nx = 1", "pass\nx = 1"),
        ("x = (1,\n     2)\n%time x", "x = (1,\n     2)\npass"),
        ("s = '''\n'''  # (\n!ls", "s = '''\n'''  # (\npass"),
        ("%x \\", "pass"),
        ("pip install -q \\\n  triton\ncd ..\nls -la\ntime f(3)", "pass\n\npass\npass\npass"),
        ("%", "pass"),
    ],
)
def test_statements_of_ipython_are_empty(cell, python):
    assert "\n".join(without_magics(cell.split("\n"))) == python


@pytest.mark.parametrize(
    "cell",
    [
        "print('%d'\n      % x)",
        "x = y \\\n    % 2",
        "time = 3\nrun(time)\ntime in xs\nenv if time else ls\nls - 1\ncat[0]\nmv / 3\nenv: int = 3",
        'f(\n    time,\n    run -x)\ntext = """\npip install x\n"""',
        "x %= 2\nassert x != 3, 'x=%d' % x",
        "return_ = 'a=%s' % x",
        "f'= %d' % x",
        "x = 1  # why?",
        "f(\n    # why?\n    x)",
        "s = '''\n% x\n!ls\nreally?\n'''",
        's = "\\\n%x"',
        's = """it\'s\n?"""\ny = \'"""\'\nz = 2  # \'\'\' ?',
        "",
        "\n\n  \n",
    ],
)
def test_python_stays(cell):
    ast.parse(cell)
    assert without_magics(cell.split("\n")) == cell.split("\n")


@pytest.mark.parametrize("first", ["%%time", "%%timeit -n 1", "%%capture out", "x = 1", "", "%time x"])
def test_cells_of_python(first):
    assert is_python([first, "x = 1"])


@pytest.mark.parametrize("first", ["%%bash", "%%writefile k.py", "%%html", "%%timer", "%%"])
def test_cells_of_something_else(first):
    assert not is_python(["", first, "x = 1"])


@pytest.mark.parametrize(
    "source",
    [
        "%%time\n" + KERNEL,
        KERNEL.replace(DOT, f"{DOT}  # is it fast?"),
        KERNEL + "print('%d'\n      % 3)\nfiles = !ls\n",
    ],
    ids=["cell magic", "comment", "percent"],
)
def test_a_kernel_beside_them_is_checked(source):
    cells = [{"cell_type": "code", "source": source}]
    assert [finding.code for finding in check(json.dumps({"cells": cells}), "n.ipynb")] == [CODE]


def test_a_reason_may_be_a_question():
    source = KERNEL.replace(DOT, f"{DOT}  # kernlint: ignore[{CODE}] small?")
    assert check(json.dumps({"cells": [{"cell_type": "code", "source": source}]}), "n.ipynb") == []
