"""Workloads made of what a child reported: the report's terms, loops, the comparison with source, and reports that lie."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kernlint.errors import AnalysisError
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.interpret.recorded.agreement import differences
from kernlint.interpret.recorded.aten import translated
from kernlint.interpret.recorded.loops import Looped, folded
from kernlint.interpret.recorded.program import RecordedProgram
from kernlint.interpret.recorded.recording import Recording
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch, Repeat, TorchOp, Workload

SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def run(x):
    y = torch.empty_like(x)
    for _ in range(3):
        scale[(4,)](x, y, 4096, BLOCK=1024)
    return y.half()
"""
MODULE = parse_module(SOURCE, "k.py")
TENSORS = [
    [0, "float32", [64, 64], [64, 1], 0],
    [1, "float32", [64, 64], [64, 1], 0],
    [2, "float16", [64, 64], [64, 1], 0],
]


def place(text: str) -> list[Any]:
    """The place of a piece of the source, as a child tells it."""
    line = next(number for number, one in enumerate(SOURCE.splitlines(), 1) if text in one)
    column = SOURCE.splitlines()[line - 1].index(text)
    return ["k.py", 13, line, line, column, column + len(text)]


LAUNCH = {
    "kind": "launch",
    "kernel": {"name": "scale", "file": "k.py", "line": 7, "closure": {}},
    "values": {"x": {"tensor": 0}, "y": {"tensor": 1}, "n": 4096, "BLOCK": 1024},
    "given": ["x", "y", "n", "BLOCK"],
    "options": {},
    "grid": [4],
    "computed": False,
    "warmup": False,
    "stack": 1,
    "key": 1,
}


def report() -> list[dict[str, Any]]:
    steps = [
        {"kind": "op", "name": "empty_like", "args": [{"tensor": 0}], "kwargs": {}, "result": {"tensor": 1},
         "written": None, "pointwise": False, "stack": 0, "key": 0},
        *(copy.deepcopy(LAUNCH) for _ in range(3)),
        {"kind": "op", "name": "_to_copy", "args": [{"tensor": 1}], "kwargs": {"dtype": {"dtype": "float16"}},
         "result": {"tensor": 2}, "written": None, "pointwise": False, "stack": 2, "key": 2},
    ]  # fmt: skip
    call = {"event": "call", "version": "kernel", "entry": "run", "steps": steps, "unknown": [], "assumed": [],
            "inputs": [["x", {"tensor": 0}]], "outputs": [{"tensor": 2}]}  # fmt: skip
    places = [place("torch.empty_like(x)"), place("scale[(4,)](x, y, 4096, BLOCK=1024)"), place("y.half()")]
    tables = {"event": "tables", "version": "kernel", "tensors": TENSORS, "places": places,
              "stacks": [[0], [1], [2]], "hosted": [], "parameters": []}  # fmt: skip
    return [{**call, "number": 0}, {**copy.deepcopy(call), "number": 1}, tables]


def recorded(events: list[dict[str, Any]], edits: Edits = NO_EDITS) -> Workload | None:
    return RecordedProgram(MODULE, None, Question(), Recording.of_events(events)).traced_workload(edits)


def test_a_report_becomes_a_workload():
    workload = recorded(report())
    assert workload is not None and workload.traced and workload.first_steps is None
    alloc, loop, cast = workload.steps
    assert isinstance(alloc, TorchOp) and alloc.kind == "alloc" and alloc.writes[0].name == "y"
    assert isinstance(loop, Repeat) and loop.count == 3 and loop.span.line == 15 and loop.function == "run"
    (launch,) = loop.body
    assert isinstance(launch, Launch) and launch.grid == (4,) and launch.kernel.complete
    assert launch.constexprs == {"BLOCK": 1024} and launch.explicit == {"x", "y", "n", "BLOCK"}
    assert [MODULE.excerpt(span)[0].strip()[-6:] for span in launch.literals["BLOCK"]] == ["=1024)"]
    assert isinstance(cast, TorchOp) and cast.kind == "cast" and cast.reads == alloc.writes and cast.function == "run"
    assert workload.inputs[0].name == "x" and workload.outputs == cast.writes


