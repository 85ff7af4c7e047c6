"""Programs whose host code is run on fake tensors: what is told of them, and what becomes of those that misbehave."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest
from support.late import needs

from kernlint.analysis import analysis, analyze
from kernlint.errors import AnalysisError
from kernlint.interpret.edits import NO_EDITS
from kernlint.request import Request
from kernlint.verify.sandbox import Limits
from kernlint.verify.trace import make_job, record, trace
from kernlint.workload import HostSync, Launch, Repeat, TorchOp

pytestmark = [needs("torch"), needs("triton")]

KERNEL = """
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)

"""
INPUTS = """
def get_inputs():
    return [torch.rand(64, 1000)]


def get_init_inputs():
    return []
"""


def program(forward: str, before: str = "") -> str:
    """A module whose ``ModelNew.forward`` has the body ``forward``."""
    body = textwrap.indent(textwrap.dedent(forward).strip(), "        ")
    return f"{KERNEL}{before}\nclass ModelNew(nn.Module):\n    def forward(self, x):\n{body}\n{INPUTS}"


# -- what is traced ---------------------------------------------------------------------------------------------------

OPAQUE = """
def steps(x):
    return [eval("2.0 * x.shape[1]", {"x": x})]
"""


def test_what_source_does_not_tell_is_traced():
    forward = """
        y = torch.empty_like(x)
        block = int("".join(map(str, sorted([4, 2, 0, 1]))).replace("0124", "1024"))
        for factor in steps(x):
            scale[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), factor, BLOCK=block)
        total = y.t().contiguous().sum(dim=0)
        if total.max().item() > 3:
            total = total + 1
        return total
    """
    source = program(forward, OPAQUE)
    found = record(Request(source))
    read = analysis(Request(source, recording=found))
    workload = read.judgement.workload
    assert read.program.replaced == "ModelNew.forward" and read.program.differences
    assert workload.traced and workload.entry == "ModelNew.forward"
    launch = workload.launches()[0]
    assert launch.grid == (63,) and launch.constexprs == {"BLOCK": 1024} and launch.arguments["factor"] == 2000.0
    x, y = launch.tensor("x"), launch.tensor("y")
    assert x is not None and y is not None
    assert str(x) == "x: float32[64, 1000]" and x.strides == (1000, 1) and x.storage.origin == "input"
    assert y.name == "y" and y.storage.origin == "empty"
    assert source.splitlines()[launch.span.line - 1].strip().startswith("scale[")
    ops = [step for step, _ in workload.walk() if isinstance(step, TorchOp) and step.kind != "alloc"]
    assert [op.kind for op in ops][:2] == ["transpose", "reduce"]
    assert ops[0].reads[0].strides == (1, 1000) and ops[0].reads[0].storage == y.storage
    syncs = [step for step, _ in workload.walk() if isinstance(step, HostSync)]
    assert len(syncs) == 1 and syncs[0].what == ".item()"
    assert any("taken to hold" in text for text in workload.unknowns)
    assert read.verdict.worth_optimizing and read.verdict.expected_speedup


def test_source_that_tells_everything_stands():
    forward = """
        y = torch.empty_like(x)
        scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 0.5, BLOCK=1024)
        return torch.relu(y)
    """
    source = program(forward)
    read = analysis(Request(source, recording=record(Request(source))))
    assert read.program.replaced == "" and read.program.differences == ()
    assert read.judgement.workload.traced


def test_writes_by_index_are_as_large_as_what_is_written():
    forward = """
        rows = torch.arange(8, device="cuda")
        x[:, rows] = 0.5 * x[:, rows + 8]
        x[0] = 0
        x[:, :64].fill_diagonal_(1.0)
        x.index_put_((rows, rows), x[0, :8], accumulate=True)
        scale[(triton.cdiv(x.numel(), 1024),)](x, x, x.numel(), 0.5, BLOCK=1024)
        return torch.relu(x)
    """
    source = program(forward)
    read = analysis(Request(source, recording=record(Request(source))))
    assert read.program.differences == ()
    ops = [step for step, _ in read.judgement.workload.walk() if isinstance(step, TorchOp)]
    assert [(op.kind, op.writes[0].numel) for op in ops if op.name in ("setitem", "index_put_")] == [
        ("copy", 64 * 8),
        ("fill", 1000),
        ("gather", 64 * 1000),
    ]


def test_configurations_device_and_loops():
    tuned = """
