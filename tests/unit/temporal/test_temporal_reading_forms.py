"""Logs of all forms are understood, and what is wrong with them is said with file and line."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from weft.clock import VirtualClock
from weft.errors import UsageError
from weft.temporal.reading import Reading, Taken, read_views
from weft.temporal.reading.times import of_numbers, of_texts
from weft.temporal.views import Views

NOW = VirtualClock(datetime(2026, 6, 1, tzinfo=UTC).timestamp())

SQUID = """\
1772409600.250      5 10.0.0.1 TCP_MISS/200 1054 GET http://a.example/page - DIRECT/192.0.2.1 text/html
1772409601.000   1205 10.0.0.1 TCP_MISS/200 1054 GET http://a.example/page anna DIRECT/192.0.2.1 text/html
1772409602.000      5 10.0.0.2 TCP_HIT/304 0 GET http://a.example/page - NONE/- -
1772409603.000      5 10.0.0.2 TCP_MISS/200 99 GET http://a.example/picture?id=7 - DIRECT/192.0.2.1 image/png
1772409604.000      5 10.0.0.2 TCP_MISS/200 99 GET http://a.example/style.CSS?v=3 - DIRECT/192.0.2.1 -
1772409605.000      5 10.0.0.2 TCP_TUNNEL/200 99 CONNECT a.example:443 - DIRECT/192.0.2.1 -
1772409606.000      5 10.0.0.2 TCP_MISS/404 99 GET http://a.example/gone - DIRECT/192.0.2.1 text/html
1772409607.000      5 10.0.0.2 TCP_MISS/200 99 POST http://a.example/form - DIRECT/192.0.2.1 text/html
"""

COMBINED = """\
10.0.0.1 - - [02/Mar/2026:00:00:00 +0000] "GET /page HTTP/1.1" 200 1054 "http://b.example/" "Mozilla (X; \\"Y\\")"
10.0.0.1 - bob [02/Mar/2026:01:00:00 +0100] "GET /page HTTP/2" 304 - "-" "Lynx"
10.0.0.1 - - [02/Mar/2026:00:00:05 +0000] "GET http://c.example/other HTTP/1.1" 200 1 "-" "Lynx"
10.0.0.1 - - [02/Mar/2026:00:00:06 +0000] "GET /a.js HTTP/1.1" 200 1 "-" "Lynx"
10.0.0.1 - - [02/Mar/2026:00:00:07 +0000] "HEAD /page HTTP/1.1" 200 1 "-" "Lynx"
10.0.0.1 - - [02/Mar/2026:00:00:08 +0000] "-" 408 - "-" "-"
10.0.0.1 - - [02/Mar/2026:00:00:09 +0000] "GET /page HTTP/1.1" 500 1 "-" "Lynx"
"""


def read(logs: list[Path] | Path, **options: Any) -> tuple[Views, Taken]:
    """Views of all pages, on the first of June."""
    logs = [logs] if isinstance(logs, Path) else logs
    return read_views(logs, Reading(**{"floor": 1, "threads": 1} | options), clock=NOW)


def counts(views: Views) -> dict[str, int]:
    """Views by page."""
    return dict(zip(views.urls.to_pylist(), views.totals().tolist(), strict=True))


def written(path: Path, text: str | bytes) -> Path:
    """A file with this in it."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd"])
def test_squid__gives_pages_that_were_fetched(tmp_path: Path, packing: str) -> None:
    """GETs of pages that were answered are views; the proxy's name for a user goes before the address."""
    text = SQUID.encode()
    packed = {"plain": text, "gzip": gzip.compress(text), "zstd": zstandard.compress(text)}[packing]
    views, taken = read(written(tmp_path / "access.log", packed))
    assert counts(views) == {"http://a.example/page": 3}
    assert (taken.rows, taken.broken, taken.other_methods, taken.failed, taken.embedded) == (8, 0, 2, 1, 2)


def test_combined__takes_the_host_that_is_given(tmp_path: Path) -> None:
    """Targets are of the given host unless they are whole URLs, as proxies log them; address and agent are the user."""
    views, taken = read(written(tmp_path / "access.log", COMBINED), host="https://a.example")
    assert counts(views) == {"http://c.example/other": 1, "https://a.example/page": 2}
    assert (taken.rows, taken.broken, taken.other_methods, taken.failed, taken.embedded) == (7, 0, 2, 1, 1)
    assert views.first.tolist() == [5, 0]