def test_what_ifs_that_the_host_decides_are_not_told():
    found = recorded(report())
    assert found is not None
    launch = found.launches()[0]
    (literal,) = launch.literals["BLOCK"]
    assert recorded(report(), Edits(literals=frozenset({(literal, 512)}))) is None
    assert recorded(report(), Edits(skipped=frozenset({found.steps[-1].span}))) is None
    assert recorded(report(), Edits(native_dots=frozenset({launch.span}))) is not None


def test_a_first_call_that_does_more_is_told():
    events = report()
    del events[1]["steps"][0]
    workload = recorded(events)
    assert workload is not None and workload.first_steps is not None
    assert len(workload.first_steps) == 3 and len(workload.steps) == 2


def test_source_stands_where_both_agree():
    program = RecordedProgram(MODULE, None, Question(entry="run"), Recording.of_events(report()))
    static = Program(parse_module(SOURCE.replace("(x):", "(x: 'float32'):"), "k.py"), None, Question()).workloads()[0]
    traced = program.traced_workload(NO_EDITS)
    assert traced is not None
    assert any(what.startswith("scale: x is") for what in differences(static, traced))
    assert differences(traced, traced) == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("steps", 1, "kernel", "file"), "/etc/passwd"),
        (("steps", 1, "kernel", "name"), "nothing"),
        (("steps", 1, "values"), None),
        (("steps", 1, "grid"), 5),
        (("steps", 1, "stack"), 99),
        (("steps", 1, "values", "x"), {"tensor": 99}),
        (("steps", 1, "values", "x"), {"tensor": "0"}),
        (("steps", 0, "args"), "x"),
        (("steps", 0, "kind"), []),
        (("steps", 0), 7),
        (("steps",), {"a": 1}),
        (("inputs",), [[]]),
        (("outputs",), 3),
        (("entry",), {}),
        (("unknown",), 1),
    ],
)
def test_reports_that_make_no_sense(path, value):
    events = report()
    for call in events[:2]:
        inner: Any = call
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    try:
        told: object = recorded(events)
    except AnalysisError as error:
        told = str(error)
    assert isinstance(told, Workload) or "the trace cannot be read" in str(told)


@pytest.mark.parametrize(
    "tensor", [[0], [0, "float32", [64], [1, 1], 0], ["a", "b", "c", "d", "e"], [0, 1, None, 2, 3], {}]
)
def test_tensors_that_are_none(tensor):
    events = report()
    events[2]["tensors"][0] = tensor
    with pytest.raises(AnalysisError, match="the trace cannot be read"):
        recorded(copy.deepcopy(events))
    TENSORS[0] = [0, "float32", [64, 64], [64, 1], 0]


def test_events_of_other_kinds_are_passed_over():
    recording = Recording.of_events([{"event": "call"}, {"version": 3}, {}, {"event": "tables", "version": "kernel"}])
    assert recording.traces == {}


# -- loops ------------------------------------------------------------------------------------------------------------


def shape(items: Any) -> Any:
    return [[len(item.rounds), *shape(item.rounds[0])] if isinstance(item, Looped) else item for item in items]


def test_loops_are_found_inner_ones_first():
    keys = list("a" + "bcc" * 4 + "d")
    assert shape(folded(keys, lambda body: ("loop", 2))) == [0, [4, 1, [2, 2]], 13]


def test_repetition_that_no_loop_makes_stays():
    assert folded(list("ababab"), lambda body: None) == (0, 1, 2, 3, 4, 5)
    assert folded(list("aaaa"), lambda body: ("loop", 9)) == (0, 1, 2, 3)


def test_a_long_trace_is_folded_in_time():
    keys = [number % 40 for number in range(40_000)]
    (loop,) = folded(keys, lambda body: ("loop", 2))
    assert isinstance(loop, Looped) and len(loop.rounds) == 1000


# -- operations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("_softmax", ["x", -1, False], ("softmax", ["x", -1])),
        ("embedding", ["table", "ids"], ("embedding", ["ids", "table"])),
        ("native_layer_norm", ["x", [8], "w", "b", 1e-5], ("layer_norm", ["x", [8], "w", "b"])),
        ("im2col", ["x", 3], ("unfold", ["x", 3])),
        ("relu", ["x"], ("relu", ["x"])),
    ],
)
def test_names_of_operations(name, args, expected):
    assert translated(name, args, {"layout": 1})[:2] == expected
