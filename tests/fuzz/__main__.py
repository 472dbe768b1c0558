"""`python -m tests.fuzz TARGET … [--seconds N | --inputs N] [--seed N]`: fuzz targets, and say what they failed on.

Half of the time goes to inputs by a grammar, half to changed bytes. `all` stands for every target; `--input FILE` tries
one input, `--engine` takes one way alone.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.corpora import DATA
from tests.fuzz.target import NAMES
from tests.fuzz.watching import BYTES, Result, run


def show(result: Result) -> bool:
    """Say what came of it; was it good?"""
    print(result.said, end="") if result.failed else None  # noqa: T201
    print(result, flush=True)  # noqa: T201
    return not result.failed


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "targets", nargs="+", choices=[*NAMES, "all"], metavar="TARGET", help=", ".join([*NAMES, "all"])
    )
    parser.add_argument("--seconds", type=float, help="for each target; 60")
    parser.add_argument("--inputs", type=int, help="for each target and engine, in place of seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=["grammar", "mutation", "atheris"])
    parser.add_argument("--input", type=Path, help="a file to be tried alone")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    given = parser.parse_args()
    good = True
    for target in NAMES if "all" in given.targets else given.targets:
        if given.input is not None:
            good &= show(run(target, "input", single=given.input.resolve()))
            continue
        engines = [given.engine] if given.engine else ["grammar", BYTES]
        seconds = None if given.inputs is not None else (given.seconds or 60.0) / len(engines)
        for engine in engines:
            good &= show(run(target, engine, seconds=seconds, inputs=given.inputs, seed=given.seed, data=given.data))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