def test_combined__takes_the_virtual_host_of_the_line(tmp_path: Path) -> None:
    """A host in front of the line goes before the one that is given; port 443 means https."""
    hosts = ["www.a.example:80", "www.a.example", "b.example:443", "b.example:443", "x", "x", "x"]
    lines = [f"{host} {line}" for host, line in zip(hosts, COMBINED.splitlines(), strict=True)]
    views, _ = read(written(tmp_path / "access.log", "\n".join(lines)), host="never.example")
    assert counts(views) == {"http://c.example/other": 1, "http://www.a.example/page": 2}


def test_combined__is_not_misled_by_names_with_spaces(tmp_path: Path) -> None:
    """A user called `bob the builder` does not make the address in front of him a host."""
    lines = [
        *COMBINED.splitlines()[:2],
        COMBINED.splitlines()[1].replace("bob", "bob the builder").replace("Lynx", "w3m"),
    ]
    views, taken = read(written(tmp_path / "access.log", "\n".join(lines)), host="a.example")
    assert (counts(views), taken.broken) == ({"http://a.example/page": 3}, 0)


def test_combined__may_lack_referrer_and_agent(tmp_path: Path) -> None:
    """The Common log format is the same without its last two fields."""
    line = '10.0.0.{} - - [02/Mar/2026:00:00:00 +0000] "GET / HTTP/1.0" 200 1\n'
    log = written(tmp_path / "access.log", line.format(1) + line.format(2) + line.format(1))
    assert counts(read(log, host="a.example")[0]) == {"http://a.example/": 2}


def test_combined__without_any_host_is_refused(tmp_path: Path) -> None:
    """A log of targets only needs the host, and says so."""
    log = written(tmp_path / "access.log", COMBINED.replace("http://c.example", ""))
    with pytest.raises(UsageError, match=r"does not name the host .*access\.log.*--host"):
        read(log)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"], ids=["comma", "semicolon", "tab", "bar"])
def test_csv__is_read_with_any_delimiter(tmp_path: Path, delimiter: str) -> None:
    """The delimiter is that of the header; fields may be quoted; byte order marks and returns are no part of them."""
    lines = [["more", "url", "ts", "user"], ["", '"http://a.example/?a=""x"",y"', "2026-03-02 10:00", '"u;,|"']]
    text = "\ufeff" + "".join(delimiter.join(line) + "\r\n" for line in lines)
    views, taken = read(written(tmp_path / "log.csv", text))
    assert counts(views) == {"http://a.example/?a=%22x%22,y": 1}
    assert (taken.rows, taken.broken, views.first.tolist()) == (1, 0, [36_000])


def test_broken_lines__are_counted_and_named(tmp_path: Path) -> None:
    """Each broken line has its number and its reason; the others count."""
    lines = [
        "user,ts,url",
        "u,2026-03-02,http://a.example/",
        "u,2026-03-02",
        "",
        "u,yesterday,http://a.example/",
        "u,2026-07-01,http://a.example/",
        ",2026-03-02,http://a.example/",
        "u,2026-03-02,",
        'u,2026-03-02,"http://a.example/',
        "u,2026-03-02,http://a.example/\x01",
        "u,2026-03-02,http://a.example/,more",
        "v,2026-03-02,http://a.example/",
    ]
    views, taken = read(written(tmp_path / "log.csv", "\n".join(lines)))
    assert views.count.tolist() == [2]
    assert (taken.rows, taken.broken) == (10, 8)
    assert taken.examples == [
        "log.csv, line 3: it has not the fields that it should have",
        "log.csv, line 5: the time cannot be read",
        "log.csv, line 6: the time lies in the future",
        "log.csv, line 7: it does not say who the user is",
        "log.csv, line 8: it does not say which page it is",
        "log.csv, line 9: a quotation mark is not closed",
        "log.csv, line 10: there are control characters in it",
        "log.csv, line 11: it has not the fields that it should have",
    ]


def test_examples__are_few(tmp_path: Path) -> None:
    """A log full of broken lines is counted whole and shown in part."""
    log = written(tmp_path / "log.csv", "user,ts,url\nu,2026-03-02,http://a.example/\n" + "u,x,y\n" * 500)
    _, taken = read(log)
    assert (taken.broken, len(taken.examples)) == (500, 20)


def test_mixed_forms__in_one_file_are_broken_lines(tmp_path: Path) -> None:
    """What changes its form in the middle is read as what it was at first."""
    log = written(tmp_path / "access.log", SQUID + COMBINED)
    views, taken = read(log)
    assert (counts(views), taken.broken) == ({"http://a.example/page": 3}, 7)
    assert taken.examples[0].startswith("access.log, line 9: ")


