"""Kernels written anew with the tiles that the cost model finds the fastest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.generated import RUN, at_odd_sizes, program_of

from kernlint.cost.device import find_device
from kernlint.generate.program import rewritten
from kernlint.generate.tiles import Extents, Form, alternatives, extents_of
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program, Question
from kernlint.operators.generate import first_way, text_of
from kernlint.rewrite.text import apply_edits
from kernlint.rules.finding import Context
from kernlint.syntax.tree import parse_module
from kernlint.verdict.written import with_best_tiles
from kernlint.workload import Workload

ENTRY = "ModelNew.forward"


def parsed(name: str) -> Program:
    source, reference = program_of(name)
    return Program(parse_module(source, "before.py"), parse_module(reference, "reference.py"), Question())


class Said:
    """An estimate of so many microseconds."""

    def __init__(self, us: float | None) -> None:
        self.us = us

    def total_us(self, scope: str) -> float | None:
        assert scope == "gpu"
        return self.us


def warps(workload: Workload) -> float:
    return 100.0 * sum(launch.num_warps or 4 for launch in workload.launches())


def tuned(name: str, price: Callable[[Workload], float | None]) -> tuple[str, str]:
    """The kernels as they are written first, and as ``price`` would have them."""
    program = parsed(name)
    way = first_way(program, ENTRY)
    workload = program.workload(ENTRY, NO_EDITS)
    assert workload is not None
    context = Context(program, workload, find_device("h200"), price=lambda one: Said(price(one)))  # type: ignore[arg-type,return-value]
    found = with_best_tiles(program, way, context, "gpu")
    assert way.rewriting is not None
    assert found.effects == way.rewriting.effects
    first, second = (apply_edits(program.kernel.text, one.edits) for one in (way.rewriting, found))
    return first, second


def test_what_takes_the_least_is_written() -> None:
    first, best = tuned("norm", warps)
    assert best == first.replace("next_power_of_2(T))", "next_power_of_2(T), num_warps=1)") != first


@pytest.mark.parametrize(
    "price", [lambda workload: 10.0, lambda workload: None, lambda workload: 10.0 - 0.001 * warps(workload) / 100]
)
def test_without_a_clear_gain_the_measured_tile_stays(price: Callable[[Workload], float | None]) -> None:
    first, best = tuned("norm", price)
    assert first == best


@pytest.mark.parametrize(
    "name", ["stream", "row", "column", "long", "running sum", "loop in turn", "gather", "counted"]
)
def test_other_tiles_fit_the_kernel(name: str) -> None:
    tiles = rewritten(parsed(name), ENTRY, False).tiles
    assert tiles
    for form, tile in tiles.items():
        for other in alternatives(form, tile):
            assert other != tile
            assert other.loops == tile.loops
            assert 1 <= other.rows <= max(tile.rows, 2 * form.reach)
            assert other.columns == tile.columns or (not form.bins and not form.scans)
            assert other.rows == tile.rows or not (form.bins or form.places or form.in_turn)
            assert 32 * other.num_warps <= other.rows * other.columns <= 128 * 32 * other.num_warps


def test_what_is_held_as_a_whole_stays_so() -> None:
    tiles = rewritten(parsed("norm"), ENTRY, False).tiles
    for form, tile in tiles.items():
        assert form.reduces
        assert not tile.loops
        assert {other.columns for other in alternatives(form, tile)} <= {tile.columns}


def test_few_rows_of_a_scan_are_dealt_out() -> None:
    form = Form(
        160, 101, 160, 1, True, False, False, False, False, False, False, True, False, False, False, 50.0, 4.0, False
    )
    assert extents_of(form).rows == 1
    many = Form(
        1 << 20,
        101,
        1 << 20,
        1,
        True,
        False,
        False,
        False,
        False,
        False,
        False,
        True,
        False,
        False,
        False,
        50.0,
        4.0,
        False,
    )
    assert extents_of(many).rows == 16


_ALL = f"""
import sys
RUN = {RUN!r}
for folder in sys.argv[1:]:
    for name in ("after", "reference"):
        sys.modules.pop(name, None)
    kept, sys.argv = sys.argv, ["", folder]
    exec(RUN, {{}})
    sys.argv = kept
    sys.path.pop(0)
"""


#: Cases of each form: streams, tiles that turn rows into columns, rows and columns that are held or looped over, recurrences, places.
_FORMS = (
    "stream", "broadcast", "transposed", "gather", "row", "norm", "channels first norm", "column", "long", "running sum", "linear loop",
    "loop in turn", "place", "largest few", "nearest of pairs", "counted",
    "weights of four bits",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", _FORMS)
def test_other_tiles_compute_the_same(tmp_path: Path, name: str) -> None:
    """In Triton's interpreter, each other tile of each kernel, at sizes that few tiles divide."""
    pytest.importorskip("triton")
    source, reference = program_of(name)
    program = parsed(name)
    texts = dict[str, tuple[Form, Extents]]()
    for form, tile in rewritten(program, ENTRY, False).tiles.items():
        for other in alternatives(form, tile):
            text = apply_edits(source, text_of(program, ENTRY, False, {form: other})[1])
            texts.setdefault(text.replace(f"num_warps={other.num_warps}", ""), (form, other))
    folders = []
    for number, (form, other) in enumerate(texts.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "after.py").write_text(apply_edits(source, text_of(program, ENTRY, False, {form: other})[1]))
        (folder / "reference.py").write_text(at_odd_sizes(reference))
        folders.append(str(folder))
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _ALL, *folders], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
