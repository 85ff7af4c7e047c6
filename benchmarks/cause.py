"""Whether the verdict on each measured pair names the right cause, and says no where nothing is to be gained.

    python benchmarks/cause.py [--scope gpu|call] [--pair NAME]...

A cause is right when the category is that of the pair's case.json and the blamed kernel or host function is the one named
there; the rule beside it is for the reader to judge. Sizes with a measured gain of at least 1.2 must have the right cause at
the top, sizes below 1.1 and every size of a negative must get a no. Exits 1 below 95 % of the former, or at any false yes.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from accuracy import PAIRS, UNCLEAR, WORTH, Case, cases_of

LEAST = 0.95


def report(cases: Sequence[Case]) -> tuple[str, bool]:
    """A table of pairs with the rules that answered them, the figures, and whether both demands hold."""
    gaining = [c for c in cases if c.measured >= WORTH and c.clear]
    idle = [c for c in cases if c.clear and (c.negative or c.measured < UNCLEAR)]
    right = [c for c in gaining if c.right_cause]
    false_yes = [c for c in idle if c.worth]
    lines = [f"{'pair':28} {'sizes >= 1.2x':14} {'right cause':12} rules at the top"]
    for pair in dict.fromkeys(c.pair for c in cases):
        here = [c for c in gaining if c.pair == pair]
        rules = Counter(c.rule if c.worth else "no" for c in here)
        told = ", ".join(f"{rule} {count}x" for rule, count in rules.most_common()) or "-"
        lines.append(f"{pair:28} {len(here):<14} {sum(c.right_cause for c in here):<12} {told}")
    lines += [
        "",
        f"right cause where the gain is at least {WORTH}x: {len(right)} of {len(gaining)}",
        f"no where the gain is below {UNCLEAR}x or the pair is a negative: {len(idle) - len(false_yes)} of {len(idle)}",
        *(f"  wrong cause: {c.pair} {c.size}: {c.rule} {c.category}, {c.symbol}" for c in gaining if not c.right_cause),
        *(f"  false yes: {c.pair} {c.size}: {c.rule}" for c in false_yes),
    ]
    return "\n".join(lines), not false_yes and len(right) >= LEAST * len(gaining)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scope", choices=("gpu", "call"), default="gpu")
    parser.add_argument("--pair", action="append")
    options = parser.parse_args(arguments)
    pairs = options.pair or sorted(p.name for p in PAIRS.iterdir() if p.is_dir())
    with ProcessPoolExecutor(max_workers=2) as pool:
        cases = [case for found in pool.map(cases_of, pairs, [options.scope] * len(pairs)) for case in found]
    text, good = report(cases)
    print(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
