"""What the compiler made of a program's kernels, beside what the model takes them to be. Needs Triton and no GPU.

    python calibration/sass.py KERNEL.py [--reference REFERENCE.py] [--set N=4096]... [--device h200]

For each launch, the model's first: registers and stack of a thread, shared memory of a program, and the instructions that one warp issues
in the mean, by class. Where times are wrong, a count that is wrong says which part of the model to mend; what no count explains is
a matter of waiting.

A loop that ptxas has unrolled stands in SASS several times. How often is told by its loads, stores and matrix instructions, which PTX has
once: instructions are counted by the source line that they come from, divided by these copies and multiplied by the trips of the loops
around the line, as the model has them. Both arms of a branch count.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from kernlint.analysis import Request, read_program  # noqa: E402
from kernlint.cost.device import Device, find_device  # noqa: E402
from kernlint.cost.dot_launch import dot_loop, kernel_time  # noqa: E402
from kernlint.cost.dot_occupancy import registers_per_thread, resident_programs, shared_bytes, spilled_bytes  # noqa: E402
from kernlint.cost.programs.price import price_of  # noqa: E402
from kernlint.cost.traffic.accesses import traffic  # noqa: E402
from kernlint.verify.child.compiling import _jit, _read_cubin, _source  # noqa: E402
from kernlint.verify.launches import compile_jobs, facts_of, target_of  # noqa: E402
from kernlint.workload import Launch, Loop  # noqa: E402

#: Classes of SASS instructions by the beginning of their names, the first that fits.
CLASSES = {
    "load": ("LDG", "LDGSTS", "LD.", "UBLKCP"),
    "store": ("STG", "ST."),
    "atomic": ("RED.", "ATOM", "REDG"),
    "local": ("LDL", "STL"),
    "shared": ("LDS", "STS", "LDSM", "STSM", "ATOMS"),
    "barrier": ("BAR", "DEPBAR", "WARPSYNC", "LDGDEPBAR", "SYNCS"),
    "shuffle": ("SHFL", "REDUX"),
    "matrix": ("HGMMA", "HMMA", "IMMA", "QGMMA", "IGMMA", "DMMA", "WARPGROUP"),
    "special": ("MUFU",),
    "double": ("DADD", "DMUL", "DFMA", "DSETP"),
    "float": ("FADD", "FMUL", "FFMA", "FMNMX", "FSETP", "FSEL", "FSET", "HADD", "HMUL", "HFMA", "HMNMX", "HSET"),
    "convert": ("F2F", "F2I", "I2F", "I2I", "FRND", "PRMT", "I2FP", "F2FP"),
    "branch": ("BRA", "BSSY", "BSYNC", "CALL", "RET", "EXIT", "BREAK", "JMP"),
}
_UNIFORM = re.compile(r"^U[A-Z]|^R2UR|^S2UR")
#: What PTX and SASS both have once for each execution, by the class of the latter.
_LANDMARKS = {
    "load": re.compile(r"\b(?:ld\.global|cp\.async\.c[ag])"),
    "store": re.compile(r"\bst\.global"),
    "atomic": re.compile(r"\b(?:red|atom)\.global"),
    "matrix": re.compile(r"\b(?:mma\.sync|wgmma\.mma_async)"),
    "special": re.compile(r"\b(?:ex2|rcp|rsqrt|lg2|sin|cos|tanh)\.approx"),
    "shuffle": re.compile(r"\b(?:shfl|redux)\.sync"),
}


def class_of(name: str) -> str:
    """The class of the SASS instruction ``name``."""
    if _UNIFORM.match(name) and not name.startswith("UBLKCP"):
        return "uniform"
    return next((kind for kind, starts in CLASSES.items() if name.startswith(starts)), "integer")


@dataclass
class Lines:
    """How many instructions of each class come from each line of the source; 0 where it is not known."""

    found: dict[int, Counter[str]] = field(default_factory=dict)
    widths: Counter[str] = field(default_factory=Counter)

    def add(self, line: int, kind: str) -> None:
        self.found.setdefault(line, Counter())[kind] += 1


def sass_lines(text: str, source: str) -> Lines:
    """Instructions of ``nvdisasm -g -c``: those of other files (Triton's own functions) belong to the last line of ``source`` that
    stands in the same loops of the code, so that what follows a loop is not taken for a part of it."""
    rows: list[tuple[int, str]] = []  # the line, 0 in another file, and the name
    labels: dict[str, int] = {}
    jumps: list[tuple[int, str]] = []
    line = 0
    for row in text.splitlines():
        if place := re.search(r'//## File "(.*)", line (\d+)', row):
            line = int(place[2]) if place[1].endswith(source) else 0
        elif label := re.match(r"\s*(\.L_\w+):", row):
            labels[label[1]] = len(rows)
        elif made := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", row):
            rows.append((line, made[1]))
            if goal := re.search(r"\bBRA\b.*`\((\.L_\w+)\)", row):
                jumps.append((len(rows), goal[1]))
    loops = [range(labels[goal], end) for end, goal in jumps if labels.get(goal, end) < end]
    lines, last = Lines(), dict[tuple[int, ...], int]()
    for place, (line, name) in enumerate(rows):
        around = tuple(number for number, loop in enumerate(loops) if place in loop)
        line = last[around] = line or last.get(around, 0)
        if name != "NOP":
            lines.add(line, class_of(name))
        if class_of(name) in ("load", "store"):
            lines.widths[f"{name.split('.')[0]} {_width(name)}"] += 1
    return lines


def _width(name: str) -> str:
    """Bits that a thread moves by the access ``name``."""
    return next((part.lstrip("US") for part in name.split(".") if re.fullmatch(r"[US]?(8|16|64|128)", part)), "32")


def ptx_lines(text: str, source: str) -> Lines:
    """The landmarks of PTX, by line of ``source``."""
    files = {int(n): name for n, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.M)}
    lines, line = Lines(), 0
    for row in text.splitlines():
        if place := re.match(r"\s*\.loc\s+(\d+) (\d+)", row):
            line = int(place[2]) if files.get(int(place[1]), "").endswith(source) else line
        for kind, landmark in _LANDMARKS.items():
            if landmark.search(row):
                lines.add(line, kind)
    return lines


def copies(sass: Lines, ptx: Lines, lines: range) -> float:
    """How often SASS has the body of a loop in these ``lines``."""
    ratios = []
    for kind in _LANDMARKS:
        counts = [sum(one.found[line][kind] for line in lines if line in one.found) for one in (sass, ptx)]
        if counts[1]:
            ratios.append(counts[0] / counts[1])
    return max(1.0, min(ratios, default=1.0))


def executed(sass: Lines, ptx: Lines, loops: Mapping[range, float]) -> Counter[str]:
    """Instructions of a warp by class, where a loop over ``lines`` runs so many trips each time it is entered."""
    total: Counter[str] = Counter()
    for line, counts in sass.found.items():
        around = sorted((lines for lines in loops if line in lines), key=len)
        times = 1.0
        for lines in around:
            times *= loops[lines]
        times /= copies(sass, ptx, around[0]) if around else 1.0
        for kind, count in counts.items():
            total[kind] += count * times
    return total


def _loops(launch: Launch) -> dict[range, float]:
    """Trips of each loop by its lines."""
    trips = traffic(launch).trips
    return {
        range(loop.span.line, loop.span.end_line + 1): trips.get(loop.id, 1.0) for loop in launch.kernel.nodes(Loop)
    }


def binaries(path: Path, launches: list[dict[str, Any]], device: Device) -> Iterator[tuple[Any, str]]:
    """The compiled kernel and the SASS of each of the ``launches`` of the program at ``path``."""
    import triton
    from triton.backends.compiler import GPUTarget

    from kernlint.verify.child.modes import PretendCuda, pretend_cuda

    pretend_cuda(facts_of(device))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with PretendCuda():
        spec.loader.exec_module(module)
    target = target_of(device)
    tool = Path(triton.__file__ or "").parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    for launch in launches:
        source = _source(_jit(module, launch["kernel"]), launch)
        options = {"num_warps": launch["num_warps"], "num_stages": launch["num_stages"]}
        made = triton.compile(
            source, target=GPUTarget(target["backend"], target["arch"], target["warp_size"]), options=options
        )
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(made.asm["cubin"])
            file.flush()
            said = subprocess.run([str(tool), "-g", "-c", file.name], capture_output=True, text=True, check=True).stdout
        yield made, said


def counted(launch: Launch, device: Device) -> dict[str, float]:
    """What the model takes a launch to be."""
    loop = dot_loop(launch)
    if loop is not None:
        return {
            "registers": registers_per_thread(loop, device),
            "stack": spilled_bytes(loop, device) / (32 * launch.num_warps),
            "shared": shared_bytes(loop, device),
            "resident": resident_programs(loop, device),
        }
    price = price_of(launch, device)
    price.spent()
    warps = max(1, launch.num_warps)
    return {
        "registers": price.registers,
        "resident": price.resident,
        "issued": price.instructions / warps,
        "memory": sum(price.asking.values()) / warps,
        "float": price.arithmetic / warps,
        "special": (price.special + price.special_unit) / warps,
        "exchanged": price.exchanged / warps,
    }


def report(path: Path, reference: str | None, sizes: Mapping[str, int], device: Device) -> Iterator[str]:
    """Lines on the kernels of the program at ``path``."""
    reading = read_program(
        Request(path.read_text(), path=path.name, reference=reference, device=device.id, overrides=sizes)
    )
    for workload in reading.workloads:
        call = workload.first_call()
        jobs, refused = compile_jobs(call)
        yield from refused
        launches = {id(launch.kernel): launch for launch in call.launches()}
        for job, (made, said) in zip(jobs, binaries(path, jobs, device)):
            launch = next(one for one in launches.values() if one.kernel.name == job["kernel"])
            time = kernel_time(launch, device)
            yield f"{job['kernel']}, {launch.programs} programs of {job['num_warps']} warps: {time.us:.1f} us, {time.bound}"
            yield "  terms  " + " ".join(f"{name}={us:.3g}" for name, us in time.terms.items() if us > 0.01 * time.us)
            yield "  model  " + " ".join(f"{name}={value:.4g}" for name, value in counted(launch, device).items())
            sass, ptx = sass_lines(said, path.name), ptx_lines(made.asm["ptx"], path.name)
            counts = executed(sass, ptx, _loops(launch))
            total = sum(counts.values())
            taken = _read_cubin(made.asm["cubin"])
            yield (
                f"  sass   registers={taken['registers']} stack={taken['spill_bytes']} shared={made.metadata.shared} "
                f"issued={total:.4g} instructions={sum(sum(one.values()) for one in sass.found.values())}"
            )
            yield "         " + " ".join(f"{kind}={count:.4g}" for kind, count in counts.most_common())
            yield "         " + " ".join(f"{width}: {count}" for width, count in sorted(sass.widths.items()))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--set", nargs="*", default=[])
    parser.add_argument("--device", default="h200")
    args = parser.parse_args()
    sizes = {name: int(value) for name, value in (one.split("=") for one in args.set)}
    reference = args.reference.read_text() if args.reference else None
    print("\n".join(report(args.kernel, reference, sizes, find_device(args.device))))


if __name__ == "__main__":
    main()
