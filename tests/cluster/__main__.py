"""`python -m tests.cluster --seed N [--seeds A:B] [--trace]`: run seeds, and say what was broken.

With `--mutant NAME` a bug is put in first; `all` tries each of them, and stops at the first seed that finds it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.cluster.mutants import MUTANTS, mutated
from tests.cluster.run import Result, run_seed


def show(result: Result, *, trace: bool) -> None:
    """Say what came of a seed."""
    for line in result.lines if trace else ():
        print(line)  # noqa: T201
    said = f"{result.pages} pages, {result.sites} sites, {result.workers} workers, {sum(result.faults.values())} faults"
    print(f"seed {result.seed}: {said}, {result.seconds:.1f} s, {result.steps} steps, trace {result.trace[:16]}")  # noqa: T201
    for broken in result.broken:
        print(f"  broken {broken}")  # noqa: T201
    if result.broken:
        print(f"  repeat it: python -m tests.cluster --seed {result.seed} --trace")  # noqa: T201


def hunt(names: list[str], seeds: range) -> int:
    """Which seed finds which bug?"""
    missed = 0
    for name in names:
        with mutated(name):
            result = next((found for found in map(run_seed, seeds) if found.broken), None)
        missed += result is None
        said = "not found" if result is None else f"seed {result.seed}: {result.broken[0][:160]}"
        print(f"{name}: {said}", flush=True)  # noqa: T201
    return 1 if missed else 0


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seeds", default="", help="A:B, without B")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--mutant", default="", help="; ".join(MUTANTS))
    given = parser.parse_args()
    first, _, behind = given.seeds.partition(":")
    seeds = range(int(first), int(behind)) if given.seeds else range(given.seed or 0, (given.seed or 0) + 1)
    if given.mutant:
        return hunt(list(MUTANTS) if given.mutant == "all" else [given.mutant], seeds)
    failed, kinds = [], Counter[str]()
    for seed in seeds:
        result = run_seed(seed, keep=given.trace)
        kinds.update(set(result.faults))
        if result.broken or not given.seeds:
            show(result, trace=given.trace)
        if result.broken:
            failed.append(seed)
    if given.seeds:
        print(f"{len(failed)} of {len(seeds)} seeds failed: {failed}")  # noqa: T201
        print("seeds by kind of fault: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
