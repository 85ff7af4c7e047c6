"""Whether reported programs (``fixtures/reported``) are answered rightly by the installed command.

    python benchmarks/reported.py

Prints a line for each and ends with status 1 where an answer is another one. The tests ask the same of the library.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

COMMAND = Path(sys.executable).with_name("kernlint")
REPORTED = Path(__file__).parents[1] / "fixtures" / "reported"

#: Slow programs, each with its mended version, and whether they are worth it. The last mended one is answered "yes": it still writes an
#: fp32 product of 117 MB that its next step adds up, and by the bytes could take half as long, which nobody has measured.
SLOW = {
    "02-token-quant-few-programs": ("yes", "no"),
    "04-latent-expand-serial-chunks": ("yes", "no"),
    "06-requant-grid-geometry": ("yes", "no"),
    "08-expert-fill-one-program": ("yes", "no"),
    "10-column-sum-strided": ("yes", "no"),
    "12-rmsnorm-two-pass": ("yes", "no"),
}

#: What is told of each wrong program, by rule, and at which level.
WRONG = {
    "cases/14-partial-block-absmax/bad.py": ("KL737", "warning"),
    "cases/16-group-scale-per-tile/bad.py": ("KL797", "error"),
    "cases/18-conv-grad-lost-update/bad.py": ("KL758", "error"),
    "cases/20-floor-grid-tail/bad.py": ("KL747", "error"),
    "cases/22-pointer-overshoot/bad.py": ("KL798", "warning"),
    "cases/24-branch-type/bad.py": ("KL711", "error"),
    "cases/26-block-offset-missing/bad.py": ("KL796", "error"),
    "faults/m1_dtype_call.py": ("KL729", "error"),
    "faults/m2_multiple_of_rank.py": ("KL708", "error"),
    "faults/m3_config_attribute.py": ("KL795", "error"),
    "faults/m4_cache_modifier.py --target-triton 3.3": ("KL801", "error"),
    "faults/m5_autotune_called_on_kernel.py": ("KL795", "error"),
    "faults/m6_shared_memory_all_configs.py --device rtx-4090": ("KL207", "error"),
    "faults/p6_launch_in_try.py": ("KL709", "warning"),
}

#: What is not told of programs in which it is no fault.
RIGHT = {
    **{f"cases/{path.parent.name}/good.py": ("error",) for path in sorted(REPORTED.glob("cases/*/good.py"))},
    "cases/14-partial-block-absmax/bad.py": ("KL747",),
    "faults/p1_while_unknown.py": ("KL715", "KL751"),
    "faults/p2_zeros_autotuned_grid.py": ("KL302",),
    "faults/p3_gate_slots.py": ("KL759",),
    "faults/p4_pointers_walk_back.py": ("KL741",),
    "faults/p5_seed_int.py": ("KL782",),
    "faults/p7_while_loop_mlp.py --reference faults/p7_while_loop_mlp_reference.py": ("KL793",),
    "faults/p8_shared_memory_overestimated.py --reference faults/p8_shared_memory_overestimated_reference.py --device rtx-4090 "
    "--target-triton 3.3": ("KL207",),
    "faults/t1_nested_list_repr.py": ("error", "KL902"),
}


def answered(*arguments: str) -> str:
    return subprocess.run([COMMAND, *arguments], cwd=REPORTED, capture_output=True, text=True, check=False).stdout


def worth(case: str, version: str) -> str:
    return str(
        json.loads(answered(f"cases/{case}/{version}.py", "--reference", f"cases/{case}/reference.py"))[
            "worth_optimizing"
        ]
    )


def told(given: str) -> dict[str, str]:
    """The findings of ``given``, a file with options, by rule, each at its highest level."""
    found = json.loads(
        answered("check", *given.split(), "--isolated", "--no-cache", "--exit-zero", "--output-format", "json")
    )
    levels = ("info", "warning", "error")
    return {one["code"]: one["severity"] for one in sorted(found, key=lambda one: levels.index(one["severity"]))}


def main() -> int:
    wrong = 0

    def say(what: str, answer: object, right: bool) -> None:
        nonlocal wrong
        wrong += not right
        print(f"{'ok   ' if right else 'WRONG'} {what}: {answer}", flush=True)

    for case, wanted in SLOW.items():
        for version, answer in zip(("bad", "good"), wanted):
            found = worth(case, version)
            say(f"{case}/{version}.py", found, found == answer)
    for given, (code, level) in WRONG.items():
        levels = told(given)
        say(given, f"{code} {levels.get(code)}", levels.get(code) == level)
    for given, silent in RIGHT.items():
        levels = told(given)
        say(given, levels or "silent", not _any_of(silent, levels))
    print(f"{wrong} wrong")
    return int(wrong > 0)


def _any_of(silent: Sequence[str], levels: dict[str, str]) -> bool:
    return any(one in levels or one in levels.values() for one in silent)


if __name__ == "__main__":
    raise SystemExit(main())
