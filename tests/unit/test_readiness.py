"""Compiling ahead: done once, told while it lasts, and done again when anything changed that it came from."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from weft import readiness
from weft.cli.doctor import Part
from weft.readiness import PARTS, make_all_ready, make_ready

CHILD = "import sys; [print(n, {compiled}) for n in (1, 2, 3)]; open({runs!r}, 'a').write('x'); sys.exit({code})"


class Child:
    """A part whose compiling is played by a few lines of Python."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._runs = folder / "runs"
        self._folder = folder
        self._patch = patch
        self.lines: list[tuple[str, bool]] = []
        self.kept: list[str] = []
        patch.setenv("NUMBA_CACHE_DIR", str(folder / "cache"))
        patch.setenv("PYTHONPATH", str(folder))

    @property
    def runs(self) -> int:
        """How often it was started."""
        return len(self._runs.read_text()) if self._runs.exists() else 0

    def ready(self, *, compiled: int = 1, code: int = 0, force: bool = False) -> bool:
        """Make it ready."""
        (self._folder / "played.py").write_text(CHILD.format(compiled=compiled, runs=str(self._runs), code=code))
        self._patch.setitem(readiness.PARTS, "crawl", (2, ("played",)))
        return make_ready(
            "crawl",
            force=force,
            say=lambda text, final: self.lines.append((text, final)),
            keep=self.kept.append,
        )


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Child:
    """A part of its own."""
    return Child(tmp_path, monkeypatch)


def test_first_use__is_told_with_progress(child: Child) -> None:
    """That it compiles, how far it is, and that it is done."""
    assert child.ready()
    first, *between, last = child.lines
    assert "compiling" in first[0]
    assert [text for text, _ in between] == [
        "weft: crawl: 1 of 2 functions",
        "weft: crawl: 2 of 2 functions",
        "weft: crawl: 3 of 3 functions",
    ]
    assert last[1]
    assert not any(final for _, final in between)
    assert child.kept == [first[0], last[0]], "for the log of messages"


def test_second_use__starts_nothing_and_says_nothing(child: Child) -> None:
    """Unless it is asked for."""
    child.ready()
    said = len(child.lines)
    assert child.ready()
    assert child.runs == 1
    assert len(child.lines) == said
    assert child.ready(force=True)
    assert child.runs == 2


def test_full_cache__is_not_spoken_of(child: Child) -> None:
    """Nothing had to be compiled: the note is new, the cache is not."""
    assert child.ready(compiled=0)
    assert child.lines == []


def test_failure__leaves_it_to_the_next_start(child: Child) -> None:
    """It is not noted as done."""
    assert not child.ready(code=1)
    assert child.ready()
    assert child.runs == 2


def test_changed_sources__are_compiled_anew(child: Child, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another file, another time, another numba."""
    source = tmp_path / "package"
    source.mkdir()
    (source / "a.py").write_text("1")
    monkeypatch.setattr(readiness, "_HERE", source)
    child.ready()
    child.ready()
    assert child.runs == 1
    (source / "a.py").write_text("12")
    child.ready()
    assert child.runs == 2
    monkeypatch.setattr(readiness, "version", lambda _name: "0.0")
    child.ready()
    assert child.runs == 3


def test_all_parts__are_made_ready_and_the_others_too_where_one_fails(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each is started once, whichever lane it is in; lines of several at a time are whole and say whose they are."""
    made: list[str] = []

    def make(part: str, *, force: bool) -> bool:
        made.append(part)
        readiness._to_standard_error(f"weft: {part}: {force}", True)
        return part != "temporal"

    monkeypatch.setattr(readiness, "make_ready", make)
    assert make_all_ready() == ["temporal"]
    assert sorted(made) == sorted(PARTS)
    assert sorted(capfd.readouterr().err.splitlines()) == sorted(f"weft: {part}: True" for part in PARTS)
    assert make_all_ready(("crawl", "testbed")) == []
    assert sorted(made[len(PARTS) :]) == ["crawl", "testbed"]


def test_parts_of_the_command__are_those_there_are() -> None:
    """And each has its place in a lane."""
    assert get_args(Part) == tuple(PARTS)
    assert sorted(part for lane in readiness._LANES for part in lane) == sorted(PARTS)