@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (512, 2048) for w in (4, 8)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x, y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
"""
    forward = """
        sms = torch.cuda.get_device_properties(x.device).multi_processor_count
        rows = {k: v for k, v in zip("ab", (x.shape[0], sms))}
        out = torch.empty(rows["b"], x.shape[1], device="cuda", dtype=torch.float16)
        for i in range(rows["a"]):
            tuned[lambda meta: (triton.cdiv(x.shape[1], meta["BLOCK"]),)](x[i], out[i], x.shape[1])
        return out.float()
    """
    source = program(forward, tuned)
    program_read = analysis(
        Request(source, recording=record(Request(source, device="a100-80gb")), device="a100-80gb")
    ).program
    workload = program_read.traced_workload(NO_EDITS)
    loop = next(step for step in workload.steps if isinstance(step, Repeat))
    assert loop.count == 64 and len(loop.body) == 1
    launch = loop.body[0]
    assert isinstance(launch, Launch) and launch.autotuned and launch.tuning is not None
    assert [one.constexprs["BLOCK"] for one in launch.configurations] == [512, 512, 2048, 2048]
    assert [one.num_warps for one in launch.configurations] == [4, 8, 4, 8]
    assert [one.grid for one in launch.configurations] == [(2,), (2,), (1,), (1,)]
    assert launch.tuning.key == ("n",) and launch.tuning.swept == {"BLOCK", "num_warps"}
    assert launch.explicit == {"x", "y", "n"}
    assert launch.tensor("y").offset == 1000 * 32
    cast = workload.steps[-1]
    assert isinstance(cast, TorchOp) and cast.kind == "cast" and cast.reads[0].shape == (108, 1000)


def test_a_function_is_traced_with_the_facts_that_are_given():
    source = KERNEL + (
        "def run(x, blocks=4):\n    y = torch.empty_like(x)\n"
        "    scale[(blocks,)](x, y, x.numel(), 1.0, BLOCK=x.numel() // blocks)\n    return y\n"
    )
    workload = analysis(
        Request(
            source,
            recording=record(Request(source, assumptions=("x:float16[4096]",))),
            assumptions=("x:float16[4096]",),
        )
    )
    assert workload.judgement.workload.launches()[0].constexprs["BLOCK"] == 1024


def test_caches_are_told_from_later_calls():
    forward = """
        if not hasattr(self, "table"):
            self.table = torch.rand(1000).cumsum(0)
        y = torch.empty_like(x)
        scale[(64,)](x, y, x.numel(), 0.5, BLOCK=1024)
        return y + self.table
    """
    source = program(forward)
    found = record(Request(source))
    kernel = found.traces["kernel"]
    assert len(kernel["calls"][0]["steps"]) == len(kernel["calls"][1]["steps"]) + 2


def test_inputs_that_nobody_tells_are_asked_for():
    source = KERNEL + "def run(x):\n    scale[(1,)](x, x, 8, 1.0, BLOCK=8)\n"
    with pytest.raises(AnalysisError, match="no function says what to call it with"):
        record(Request(source))


# -- programs that misbehave ------------------------------------------------------------------------------------------


TRIED = """
def tried():
    import os, socket, subprocess
    out = OUT
    for name, what in {
        "fork": os.fork,
        "run": lambda: subprocess.run(["true"]),
        "system": lambda: os.system("true"),
        "write": lambda: open(out + "/written", "w"),
        "append": lambda: open(__file__ + "/../../elsewhere", "a"),
        "mkdir": lambda: os.mkdir(out + "/made"),
        "remove": lambda: os.remove(out + "/kept"),
        "connect": lambda: socket.create_connection(("127.0.0.1", 9)),
        "memory": lambda: bytes(1 << 45),
    }.items():
        try:
            what()
        except (PermissionError, MemoryError, NotADirectoryError):
            continue
        yield name