def test_mixed_forms__over_files_are_fine(tmp_path: Path) -> None:
    """Every file has its own form."""
    logs = [written(tmp_path / "squid", SQUID), written(tmp_path / "combined", COMBINED)]
    assert counts(read(logs, host="a.example")[0]) == {"http://a.example/page": 5, "http://c.example/other": 1}


def test_json_lines__name_what_is_missing(tmp_path: Path) -> None:
    """Lines that are no objects, or lack something, are broken; numbers may be users and times."""
    lines = [
        '{"user": 7, "ts": 1772409600, "url": "http://a.example/", "more": [1, {}]}',
        '{"user": "7", "ts": "2026-03-02T12:00:00Z", "url": "http://a.example/"}',
        '{"user": "8", "ts": null, "url": "http://a.example/"}',
        '{"ts": 1772409600, "url": "http://a.example/"}',
        '{"user": [8], "ts": 1772409600, "url": "http://a.example/"}',
        '{"user": "\\ud800", "ts": 1772409600, "url": "http://a.example/"}',
        "[1, 2]",
    ]
    views, taken = read(written(tmp_path / "log.jsonl", "\n".join(lines)))
    assert (views.count.tolist(), taken.broken) == ([1], 5)
    assert taken.examples[:2] == [
        "log.jsonl, line 3: the time cannot be read",
        "log.jsonl, line 4: it does not say who the user is",
    ]


def test_parquet__names_broken_rows(tmp_path: Path) -> None:
    """Rows with nothing in them, and such of the future, are counted and named; text may be a time."""
    log = tmp_path / "log.parquet"
    ts = ["2026-03-02 10:00:00", None, "2027-01-01", "2026-03-02", "2026-03-02"]
    table = {"user": ["u", "u", "u", None, "v"], "ts": ts, "url": ["http://a.example/"] * 5}
    pq.write_table(pa.table(table), log)
    views, taken = read(log)
    assert (views.count.tolist(), taken.rows, taken.broken) == ([2], 5, 3)
    assert taken.examples == [
        "log.parquet, row 2: the time cannot be read",
        "log.parquet, row 3: the time lies in the future",
        "log.parquet, row 4: it does not say who the user is",
    ]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_parquet__reads_times_of_every_unit(tmp_path: Path, unit: str) -> None:
    """A timestamp is the same moment in any unit."""
    moment = datetime(2026, 3, 2, 13, 0, 1)  # noqa: DTZ001 - without a zone it is UTC
    log = tmp_path / "log [1]*'.parquet"
    table = {"user": ["u"], "ts": pa.array([moment], pa.timestamp(unit)), "url": ["http://a.example/"]}
    pq.write_table(pa.table(table), log)
    views, _ = read(log)
    assert (views.window.first, views.first.tolist()) == (date(2026, 3, 2), [46_801])


