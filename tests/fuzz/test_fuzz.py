"""What reads bytes of others holds its promises whatever they are: no crash, no hang, bounded memory.

`make test` gives each target the same few hundred inputs every time, in this process. `make soak` gives it inputs for
ten minutes, in a process in which compiled code checks its bounds.
"""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.fuzz.corpora import DATA
from tests.fuzz.mutation import inputs, shrunk
from tests.fuzz.target import NAMES, load
from tests.fuzz.watching import BYTES, OWN, run

MUTATED, GRAMMAR = 250, 100
SECONDS = 600.0


@pytest.mark.parametrize("name", NAMES)
def test_target__holds_for_inputs_that_chance_makes(name: str, tmp_path: Path) -> None:
    """Of inputs of our own, so that they are the same everywhere."""
    target = load(name)
    for data in islice(inputs(list(target.own), target.words, random.Random(1), 4_000), MUTATED):
        try:
            target.check(data)
        except Exception as error:
            path = tmp_path / "failing"
            path.write_bytes(data)
            error.add_note(f"try it again: python -m tests.fuzz {name} --input {path}")
            raise


@pytest.mark.parametrize("name", NAMES)
def test_target__holds_for_inputs_by_a_grammar(name: str) -> None:
    """Hypothesis shows the smallest that fails."""
    target = load(name)
    few = settings(max_examples=GRAMMAR, suppress_health_check=list(HealthCheck), database=None)
    few(given(target.grammar())(target.check))()


@pytest.mark.parametrize(
    ("said", "told"),
    [("raise", "ZeroDivisionError"), ("abort", "SIGABRT"), ("hang", "too much processor time"), ("grow", "has grown")],
)
def test_failure__is_found_and_its_input_kept(said: str, told: str, tmp_path: Path) -> None:
    """Whether the process lives to tell of it or not. Only who hangs is short of time: new memory may be slow."""
    given_input = tmp_path / "input"
    given_input.write_bytes(b"x" + said.encode())
    most = 0.5 if said == "hang" else 60
    result = run("doomed", "input", single=given_input, own=tmp_path / "own", further=(f"--most-cpu={most}",))
    assert told in result.failed + result.said, result.said
    (kept,) = (tmp_path / "own").glob("doomed-*")
    assert kept.read_bytes() == given_input.read_bytes()
    assert f"python -m tests.fuzz doomed --input {kept}" in result.failed


@pytest.mark.parametrize("engine", ["grammar", "mutation"])
def test_failing_input__is_made_small(engine: str, tmp_path: Path) -> None:
    """Both engines find it by themselves."""
    result = run("doomed", engine, inputs=2_000, own=tmp_path / "own", further=("--most-cpu=60",))
    assert "ZeroDivisionError" in result.said
    (kept,) = (tmp_path / "own").glob("doomed-*")
    assert kept.read_bytes() == b"raise"


def test_shrunk__leaves_out_what_does_not_matter() -> None:
    """Stretches first, then bytes."""
    assert shrunk(lambda data: data.count(b"a") > 2, b"xaxx" * 100) == b"aaa"


@pytest.mark.soak
@pytest.mark.timeout(3 * SECONDS)
@pytest.mark.parametrize("engine", ["grammar", BYTES])
@pytest.mark.parametrize("name", NAMES)
def test_target__holds_for_ten_minutes(name: str, engine: str) -> None:
    """Half of them for inputs that are nearly right, half for changed bytes of real ones."""
    result = run(name, engine, seconds=SECONDS / 2, own=OWN)
    data = "" if DATA.is_dir() else "; no real data beside this checkout: of inputs of our own alone"
    print(f"\n{result}{data}\n{result.said}")  # noqa: T201  `make soak` shows it
    assert not result.failed, result.said
    assert result.tried > 0