"""


def test_what_a_trace_does_not_allow(tmp_path):
    kept = tmp_path / "kept"
    kept.touch()
    forward = "raise ValueError(f'went through: {sorted(tried())}')"
    with pytest.raises(AnalysisError, match=r"ValueError: went through: \[\] \(line \d+, in forward\)"):
        record(Request(program(forward, TRIED.replace("OUT", repr(str(tmp_path))))))
    assert list(tmp_path.iterdir()) == [kept]


def test_a_program_that_ends_python():
    with pytest.raises(AnalysisError, match="SystemExit"):
        record(Request(program("raise SystemExit(0)")))


def test_walls_that_python_does_not_see(tmp_path):
    """Code that goes around Python's own functions stands before the kernel's barriers, where there are any."""
    forward = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        made = libc.open(b"{tmp_path}/written", 0o101, 0o600)
        opened = libc.socket(2, 1, 0)
        raise ValueError(f"file {{made}} socket {{opened}}")
    """
    with pytest.raises(AnalysisError) as error:
        record(Request(program(forward)))
    if os.path.isdir("/proc/sys/kernel") and "socket -1" not in str(error.value):
        pytest.skip("no barriers here")
    assert "file -1 socket -1" in str(error.value) and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import time\nwhile True:\n    time.sleep(1)", "longer than"),
        ("import os\nos._exit(0)", "ended early"),
    ],
)
def test_an_end_without_an_answer(body, words):
    job = make_job(Request(program(body)))
    with pytest.raises(AnalysisError, match=words):
        trace(job, Limits(seconds=40.0, memory_bytes=4 << 30))


def test_large_tensors_cost_nothing():
    forward = """
        y = torch.empty(1 << 36, device=x.device)
        scale[(1 << 26,)](y, y, y.numel(), 0.5, BLOCK=1024)
        return y
    """
    source = program(forward)
    assert record(Request(source)).traces["kernel"]


def test_the_command(tmp_path, capsys):
    from kernlint.cli.main import main

    path = Path(tmp_path) / "kernel.py"
    hidden = "globals()['sc' + 'ale'][(63,)](x, x, x.numel(), 1.0, BLOCK=1024)\nreturn x"
    path.write_text(program(hidden))
    assert main([str(path), "--trace"]) == 0
    assert '"worth_optimizing"' in capsys.readouterr().out
    assert main([str(path)]) == 2
    assert "--trace" in capsys.readouterr().err


def test_analysis_without_a_trace_runs_nothing(tmp_path):
    marker = tmp_path / "ran"
    analyze(program(f"open({str(marker)!r}, 'w')\nscale[(1,)](x, x, 8, 1.0, BLOCK=8)\nreturn x"))
    assert not marker.exists()


def test_values_that_programs_look_into():
    """A tensor made of tensors waits for each; contents that follow from the program are there; addresses are apart."""
    forward = """
        starts = torch.tensor([0, 3, 7], device=x.device).cumsum(0).tolist()
        norm = torch.tensor([x.sum(), 2.0], device=x.device)
        assert x.data_ptr() % 16 == 0 and norm.data_ptr() != x.data_ptr()
        mask = torch.arange(8, device="cuda") > 5
        picked = torch.arange(8, device="cuda")[mask]
        assert starts == [0, 3, 10] and picked.tolist() == [6, 7]
        scale[(starts[-1] + picked.numel(),)](x, x, x.numel(), 0.5, BLOCK=1024)
        return norm
    """
    source = program(forward)
    steps = record(Request(source)).traces["kernel"]["calls"][1]["steps"]
    assert [step["grid"] for step in steps if step["kind"] == "launch"] == [[12]]
    assert [step["what"] for step in steps if step["kind"] == "sync"].count(".item()") == 1
