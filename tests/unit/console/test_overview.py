"""The overview of a crawl says what its status knows."""

from __future__ import annotations

import msgspec
from tests.unit.operations.made import snapshot

from weft.console.overview import overview_of


def test_overview__says_what_the_status_knows() -> None:
    """Rates, sizes, sites by list, errors by reason, and every worker and node."""
    status = snapshot().status
    found = overview_of(status, {"pages": [1.0], "bytes": [2.0]})
    assert found.values["pages"] == f"{status.pages:,}"
    assert found.values["pages_rate"] == "12.5"
    assert found.values["bytes_rate"] == "12.5 kB/s"
    assert found.values["memory"] == "100.0 MB"
    assert [[cell.text for cell in row] for row in found.tables["lists"]] == [
        ["to crawl", "4"],
        ["being crawled", "3"],
        ["crawled", "2"],
        ["set aside", "1"],
    ]
    assert {row[0].text: row[1].text for row in found.tables["errors"]} == {
        name: f"{count:,}" for name, count in status.errors.items()
    }
    assert len(found.tables["workers"]) == len(status.workers)
    assert len(found.tables["nodes"]) == len(status.nodes)
    assert found.tone == "bad", "it stalls"


def test_overview__has_bars_by_the_largest() -> None:
    """So that shares are seen."""
    rows = overview_of(snapshot().status, {}).tables["lists"]
    assert [row[1].bar for row in rows] == [1.0, 0.75, 0.5, 0.25]


def test_overview__names_what_is_wrong() -> None:
    """A full disk, a worker that is left out, faults: what an operator must see is at the top."""
    texts = [row[0].text for row in overview_of(snapshot().status, {}).tables["troubles"]]
    assert any("nearly full" in text for text in texts)
    assert any("left out" in text for text in texts)
    assert any("weft itself failed" in text for text in texts)


def test_overview__goes_into_an_event_as_one_line() -> None:
    """An event ends with an empty line: what comes from elsewhere can begin none of its own."""
    status = snapshot().status
    status.stopped = {"a\n\ndata: evil": "barren\r\n\r\n"}
    text = msgspec.json.encode(overview_of(status, {}))
    assert b"\n" not in text
    assert b"\r" not in text
