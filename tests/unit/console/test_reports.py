"""Reports of one kind stand side by side, place by place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from weft.console.reports import read_report, side_by_side
from weft.errors import UsageError


def written(path: Path, value: Any) -> Path:
    """A file of JSON."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_numbers__are_found_by_their_places(tmp_path: Path) -> None:
    """Lists of things by what these are called; curves are left out, and what is not known is said to be so."""
    value = {
        "kind": "weft report",
        "totals": {"pages": 12_345, "share": 0.25, "good": None},
        "status": [{"value": "404", "pages": 7}, {"value": "200", "pages": 9}],
        "curve": [1.0, 2.0, 3.0],
    }
    found = read_report(written(tmp_path / "a.json", value))
    assert found.kind == "weft report"
    assert found.numbers == {
        "totals.pages": "12,345",
        "totals.share": "0.25",
        "totals.good": "not known",
        "status.404.value": "404",
        "status.404.pages": "7",
        "status.200.value": "200",
        "status.200.pages": "9",
    }


def test_reports__of_one_kind_share_a_table(tmp_path: Path) -> None:
    """Those of others have their own; a folder stands for the summary in it."""
    first = written(tmp_path / "a.json", {"kind": "k", "pages": 1, "only": 2})
    (tmp_path / "b").mkdir()
    written(tmp_path / "b" / "summary.json", {"kind": "k", "pages": 3})
    other = written(tmp_path / "c.json", {"kind": "other", "x": 1})
    found = side_by_side([read_report(path) for path in (first, tmp_path / "b", other)])
    assert list(found) == ["k", "other"]
    names, lines = found["k"]
    assert names == [f"{tmp_path.name}/a.json", f"{tmp_path.name}/b"]
    assert {line.place: line.said for line in lines} == {"pages": ["1", "3"], "only": ["2", ""]}
    assert [line.place for line in lines if not line.alike] == ["pages", "only"]


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, "\udcff"])
def test_file__that_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    """With what to do; nothing else fails by it."""
    file = tmp_path / "x.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UsageError):
        read_report(file)
    with pytest.raises(UsageError, match="no report here"):
        read_report(tmp_path / "nothing")
