"""Crawls of other formats: those that a step leads from go on, others are refused before anything is changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from weft import upgrading
from weft.directory import FORMAT
from weft.errors import UsageError
from weft.upgrading import Step, bring_up, check_format


@pytest.mark.parametrize("said", [f"{FORMAT + 1}", f"{min(upgrading.STEPS) - 1}", "'4'", "0"])
def test_format__that_no_step_leads_from_is_refused(tmp_path: Path, said: str) -> None:
    """A later one, an earlier one, and what is no number."""
    (tmp_path / "crawl.toml").write_text(f"[crawl]\nformat = {said}\nversion = '0.1'\n", encoding="utf-8")
    with pytest.raises(UsageError, match="this crawl was begun by weft"):
        check_format(tmp_path)


def test_steps__are_taken_in_their_order_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the format that is there to ours; a crawl that has ours, or is not there yet, takes none."""
    taken: list[int] = []
    told: list[str] = []

    def noting(each: int) -> Callable[[Path], None]:
        return lambda _out: taken.append(each)

    for each in (FORMAT - 2, FORMAT - 1):
        monkeypatch.setitem(upgrading.STEPS, each, Step(also=noting(each)))
    check_format(tmp_path)
    bring_up(tmp_path, told.append)
    assert (taken, told) == ([], [])
    (tmp_path / "crawl.toml").write_text(f"[crawl]\nformat = {FORMAT - 2}\nversion = '0.1'\n", encoding="utf-8")
    check_format(tmp_path)
    bring_up(tmp_path, told.append)
    assert taken == [FORMAT - 2, FORMAT - 1]
    assert told == [f"this crawl was begun by weft 0.1, in format {FORMAT - 2}: it has format {FORMAT} now"]