def test_bytes__that_are_no_utf8_are_those_of_the_url(tmp_path: Path) -> None:
    """A raw byte in a URL is the triplet that a browser would have sent."""
    log = written(tmp_path / "access.log", SQUID.replace("page", "caf\xe9").encode("latin-1"))
    assert counts(read(log)[0]) == {"http://a.example/caf%E9": 3}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty", b"", "the file is empty"),
        ("blank", b"\n\n\n", "the file is empty"),
        ("rubbish", bytes(range(256)) * 40, "its first line is not text"),
        ("packed-rubbish", gzip.compress(bytes(range(256)) * 40, mtime=0), "its first line is not text"),
        ("cut-off", gzip.compress(SQUID.encode() * 50, mtime=0)[:-30], "cannot be unpacked"),
        ("cut-parquet", b"PAR1" + bytes(100), "the Parquet file cannot be read"),
        ("columns", b"a,b,c\n1,2,3\n", "no column called 'user' or 'ts' or 'url' .*line 1.*there are: a, b, c"),
        ("keys", b'{"who": 1, "ts": 2, "url": "x"}\n', "no column called 'user' .*there are: who, ts, url"),
        ("header-only", b"user,ts,url\n", "nothing usable in this log; there are no rows"),
        ("all-broken", b"user,ts,url\nu,x,y\n", "nothing usable .*line 2: the time cannot be read"),
        ("all-connect", SQUID.splitlines()[5].encode(), "there are no page views"),
        ("no-urls", b"user,ts,url\nu,2026-03-02,17\n", "no page in these logs is a URL; the first is '17'.*--ids"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_bad_input__is_refused_with_its_reason(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    """What has nothing usable in it stops the run, and says where and why."""
    with pytest.raises(UsageError, match=rf"(?s){message}") as caught:
        read(written(tmp_path / name, content))
    if "logs" not in str(caught.value.what):
        assert name in caught.value.where


def test_bad_input__that_is_not_there_or_there_twice_is_refused(tmp_path: Path) -> None:
    """A missing file, none, and one that is named twice are mistakes of the command."""
    log = written(tmp_path / "access.log", SQUID)
    with pytest.raises(UsageError, match="cannot read the log"):
        read(tmp_path / "missing")
    with pytest.raises(UsageError, match="no logs"):
        read([])
    with pytest.raises(UsageError, match="named twice"):
        read([log, tmp_path / "." / "access.log"])
    pq.write_table(pa.table({"a": [1]}), tmp_path / "log.parquet")
    with pytest.raises(UsageError, match=r"no column called 'user'.*there are: a"):
        read(tmp_path / "log.parquet")


@pytest.mark.parametrize(
    "options",
    [{"zone": "Mars/Olympus"}, {"first": "2.3.2026"}, {"days": 0}, {"memory": 1}, {"threads": 0}, {"agent": "browser"}],
    ids=["zone", "first", "days", "memory", "threads", "agent"],
)
def test_settings__that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    """A wrong setting is said before anything is read."""
    with pytest.raises(UsageError):
        read(tmp_path / "missing", **options)


def test_times__are_told_by_their_look() -> None:
    """One moment, as logs write it; and what is none."""
    same = [
        *("2026-03-02T10:05:03Z", "2026-03-02 10:05:03", "2026-03-02T11:05:03+01:00", "2026-03-02T05:05:03-0500"),
        *("2026-03-02T10:05:03.000", "2026-03-02 10:05:03+00", "2026-03-02 10:05:03 UTC", "02/Mar/2026:10:05:03 +0000"),
        *("1772445903", "1772445903.0", "1772445903000", "1772445903000000", "1772445903000000000", "20260302100503"),
    ]
    assert set(of_texts(same).tolist()) == {1_772_445_903_000_000}
    none = ["", "now", "2026-02-29", "2026-13-01", "2026-03-02T25:00:00", "02/Mrz/2026:10:05:03 +0000", "12", "-5"]
    none += ["1772445903x", "2026-03-02T10:05:03+1", "99999999999999999999", "2026-03-02T10:05:03 CET"]
    assert set(of_texts(none).tolist()) == {-1}
    numbers = np.array([1.772445903e9, -1.0, np.nan])
    assert of_numbers(numbers).tolist() == [1_772_445_903_000_000, -1, -1]


def test_real_world__has_the_pages_it_is_said_to_have(shared_data: Path) -> None:
    """Of the world's 94,979 spellings 5,297 pages have 60 views or more (its ABOUT.md)."""
    views, taken = read(shared_data / "views-world-a" / "log.parquet", floor=60, threads=2)
    assert (views.pages, taken.rows, views.window.first, views.window.days) == (5297, 4_223_697, date(2026, 3, 2), 60)


def test_real_clicks__have_ids_and_milliseconds(shared_data: Path) -> None:
    """Globo: 1,572,259 distinct users by article and day (its ABOUT.md)."""
    _, taken = read(
        shared_data / "views-globo-a" / "clicks.csv.zst",
        user="user_id",
        ts="timestamp_ms",
        url="article_id",
        ids=True,
    )
    assert (taken.rows, taken.views, taken.pages, taken.broken) == (1_586_344, 1_572_259, 23_119, 0)


def test_real_counts__add_up(shared_data: Path) -> None:
    """Wikipedia: 650 articles, 112 days, 18,014,198 views (its ABOUT.md)."""
    log = shared_data / "views-wikipedia-mps" / "views.csv.gz"
    views, taken = read(log, ts="timestamp", url="article", views="views", ids=True, days=200)
    assert (views.pages, views.window.days, taken.views) == (650, 112, 18_014_198)


def test_real_access_log__has_no_broken_line(shared_data: Path) -> None:
    """Apache: 10,000 lines, none malformed, four days of May 2015 (its ABOUT.md)."""
    views, taken = read(shared_data / "log-apache-semicomplete" / "apache_logs.gz", host="semicomplete.com")
    assert (taken.rows, taken.broken, views.window.first, views.window.days) == (10_000, 0, date(2015, 5, 17), 4)
    assert taken.embedded > 5000
