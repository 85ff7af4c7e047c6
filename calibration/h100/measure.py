"""Measure every case on the GPU at hand and append rows to CSV files.

    python measure.py --out DIR [--seconds 420] [--workers 15]

Worker processes compile all launches for sm_90 first (Triton's disk cache hands the binaries over); then this process
times them one after the other. It stops by itself at the deadline and leaves whole rows behind. After
a CUDA error, which no process survives, it exits with status 3: run it again with the same --out and it goes on behind
the case that failed (cases already done are listed in DIR/done.txt).
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

import again
import arithmetic
import attention
import blends
import columns
import compiled
import composites
import composites_2
import elementwise
import fma
import forms
import gemm
import grids
import kinds
import kinds_2
import kinds_later
import lanes
import matvec
import medley
import medley_later
import products
import recurrent
import regimes
import regimes_2
import rows
import scatter
import spilling
import survey
import uneven
import walks
from case import Buffer, Case, Launch

MICRO = ["device", "term", "params", "gpu_us", "cold_us", "bytes", "flops"]
GEMM = [
    "device",
    "mode",
    "M",
    "N",
    "K",
    "BM",
    "BN",
    "BK",
    "num_warps",
    "num_stages",
    "b_layout",
    "group",
    "cold_us",
    "warm_us",
    "cold_tflops",
    "warm_tflops",
]
GEMM += ["variant", "regs", "spills", "shared_bytes"]
TORCH = ["device", "op", "dtype", "shape", "bytes_min", "flops", "gpu_us", "call_us", "host_us"]
BINARY = ["term", "params", "kernel", "num_warps", "regs", "spills", "shared_bytes"]
MICRO_FILES = {
    "all": ("h100-micro-2.csv", "h100-micro-binaries-2.csv"),
    "spilling": ("h100-spilling.csv", "h100-spilling-binaries.csv"),
    "lanes": ("h200-lanes.csv", "h200-lanes-binaries.csv"),
    "arithmetic": ("h100-arithmetic.csv", "h100-arithmetic-binaries.csv"),
    "scatter": ("h100-scatter.csv", "h100-scatter-binaries.csv"),
    "grids": ("h200-grids.csv", "h200-grids-binaries.csv"),
    "products": ("h200-products.csv", "h200-products-binaries.csv"),
    "blends": ("h200-blends.csv", "h200-blends-binaries.csv"),
    "forms": ("h200-forms.csv", "h200-forms-binaries.csv"),
    "walks": ("h200-walks.csv", "h200-walks-binaries.csv"),
    "uneven": ("h200-uneven.csv", "h200-uneven-binaries.csv"),
    "survey": ("h200-survey.csv", "h200-survey-binaries.csv"),
    "composites": ("h200-composites.csv", "h200-composites-binaries.csv"),
    "composites_2": ("h200-composites-2.csv", "h200-composites-2-binaries.csv"),
    "regimes": ("h200-regimes.csv", "h200-regimes-binaries.csv"),
    "regimes_2": ("h200-regimes-2.csv", "h200-regimes-2-binaries.csv"),
    "medley": ("h200-medley.csv", "h200-medley-binaries.csv"),
    "medley_later": ("h200-medley-later.csv", "h200-medley-later-binaries.csv"),
    "kinds": ("h200-kinds.csv", "h200-kinds-binaries.csv"),
    "kinds_2": ("h200-kinds-2.csv", "h200-kinds-2-binaries.csv"),
    "kinds_later": ("h200-kinds-later.csv", "h200-kinds-later-binaries.csv"),
    "again": ("h200-again.csv", "h200-again-binaries.csv"),
}
#: Modules whose results are files of their own.
ALONE = {"spilling": spilling, "lanes": lanes, "arithmetic": arithmetic, "scatter": scatter}
ALONE |= {
    "grids": grids,
    "products": products,
    "blends": blends,
    "forms": forms,
    "walks": walks,
    "uneven": uneven,
    "survey": survey,
    "composites": composites,
    "composites_2": composites_2,
    "regimes": regimes,
    "regimes_2": regimes_2,
    "medley": medley,
    "medley_later": medley_later,
    "kinds": kinds,
    "kinds_2": kinds_2,
    "kinds_later": kinds_later,
    "again": again,
}
#: Modules beside which torch operations are timed, and every how many of them.
TORCH_STEPS = {None: 1, "again": 3}
TORCH_SECONDS = 40.0  # kept back for the torch operations, which run last
MAX_US = 30_000.0


def all_cases() -> list[Case]:
    """Every kernel case, most valuable first; the order is the same in every process. With ONLY in the environment
    (set by `--only`, inherited by the workers) those of that module alone."""
    if os.environ.get("ONLY"):
        return ALONE[os.environ["ONLY"]].cases()
    tiles = gemm.cases()
    grid, drawn = tiles[: -gemm.DRAWN], tiles[-gemm.DRAWN :]
    parts = [grid, rows.cases(), elementwise.cases(), attention.cases(), columns.cases(), matvec.cases(), fma.cases()]
    parts += [recurrent.cases(), drawn]
    return [case for part in parts for case in part]


def unique_launches(cases: list[Case]) -> dict[str, Launch]:
    """The launches that compile to different binaries, by identity, in the order in which they are needed."""
    found: dict[str, Launch] = {}
    for case in cases:
        for launch in case.launches:
            found.setdefault(compiled.identity(launch), launch)
    return found


_launches: dict[str, Launch] = {}


def compile_one(identity: str) -> str:
    """Worker: compile into the disk cache. Returns the error, or an empty string."""
    if not _launches:
        _launches.update(unique_launches(all_cases()))
    try:
        result = compiled.compile_launch(_launches[identity])
    except Exception as error:  # whatever the compiler raises is this case's result
        return f"compile: {type(error).__name__}: {str(error)[:200]}"
    try:
        compiled.build_launcher(result)
    except Exception:  # the timing process will build it, and report the error if there is one
        return ""
    return ""


class Pool:
    """Device buffers by name and dtype, grown on demand and filled with fresh noise."""

    def __init__(self) -> None:
        self._tensors: dict[tuple[str, str, int, str, int], object] = {}

    def get(self, buffer: Buffer):
        """A flat tensor of `buffer.numel` elements; equal names share memory."""
        import fill

        # A part of sorted indices is not sorted indices of that many.
        whole = 0 if buffer.order == "random" else buffer.numel
        key = (buffer.name, buffer.dtype, buffer.below, buffer.order, whole)
        held = self._tensors.pop(key, None)
        if held is None or held.numel() < buffer.numel:
            del held
            held = fill.filled(buffer, "cuda")
        self._tensors[key] = held
        return held[: buffer.numel]


class Files:
    """The result files of one directory, appended row by row."""

    def __init__(self, out: Path) -> None:
        self.out = out
        out.mkdir(parents=True, exist_ok=True)

    def add(self, name: str, header: list[str], row: dict[str, object]) -> None:
        """Append one row; the header goes before the first."""
        path = self.out / name
        new = not path.exists()
        with path.open("a", newline="") as handle:
            writer = csv.DictWriter(handle, header, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)

    def line(self, name: str, text: str) -> None:
        """Append one line of text."""
        with (self.out / name).open("a") as handle:
            handle.write(text.replace("\n", " ") + "\n")

    def done(self) -> set[str]:
        """Keys of the cases that need not run again."""
        path = self.out / "done.txt"
        return set(path.read_text().splitlines()) if path.exists() else set()


class Bench:
    """Turns cases and torch operations into rows."""

    def __init__(self, files: Files) -> None:
        import torch
        from timing import Timer

        self.torch, self.files, self.timer, self.pool = torch, files, Timer(), Pool()
        self.device = torch.cuda.get_device_name(0)

    def case(self, case: Case) -> None:
        """Time one case and write its row."""
        binaries = [compiled.compile_launch(launch) for launch in case.launches]
        calls: list[Callable[[], None]] = []
        for launch, binary in zip(case.launches, binaries, strict=True):
            tensors = [self.pool.get(arg) if isinstance(arg, Buffer) else arg for arg in launch.args]
            grid = (*launch.grid, 1, 1)[:3]
            runner, arguments = binary[grid], compiled.call_arguments(launch, tensors)
            calls.append(lambda runner=runner, arguments=arguments: runner(*arguments))

        def call() -> None:
            for one in calls:
                one()

        self.torch.cuda.synchronize()  # the buffers were filled on another stream
        warm = self.timer.graph_us(call, len(calls))
        cold = self.timer.cold_us(call) if warm < MAX_US else None
        self._write(case, warm, cold, binaries)

    def _write(self, case: Case, warm: float, cold: float | None, binaries: list) -> None:
        kernel = binaries[0]
        resources = {"regs": kernel.n_regs, "spills": kernel.n_spills, "shared_bytes": kernel.metadata.shared}
        cold_text = "" if cold is None else f"{cold:.2f}"
        if case.table == "gemm":
            row = {"device": self.device, **case.params, "warm_us": f"{warm:.2f}", "cold_us": cold_text}
            row["warm_tflops"] = f"{case.flops / warm / 1e6:.1f}"
            row["cold_tflops"] = "" if cold is None else f"{case.flops / cold / 1e6:.1f}"
            self.files.add("h100-gemm-2.csv", GEMM, {**row, **resources})
            return
        term, params = case.key.split(",", 1)
        row = {"device": self.device, "term": term, "params": params, "gpu_us": f"{warm:.2f}", "cold_us": cold_text}
        micro, binaries = MICRO_FILES[os.environ.get("ONLY", "all")]
        self.files.add(micro, MICRO, {**row, "bytes": case.bytes, "flops": case.flops})
        name = {"term": term, "params": params, "kernel": case.launches[0].kernel.__name__}
        row = {**name, "num_warps": case.launches[0].num_warps, **resources}
        self.files.add(binaries, BINARY, row)

    def operation(self, operation) -> None:
        """Time one torch operation and write its row."""
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = operation.tf32
        call = operation.make()
        torch.cuda.synchronize()  # the operands were filled on another stream
        with torch.cuda.stream(self.timer.stream):
            for _ in range(3):
                call()
        torch.cuda.synchronize()
        gpu = self.timer.graph_us(call, 4) if operation.capturable else None
        wall, host = self.timer.eager_us(call, gpu or 0.0)
        row = {"device": self.device, "op": operation.op, "dtype": operation.dtype, "shape": operation.shape}
        row |= {"bytes_min": operation.bytes_min, "flops": operation.flops}
        row |= {"gpu_us": "" if gpu is None else f"{gpu:.2f}", "call_us": f"{wall:.2f}", "host_us": f"{host:.2f}"}
        self.files.add("h100-torch-ops-2.csv", TORCH, row)


def guarded(files: Files, key: str, work: Callable[[], None]) -> bool:
    """Run one measurement; True if it worked. Errors are noted; after one that poisons the CUDA context the process
    gives up."""
    import torch

    try:
        work()
    except Exception as error:  # any failure is this case's result, the others go on
        files.line("errors.txt", f"{key} | {type(error).__name__}: {str(error)[:200]}")
        try:
            torch.cuda.synchronize()
        except Exception:
            files.line("done.txt", key)
            os._exit(3)
        files.line("done.txt", key)
        return False
    files.line("done.txt", key)
    return True


def compile_all(cases: list[Case], workers: int, deadline: float) -> dict[str, Future]:
    """Compiles all launches in worker processes and ends them, so that they do not disturb the clock."""
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    futures = {identity: pool.submit(compile_one, identity) for identity in unique_launches(cases)}
    wait(futures.values(), timeout=max(0.0, (deadline - time.time()) / 2))
    pool.shutdown(wait=False, cancel_futures=True)
    for process in list((pool._processes or {}).values()):  # what still compiles would come too late
        process.kill()
    return futures


def outcome(future: Future) -> str:
    """The compile error of a launch, or an empty string."""
    if future.cancelled() or not future.done():
        return "compile: not in time"
    return future.result()


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=420.0)
    parser.add_argument("--deadline", type=float, help="epoch seconds; overrides --seconds")
    parser.add_argument("--workers", type=int, default=15)
    parser.add_argument("--only", choices=tuple(ALONE), help="the cases of this module alone, no torch operations")
    options = parser.parse_args()
    if options.only:
        os.environ["ONLY"] = options.only
    deadline = options.deadline or time.time() + options.seconds
    files = Files(options.out)
    done = files.done()
    cases = [case for case in all_cases() if case.key not in done]
    futures = compile_all(cases, options.workers, deadline)
    print(f"{len(cases)} cases, {len(futures)} binaries, {deadline - time.time():.0f} s left", flush=True)

    bench = Bench(files)
    gc.collect()
    gc.freeze()
    gc.disable()  # a collection between capture and replay would cost more than the measurement
    started, measured = time.time(), 0
    for number, case in enumerate(cases):
        if time.time() > deadline - (TORCH_SECONDS if options.only in TORCH_STEPS else 0):
            break
        needed = [futures[compiled.identity(launch)] for launch in case.launches]
        error = next((text for future in needed if (text := outcome(future))), "")
        if error:
            files.line("errors.txt", f"{case.key} | {error}")
        else:
            measured += guarded(files, case.key, lambda case=case: bench.case(case))
        if number == 40 and measured < 10:
            print("almost nothing works: see errors.txt", flush=True)
            os._exit(1)
        if number % 500 == 499:
            gc.collect()
            print(f"{number + 1} cases after {time.time() - started:.0f} s", flush=True)
    import torch_ops

    operations = torch_ops.operations()[:: TORCH_STEPS.get(options.only, 1)] if options.only in TORCH_STEPS else []
    print(f"{len(operations)} torch operations after {time.time() - started:.0f} s", flush=True)
    for operation in operations:
        key = f"torch,{operation.op},{operation.dtype},{operation.shape}"
        if key in done:
            continue
        if time.time() > deadline:
            print("deadline", flush=True)
            break
        guarded(files, key, lambda operation=operation: bench.operation(operation))
    print(f"finished after {time.time() - started:.0f} s", flush=True)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
