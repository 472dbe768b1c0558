"""The crawl log: one line a fetch."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from weft.cli.log import log as show
from weft.errors import WeftError
from weft.events import Fault, Fetched
from weft.model import NO_ID, Kind, Outcome, Page, PageNumber, Parsed, Reason, Turn, UrlId
from weft.store.log import FIELDS, CrawlLog, Form, as_json, fields_of, json_line, log_line

PAGE = Page(
    "http://a/x",
    200,
    None,
    b"GET",
    b"HTTP",
    {},
    b"hello",
    "",
    "192.0.2.1",
    "",
    1.0,
    1_700_000_000.5,
    0.1234,
    closed=False,
)
OUTCOME = Outcome(
    Turn(PageNumber(3), UrlId(5), "http://a/x?q=%C3%A9", 2, Kind.REDIRECT, UrlId(2**64 - 2), 1),
    PAGE,
    Parsed("text/html", "", "", "", "", [], [], follow=True, reason=None),
    None,
)
EVENT = Fetched(OUTCOME, "a", 7, "sha1:ABC", duplicate=False)


def fields(event: Fetched) -> dict[str, str]:
    """A line by its documented fields."""
    line = log_line(event)
    assert line.endswith("\n")
    return dict(zip(FIELDS, line.removesuffix("\n").split("\t"), strict=True))


def test_line__has_the_documented_fields() -> None:
    """Each in its place, tab-separated."""
    assert fields(EVENT) == {
        "time": "2023-11-14T22:13:20.500000Z",
        "result": "200",
        "bytes": "5",
        "took": "0.123",
        "kind": "redirect",
        "depth": "2",
        "attempt": "1",
        "url": "http://a/x?q=%C3%A9",
        "type": "text/html",
        "address": "192.0.2.1",
        "digest": "sha1:ABC",
        "via": "-2",
    }


@pytest.mark.parametrize(
    ("status", "reason", "final", "result"),
    [
        (200, None, True, "200"),
        (404, Reason.STATUS_4XX, True, "404 status-4xx"),
        (503, Reason.STATUS_5XX, False, "503 status-5xx retry"),
        (0, Reason.CONNECT_REFUSED, False, "- connect-refused retry"),
        (0, Reason.ROBOTS, True, "- robots"),
        (302, None, False, "302 retry"),
    ],
)
def test_result__is_status_reason_and_whether_it_is_tried_again(
    status: int, reason: Reason | None, final: bool, result: str
) -> None:
    """A dash stands for a status that never came."""
    page = msgspec.structs.replace(PAGE, status=status)
    outcome = msgspec.structs.replace(OUTCOME, page=page, reason=reason, final=final)
    event = msgspec.structs.replace(EVENT, outcome=outcome)
    assert fields(event)["result"] == result


def test_line__of_a_fetch_that_never_took_place_is_whole() -> None:
    """What is not known is a dash or a zero, and no field is missing."""
    page = Page("http://a/", 0, Reason.DNS_FAILED, b"", b"", {}, b"", "", "", "", 0.0, 1.0, 0.0, closed=True)
    turn = Turn(PageNumber(3), UrlId(5), "http://a/", 0, Kind.SEED, NO_ID, 3)
    line = fields(Fetched(Outcome(turn, page, None, Reason.DNS_FAILED), "a", 1, "", duplicate=False))
    assert (line["type"], line["address"], line["digest"], line["via"]) == ("-", "-", "-", "0")


def test_log__is_written_when_flushed_and_appended_to(tmp_path: Path) -> None:
    """Lines wait in memory until then; a later run goes on in the same file; other events leave no line."""
    path = tmp_path / "log" / "crawl.log"
    for run in range(2):
        log = CrawlLog(path)
        log.on_event(EVENT)
        log.on_event(Fault(ZeroDivisionError(), "x"))
        assert path.read_text().count("\n") == 2 * run
        log.flush()
        assert path.read_text().count("\n") == 2 * run + 1
        log.on_event(EVENT)
        log.close()
    assert path.read_text() == log_line(EVENT) * 4


def test_log__on_a_full_disk_says_what_to_do() -> None:
    """And gives its file back all the same."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this machine has no /dev/full")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    log = CrawlLog(full)
    log.on_event(EVENT)
    with pytest.raises(WeftError) as caught:
        log.close()
    assert (caught.value.what, caught.value.where) == ("cannot write: No space left on device", "/dev/full")
    assert "make room" in caught.value.todo
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_json__has_the_same_fields_and_what_the_result_is_made_of() -> None:
    """One object a line; what is not known is null, and an id is a text."""
    page = msgspec.structs.replace(PAGE, status=0, address="")
    outcome = msgspec.structs.replace(OUTCOME, page=page, parsed=None, reason=Reason.TIMEOUT, final=False)
    failed = msgspec.structs.replace(EVENT, outcome=outcome, digest="")
    for event in (EVENT, failed):
        line = json_line(event)
        assert line.endswith("}\n")
        assert line.count("\n") == 1
        found, text = json.loads(line), fields(event)
        assert list(found)[: len(FIELDS)] == list(FIELDS)
        for name in FIELDS:
            known = None if text[name] == "-" else text[name]
            assert (None if found[name] is None else type(found[name])(known or "")) == found[name], name
    parts = {name: found[name] for name in ("status", "reason", "cut", "retry")}
    assert parts == {"status": None, "reason": "timeout", "cut": None, "retry": True}


def test_json__can_have_whatever_a_server_says() -> None:
    """Quotes, and halves of characters, are no end of an object."""
    assert OUTCOME.parsed is not None
    parsed = msgspec.structs.replace(OUTCOME.parsed, type='text/"x\ud800\t\x01')
    event = msgspec.structs.replace(EVENT, outcome=msgspec.structs.replace(OUTCOME, parsed=parsed))
    assert json.loads(json_line(event))["type"] == 'text/"x?\t\x01'


def test_fields__are_the_same_in_both_forms() -> None:
    """Who reads a log need not know how it was written; what is not whole is no line."""
    text, line = log_line(EVENT).rstrip("\n"), json_line(EVENT).rstrip("\n")
    assert fields_of(text) == fields_of(line) == text.split("\t")
    assert as_json(fields_of(text)) == line
    for broken in (text[:-20], line[:-20], "", "{}", "{", "x"):
        assert fields_of(broken) == []


def test_log__may_change_its_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A crawl goes on in the other form, also after its log was moved away: `weft log` shows all of it, in order."""
    path = tmp_path / "log" / "crawl.log"
    (tmp_path / "crawl.toml").write_text("", encoding="utf-8")
    forms: list[Form] = ["json", "text", "json", "text"]
    for run, form in enumerate(forms):
        log = CrawlLog(path, form=form)
        page = msgspec.structs.replace(PAGE, fetched_at=1_700_000_000.0 + run)
        turn = msgspec.structs.replace(OUTCOME.turn, url=f"http://a/{run}")
        log.on_event(msgspec.structs.replace(EVENT, outcome=msgspec.structs.replace(OUTCOME, page=page, turn=turn)))
        log.close()
        if run < 3:
            path.rename(path.with_name(f"crawl.log.{'dbca'[run]}"))
    show(tmp_path)
    shown = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[FIELDS.index("url")] for line in shown] == [f"http://a/{run}" for run in range(4)]
    show(tmp_path, json=True, last=2)
    assert [json.loads(line)["url"] for line in capsys.readouterr().out.splitlines()] == ["http://a/2", "http://a/3"]
    show(tmp_path, site="b")
    assert capsys.readouterr().out == ""
