"""What the columns of a crawl prove: each rule broken once, and kept."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from weft.audit import Audit, Finding, audit_crawl, checks, findings, links, reading, requests, snapshot
from weft.audit.checks import levels
from weft.audit.forbidden import Forbidden, names
from weft.audit.terms import Terms
from weft.cli.audit import audit
from weft.clock import VirtualClock
from weft.config import Settings
from weft.directory import Plan, kept_settings, write_settings
from weft.errors import UsageError, WeftError
from weft.store.columns import PAGES
from weft.urls import fingerprint, signed

BEGUN = 1_700_000_000
DAY = 86_400.0

NEW = [pa.field("worker", pa.int16()), pa.field("wait", pa.float32())]
SCHEMA = pa.schema([*PAGES, *(field for field in NEW if field.name not in PAGES.names)])


def moment(seconds: float) -> datetime:
    """So many seconds into the crawl."""
    return datetime.fromtimestamp(BEGUN, UTC) + (datetime.fromtimestamp(seconds, UTC) - datetime.fromtimestamp(0, UTC))


class Crawl:
    """The directory of a crawl, made by hand."""

    def __init__(self, out: Path, sites: str = "", **settings: Any) -> None:
        self.out = out
        self.rows: list[dict[str, Any]] = []
        out.mkdir()
        chosen = Settings().with_values({"wait": 2.0, "robots": "ignore"} | settings, where="a test")
        (out / "crawl.toml").write_text(chosen.to_toml() + sites)

    def fetch(
        self,
        url: str,
        start: float,
        end: float | None = None,
        *,
        fetched: float | None = None,
        took: float = 0.1,
        kind: str = "a",
        worker: int = 0,
        **values: Any,
    ) -> None:
        """A row: a request to a URL on a connection that was opened at `start`, and closed at `end` if it was the
        last.
        """
        row = dict.fromkeys(SCHEMA.names)
        row |= {
            "id": signed(fingerprint(url)),
            "via": 0,
            "duplicate_of": 0,
            "redirected_from": 0,
            "url": url,
            "site": url.split("/")[2],
            "ip": "127.0.0.1",
            "kind": kind,
        }
        row |= {"visit": len(self.rows), "worker": worker, "took": took, "final": True}
        row |= {"connected_at": moment(start), "fetched_at": moment(start if fetched is None else fetched)}
        row |= {"closed_at": None if end is None else moment(end), **values}
        self.rows.append(row)

    def audit(self, *parts: int, left_out: tuple[str, ...] = (), journal: bool = False) -> Audit:
        """Write the rows, in parts that begin at these rows, and audit them."""
        folder = self.out / "pages"
        folder.mkdir(exist_ok=True)
        schema = pa.schema([field for field in SCHEMA if field.name not in left_out])
        bounds = [0, *parts, len(self.rows)]
        for number, (begin, end) in enumerate(pairwise(bounds)):
            rows = [{name: row[name] for name in schema.names} for row in self.rows[begin:end]]
            table = pa.Table.from_pylist(rows, schema=schema)
            if journal and end == len(self.rows):
                with ipc.new_stream(folder / f"part-{number}.arrow.open", schema) as writer:
                    writer.write_table(table)
            else:
                pq.write_table(table, folder / f"part-{number}.parquet")
        return audit_crawl(self.out)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where a crawl may lie."""
    return tmp_path / "crawl"


def bare(found: Finding) -> Finding:
    """A finding without what it says in words."""
    return replace(found, url="", says="")


def only(found: Audit) -> Finding:
    """The one violation."""
    assert not found.ok
    assert sum(found.broken.values()) == len(found.violations) == 1, found.violations
    return found.violations[0]


def test_audit__of_a_polite_crawl_finds_nothing(out: Path) -> None:
    """Waits, gaps and places as they should be: the closest calls are named, with where and when."""
    crawl = Crawl(out, robots="obey")
    for number in range(3):
        site = f"http://a{number}.example.org"
        begin = number * 0.5
        crawl.fetch(f"{site}/robots.txt", begin, visit=number, kind="robots")
        crawl.fetch(f"{site}/", begin, begin + 0.8, fetched=begin + 0.2, visit=number, wait=2.0)
        crawl.fetch(f"{site}/2", begin + 2.83, begin + 3.0, visit=10 + number, wait=2.0)
    found = crawl.audit()
    assert found.ok
    assert (found.rows, found.visits, found.sites, found.domains, found.addresses) == (9, 6, 3, 1, 1)
    assert bare(found.smallest_gap["site"]) == Finding(
        rule="site-wait", who="a0.example.org", figure=2.03, limit=2.0, when=moment(2.83), since=moment(0.8)
    )
    assert bare(found.smallest_gap["domain"]) == Finding(
        rule="domain-gap", who="example.org", figure=0.5, limit=0.5, when=moment(0.5), since=moment(0.0)
    )
    assert found.smallest_gap["address"].who == "127.0.0.1"
    assert found.most_connections["site"].figure == 1
    assert bare(found.most_connections["domain"]) == Finding(
        rule="domain-connections", who="example.org", figure=2, limit=4, when=moment(0.5)
    )
    assert found.oldest_robots is not None
    assert found.oldest_robots.figure == 2.73
    assert found.oldest_robots.who == "http://a0.example.org"


def test_audit__finds_a_site_visited_too_early(out: Path) -> None:
    """By the wait that was written down after the former visit, wherever its rows lie."""
    crawl = Crawl(out)
    crawl.fetch("http://a/", 0.0, 0.5, wait=2.0)
    crawl.fetch("http://a/2", 2.5, 3.0, wait=5.0)
    crawl.fetch("http://a/3", 7.9, 8.0, wait=2.0)
    crawl.fetch("http://a/4", 9.9995, 10.5, wait=2.0)
    found = only(crawl.audit(1, 2))
    assert (found.url, found.says) == ("http://a/3", "a site rests for 5 s after a visit")
    assert bare(found) == Finding(rule="site-wait", who="a", figure=4.9, limit=5.0, when=moment(7.9), since=moment(3.0))


def test_audit__takes_the_pages_of_a_connection_together(out: Path) -> None:
    """They are one visit, though numbers begin anew when a crawl goes on, and other workers have the same ones."""
    crawl = Crawl(out)
    for worker, site in enumerate(("http://a", "http://b")):
        for begin in (0.0, 10.0):
            for page in range(3):
                last = begin + 1.0 if page == 2 else None
                crawl.fetch(
                    f"{site}/{page}",
                    begin,
                    last,
                    fetched=begin + page * 0.2,
                    worker=worker,
                    visit=1,
                    ip=f"127.0.0.{worker}",
                )
    found = crawl.audit(2, 5, 7)
    assert found.ok
    assert found.visits == 4
    assert found.smallest_gap["site"].figure == 9.0


def test_audit__finds_two_connections_to_a_site(out: Path) -> None:
    """Of two workers, for one; the wait is broken with it."""
    crawl = Crawl(out, wait=0.0)
    crawl.fetch("http://a/", 0.0, 1.0, visit=1)
    crawl.fetch("http://a/", 0.9, 1.9, visit=1, worker=1)
    crawl.fetch("http://a/", 1.9, 2.0, visit=2)
    found = crawl.audit()
    assert found.broken == {"site-connections": 1, "site-wait": 1}
    assert {violation.rule: violation.figure for violation in found.violations} == {
        "site-connections": 2,
        "site-wait": -0.1,
    }
    assert {violation.when for violation in found.violations} == {moment(0.9)}


@pytest.mark.parametrize("kind", ["domain", "address"])
def test_audit__finds_too_many_connections(kind: str, out: Path) -> None:
    """Places are counted by domain and by address; one that is closed in the moment of an opening has gone."""
    crawl = Crawl(out, wait=0.0, per_domain=2 if kind == "domain" else 9, per_address=2 if kind == "address" else 9)
    crawl.fetch("http://a.example.org/", 0.0, 3.0)
    crawl.fetch("http://b.example.org/", 1.0, 2.0)
    crawl.fetch("http://c.example.org/", 2.0, 4.0)
    crawl.fetch("http://d.example.org/", 2.5, 4.0)
    found = only(crawl.audit())
    who = "example.org" if kind == "domain" else "127.0.0.1"
    assert (found.url, found.says) == ("http://d.example.org/", "at most 2 connections at once")
    assert bare(found) == Finding(rule=f"{kind}-connections", who=who, figure=3, limit=2, when=moment(2.5))


@pytest.mark.parametrize("kind", ["domain", "address"])
def test_audit__finds_openings_too_close(kind: str, out: Path) -> None:
    """A quarter of the wait lies between them, also where the one before has been closed."""
    crawl = Crawl(out)
    domain, address = ("{}.example.org", "127.0.0.{}") if kind == "domain" else ("{}.org", "127.0.0.1")
    for number, begin in enumerate((0.0, 0.5, 0.9)):
        crawl.fetch(f"http://{domain.format(f'a{number}')}/", begin, begin + 0.1, ip=address.format(number), wait=2.0)
    found = only(crawl.audit())
    assert (found.rule, found.figure, found.limit) == (f"{kind}-gap", 0.4, 0.5)
    assert (found.when, found.since) == (moment(0.9), moment(0.5))


def keep(out: Path, *settings: tuple[float, str]) -> None:
    """Settings of a crawl, each from a time on."""
    (out / "log").mkdir()
    for seconds, text in settings:
        stamp = moment(seconds).strftime("%Y%m%dT%H%M%S.%fZ")
        (out / "log" / f"settings-{stamp}.toml").write_text(text)


def in_networks(crawl: Crawl) -> Audit:
    """An audit of visits that are all open at once, in three networks."""
    keep(crawl.out, (0.0, (crawl.out / "crawl.toml").read_text()))
    for place, ip in enumerate(("192.0.2.1", "192.0.2.2", "2001:db8:1::1", "192.0.2.3", "192.0.3.1")):
        crawl.fetch(f"http://s{place}.org/", float(place), 9.0, ip=ip)
    return crawl.audit()


def test_audit__finds_too_many_connections_to_a_network(out: Path) -> None:
    """Whatever the addresses."""
    found = in_networks(Crawl(out, wait=0.0, per_network=2))
    violation = only(found)
    assert (violation.url, violation.says) == ("http://s3.org/", "at most 2 connections at once")
    assert bare(violation) == Finding(
        rule="network-connections", who="192.0.2.0/24", figure=3, limit=2, when=moment(3.0)
    )
    assert found.networks == 3
    assert "network" not in found.smallest_gap


@pytest.mark.parametrize("settings", [{"network_gap": 1.0}, {}])
def test_audit__finds_nothing_where_a_network_may_have_any_number(out: Path, settings: dict[str, Any]) -> None:
    """Without a limit there is no closest call to name; without any of the two, networks are not looked at."""
    found = in_networks(Crawl(out, wait=0.0, **settings))
    assert found.ok, found.violations
    assert "network" not in found.most_connections
    assert found.networks == (3 if settings else 0)
    assert ("network" in found.smallest_gap) == bool(settings)


def test_audit__finds_openings_too_close_in_a_network(out: Path) -> None:
    """By the setting, though no site has a wait."""
    crawl = Crawl(out, wait=0.0, network_gap=0.5)
    keep(out, (0.0, (out / "crawl.toml").read_text()))
    for number, begin in enumerate((0.0, 0.5, 0.9)):
        crawl.fetch(f"http://s{number}.org/", begin, begin + 0.1, ip=f"192.0.2.{number}")
    crawl.fetch("http://other.org/", 0.91, 1.0, ip="192.0.3.1")
    found = only(crawl.audit())
    assert (found.rule, found.who) == ("network-gap", "192.0.2.0/24")
    assert (found.figure, found.limit, found.says) == (0.4, 0.5, "0.5 s between openings")
    assert (found.when, found.since) == (moment(0.9), moment(0.5))


def test_audit__gap_is_that_of_the_settings(out: Path) -> None:
    """A Retry-After or a crawl-delay makes the rest of a site longer, not the gap before others at its address; a wait
    that was shorter in its time makes it shorter.
    """
    crawl = Crawl(out)
    crawl.fetch("http://a.org/", 0.0, 0.1, wait=600.0)
    crawl.fetch("http://b.org/", 0.5, 0.6, wait=0.4)
    crawl.fetch("http://c.org/", 0.61, 0.7, wait=2.0)
    assert crawl.audit().ok


def test_audit__keeps_no_gap_with_a_site_that_has_no_wait(out: Path) -> None:
    """It is no neighbour to anybody, and does not stand between two that have one."""
    crawl = Crawl(out, '[sites."b.org"]\nwait = 0.0\n')
    crawl.fetch("http://a.org/", 0.0, 0.1)
    crawl.fetch("http://b.org/", 0.1, 0.2)
    crawl.fetch("http://b.org/", 0.3, 0.35)
    crawl.fetch("http://c.org/", 0.4, 0.5)
    found = only(crawl.audit())
    assert (found.rule, found.since, found.when) == ("address-gap", moment(0.0), moment(0.4))


def test_audit__without_an_address_looks_at_none(out: Path) -> None:
    """Behind a proxy addresses are not known."""
    crawl = Crawl(out, wait=0.0, per_address=1)
    crawl.fetch("http://a.org/", 0.0, 1.0, ip=None)
    crawl.fetch("http://b.org/", 0.0, 1.0, ip=None)
    found = crawl.audit()
    assert found.ok
    assert "address" not in found.most_connections


def test_audit__knows_the_wait_where_it_is_not_written_down(out: Path) -> None:
    """It follows from the last download, which robots.txt is none of; and after a kill it is the smallest."""
    crawl = Crawl(out, wait=None)
    crawl.fetch("http://a/", 0.0, 1.0, took=1.0)
    crawl.fetch("http://a/", 5.9, 6.0)
    crawl.fetch("http://b/robots.txt", 0.0, 1.0, took=1.0, kind="robots", ip="127.0.0.2")
    crawl.fetch("http://b/", 3.1, 3.2, ip="127.0.0.2")
    crawl.fetch("http://c/", 0.0, took=1.0, ip="127.0.0.3")
    crawl.fetch("http://c/", 3.1, 3.2, ip="127.0.0.3")
    found = only(crawl.audit(left_out=("wait", "worker")))
    assert (found.who, found.figure, found.limit) == ("a", 4.9, 5.0)


def test_audit__knows_the_wait_of_a_site_of_its_own(out: Path) -> None:
    """What is set for a site goes before what is set for all; for small sites both may hold."""
    crawl = Crawl(out, '[sites."*.org"]\nwait = 9.0\n', wait=7.0, wait_small=3.0)
    crawl.fetch("http://a.org/", 0.0, 1.0)
    crawl.fetch("http://a.org/", 9.0, 9.1)
    crawl.fetch("http://b.com/", 3.0, 4.0, ip="127.0.0.2")
    crawl.fetch("http://b.com/", 7.0, 7.1, ip="127.0.0.2")
    found = only(crawl.audit(left_out=("wait", "worker")))
    assert (found.who, found.figure, found.limit) == ("a.org", 8.0, 9.0)


def test_audit__takes_a_killed_visit_to_end_with_its_last_byte(out: Path) -> None:
    """The end is not written down then; the wait begins there."""
    crawl = Crawl(out)
    crawl.fetch("http://a/1", 0.0, visit=1)
    crawl.fetch("http://a/2", 0.0, fetched=1.0, took=0.5, visit=1)
    crawl.fetch("http://a/2", 3.4, 3.5, visit=1)
    found = only(crawl.audit())
    assert (found.since, found.figure) == (moment(1.5), 1.9)


def test_audit__leaves_out_what_had_no_connection(out: Path) -> None:
    """A name that cannot be resolved opens nothing, and is asked for no robots.txt."""
    crawl = Crawl(out, robots="obey")
    for number in range(2):
        crawl.fetch(f"http://a/{number}", 0.0, 0.0, connected_at=None, ip=None, reason="dns-not-found")
    found = crawl.audit()
    assert found.ok
    assert (found.rows, found.visits) == (2, 0)


def test_audit__reads_open_parts(out: Path) -> None:
    """A crawl can be audited while it runs; a part that is sealed and still open counts once."""
    crawl = Crawl(out)
    crawl.fetch("http://a/1", 0.0, 0.1)
    crawl.fetch("http://a/2", 3.0, 3.1)
    assert crawl.audit(1, journal=True).visits == 2
    assert crawl.audit(1).visits == 2
    (out / "pages" / "part-2.arrow.open").touch()
    assert audit_crawl(out).rows == 2


# Robots.


def test_audit__finds_a_page_without_robots(out: Path) -> None:
    """Of its own origin: that of the other scheme, of another site, or one that failed does not count."""
    crawl = Crawl(out, robots="obey", wait=0.0)
    crawl.fetch("https://a/robots.txt", 0.0, 0.1, kind="robots")
    crawl.fetch("http://b/robots.txt", 0.2, 0.3, kind="robots")
    crawl.fetch("http://a/robots.txt", 0.4, 0.5, kind="robots", status=503, reason="status-5xx")
    crawl.fetch("http://a/elsewhere", 0.6, 0.7, kind="robots")
    crawl.fetch("http://b/", 0.8, 0.9)
    crawl.fetch("http://a/", 1.0, 1.1)
    crawl.fetch("http://a/robots.txt", 1.2, 1.3, kind="robots", status=404, reason="status-4xx")
    crawl.fetch("http://a/", 1.4, 1.5)
    found = only(crawl.audit())
    assert found.url == "http://a/"
    assert bare(found) == Finding(rule="robots-missing", who="http://a", figure=None, limit=DAY, when=moment(1.0))


def test_audit__finds_a_robots_that_is_too_old(out: Path) -> None:
    """It is judged when a connection is opened: one fetched on it is new, however long the visit lasts."""
    crawl = Crawl(out, robots="obey")
    crawl.fetch("http://a/robots.txt", 0.0, visit=1, kind="robots")
    crawl.fetch("http://a/1", 0.0, 1.0, fetched=0.5, visit=1)
    crawl.fetch("http://a/2", DAY + 50.0, DAY + 51.0, visit=2)
    crawl.fetch("http://a/3", DAY + 100.0, DAY + 101.0, visit=3)
    crawl.fetch("http://a/robots.txt", DAY + 200.0, visit=4, kind="robots")
    crawl.fetch("http://a/4", DAY + 200.0, 2 * DAY + 900.0, fetched=2 * DAY + 600.0, visit=4)
    found = crawl.audit()
    violation = only(found)
    assert (violation.rule, violation.who, violation.when) == ("robots-age", "http://a", moment(DAY + 100.0))
    assert violation.figure == DAY + 99.9
    assert violation.since == moment(0.1)
    assert found.oldest_robots == violation


def test_audit__follows_a_robots_that_redirects(out: Path) -> None:
    """It was had when the last file came, even if another site sends for the same one; nothing is had when none
    came.
    """
    crawl = Crawl(out, robots="obey", robots_age=1000.0, wait=0.0)
    there, end = "http://b/robots.txt", "http://b/other.txt"
    crawl.fetch("http://a/robots.txt", 0.0, 0.1, kind="robots", status=301, redirect=there)
    crawl.fetch(there, 500.0, visit=7, kind="robots", status=301, redirect=end)
    crawl.fetch(end, 500.0, 500.5, fetched=500.2, visit=7, kind="robots")
    crawl.fetch(there, 501.0, 501.5, kind="robots", status=301, redirect=end)
    crawl.fetch("http://a/1", 502.0, 502.1)
    crawl.fetch("http://a/2", 1500.0, 1500.1)
    crawl.fetch(end, 1600.0, 1600.1, kind="robots")  # for somebody else
    crawl.fetch("http://a/3", 1700.0, 1700.1)
    crawl.fetch(
        "http://c/robots.txt", 1700.0, 1700.1, kind="robots", status=301, redirect="http://d/robots.txt", ip="127.0.0.2"
    )
    crawl.fetch("http://c/", 1701.0, 1701.1, ip="127.0.0.2")
    found = crawl.audit()
    assert found.broken == {"robots-age": 1, "robots-missing": 1}
    stale, missing = found.violations
    assert (stale.who, stale.when, stale.figure) == ("http://a", moment(1700.0), 1199.7)
    assert (missing.rule, missing.who) == ("robots-missing", "http://c")


def test_audit__takes_a_robots_that_redirects_to_itself_for_none(out: Path) -> None:
    """Which means that everything is allowed."""
    crawl = Crawl(out, robots="obey")
    for hop in range(6):
        crawl.fetch(
            "http://a/robots.txt",
            0.0,
            fetched=hop * 0.1,
            visit=1,
            kind="robots",
            status=301,
            redirect="http://a/robots.txt",
        )
    crawl.fetch("http://a/", 0.0, 1.0, fetched=0.8, visit=1)
    assert crawl.audit().ok


def test_audit__asks_no_robots_of_a_site_that_is_not_to_be_obeyed(out: Path) -> None:
    """Of that site alone."""
    crawl = Crawl(out, '[sites."a"]\nrobots = "ignore"\n', robots="obey")
    crawl.fetch("http://a/", 0.0, 0.1)
    crawl.fetch("http://b/", 0.0, 0.1, ip="127.0.0.2")
    assert only(crawl.audit()).who == "http://b"


# Many.


def test_audit__in_chunks_and_blocks_finds_the_same(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read and compared at once does not matter."""
    chance = np.random.default_rng(1)
    crawl = Crawl(out, robots="obey", wait=0.5, per_address=2, per_domain=2)
    for number in range(400):
        begin = float(chance.uniform(0, 200))
        site = f"http://s{chance.integers(9)}.d{chance.integers(4)}.org"
        kind = "robots" if chance.random() < 0.2 else "a"
        url = f"{site}/robots.txt" if kind == "robots" else f"{site}/{number}"
        crawl.fetch(
            url, begin, begin + float(chance.uniform(0, 3)), kind=kind, ip=f"127.0.0.{chance.integers(5)}", wait=0.5
        )
    whole = crawl.audit(100, 200, 300)
    assert set(whole.broken) == {
        "site-wait", "site-connections", "domain-gap", "domain-connections", "address-gap", "address-connections",
        "robots-missing",
    }  # fmt: skip
    monkeypatch.setattr(reading, "_CHUNK", 50)
    monkeypatch.setattr(snapshot, "_AT_ONCE", 70)
    monkeypatch.setattr(checks, "_BLOCK", 20)

    def key(found: Finding) -> tuple[Any, ...]:
        return found.rule, found.when, found.who

    small = audit_crawl(out)
    assert small.broken == whole.broken
    assert sorted(small.violations, key=key) == sorted(whole.violations, key=key)
    assert small.smallest_gap == whole.smallest_gap


def test_levels__are_those_of_counting_one_by_one() -> None:
    """Connections at once, against the plain definition."""
    chance = np.random.default_rng(2)
    group = np.sort(chance.integers(0, 8, 300).astype(np.int32))
    start = chance.integers(0, 1000, 300)
    start = start[np.lexsort((start, group))]
    end = start + chance.integers(1, 60, 300)
    counted = [
        sum(
            (group[other] == group[visit])
            and (start[other], other) <= (start[visit], visit)
            and end[other] > start[visit]
            for other in range(300)
        )
        for visit in range(300)
    ]
    assert sorted(levels(group, start, end)) == sorted(counted)


def test_audit__keeps_a_bounded_number_of_violations(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are counted."""
    monkeypatch.setattr(findings, "MOST_KEPT", 3)
    monkeypatch.setattr(checks, "_BLOCK", 2)
    crawl = Crawl(out)
    for number in range(10):
        crawl.fetch(f"http://a{number % 5}.org/", number * 1.0, number + 0.1, wait=9.0, ip=f"127.0.0.{number % 5}")
    found = crawl.audit()
    assert found.broken == {"site-wait": 5}
    assert len(found.violations) == 3


# The command.


def test_command__prints_what_was_broken(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first twenty, how many more, and exit code 1; all of them as JSON."""
    crawl = Crawl(out)
    for number in range(31):
        crawl.fetch("http://a.org/[x]", number * 1.0, number + 0.1, wait=2.0)
    crawl.audit()
    assert audit(out) == 1
    printed = capsys.readouterr().out
    assert "31 fetches in 31 visits to 1 sites of 1 domains at 1 addresses" in printed
    assert "Rules were broken 30 times: site-wait 30" in printed
    assert "2023-11-14 22:13:21.000000  rest of a site, a.org: 0.900 s, less than 2.000 s" in printed
    assert "and 10 more" in printed
    assert audit(out, json=True) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is False
    assert len(answer["violations"]) == 30
    assert answer["violations"][0]["when"] == "2023-11-14T22:13:21Z"


def test_command__says_that_nothing_was_broken(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0."""
    crawl = Crawl(out)
    crawl.fetch("http://a.org/", 0.0, 0.1, wait=2.0)
    crawl.audit()
    assert audit(out) == 0
    assert "No rule was broken." in capsys.readouterr().out
    assert audit(out, json=True) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_command__of_a_crawl_without_rows(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to audit yet, and nothing wrong with that."""
    Crawl(out)
    assert audit(out) == 0
    assert "Nothing to audit yet" in capsys.readouterr().out


def test_command__of_what_is_no_crawl(tmp_path: Path) -> None:
    """Misuse; and a broken file is a failure that is named."""
    with pytest.raises(UsageError, match="there is no crawl here"):
        audit(tmp_path)
    Crawl(tmp_path / "crawl")
    (tmp_path / "crawl" / "pages").mkdir()
    (tmp_path / "crawl" / "pages" / "part-1.parquet").write_bytes(b"nothing")
    with pytest.raises(WeftError, match=r"part-1\.parquet"):
        audit(tmp_path / "crawl")


# What was asked of the crawl, and when.


def test_audit__judges_a_visit_by_the_settings_of_its_time(out: Path) -> None:
    """They are kept with every change; where they are, it does not count what the crawler took its wait to be."""
    crawl = Crawl(out, wait=5.0)
    first = Settings().with_values({"wait": 1.0, "robots": "ignore"}, where="a test").to_toml()
    keep(out, (0.0, first), (100.0, (out / "crawl.toml").read_text()))
    for begin, wait in ((10.0, 1.0), (11.5, 1.0), (200.0, 0.0), (201.5, 0.0)):
        crawl.fetch(f"http://a/{begin}", begin, begin + 0.1, wait=wait)
    found = crawl.audit()
    assert found.broken["site-wait"] == 1
    violation = next(each for each in found.violations if each.rule == "site-wait")
    assert (violation.url, violation.limit, violation.figure) == ("http://a/201.5", 5.0, 1.4)


def test_settings__are_kept_when_they_change(tmp_path: Path) -> None:
    """And not otherwise; so an audit knows which held when."""
    clock = VirtualClock(BEGUN)
    for wait in (1.0, 1.0, 2.0):
        settings = Settings().with_values({"wait": wait}, where="a test")
        plan = Plan(seeds=["http://a/"], out=tmp_path, settings=settings)
        write_settings(plan, clock)
        clock.advance(10.0)
    assert [since for since, _ in kept_settings(tmp_path)] == [BEGUN, BEGUN + 20.0]
    terms = Terms.read(tmp_path)
    assert [terms.at(int((BEGUN + after) * 1e6)).politeness.wait for after in (0.0, 19.9, 20.0)] == [1.0, 1.0, 2.0]
    assert terms.known_from == BEGUN * 10**6


# What answers ask for, as columns have it.


def test_audit__reads_retry_after_of_answers_that_are_not_stored(out: Path) -> None:
    """From the column; "" is none, for which a 429 has a pause of its own."""
    crawl = Crawl(out, wait=0.0, too_often_pause=60.0)
    crawl.fetch("http://a/1", 0.0, 1.0, took=1.0, status=503, retry_after="30")
    crawl.fetch("http://a/2", 30.9, 31.0)
    crawl.fetch("http://b/1", 0.0, 1.0, took=1.0, status=429, ip="127.0.0.2")
    crawl.fetch("http://b/2", 60.5, 60.6, ip="127.0.0.2")
    crawl.fetch("http://b/3", 61.1, 61.2, ip="127.0.0.2")
    crawl.fetch("http://c/1", 0.0, 1.0, took=1.0, status=503, ip="127.0.0.3")
    crawl.fetch("http://c/2", 1.5, 1.6, ip="127.0.0.3")
    found = crawl.audit()
    assert found.broken == {"retry-after": 2}
    assert [(each.url, each.figure, each.limit, each.says) for each in found.violations] == [
        ("http://a/2", 29.9, 30.0, "status 503 of http://a/1, Retry-After: 30"),
        ("http://b/2", 59.5, 60.0, "status 429 of http://b/1, without Retry-After: 60 s"),
    ]
    assert found.unjudged == {}


def test_audit__says_what_it_cannot_judge(out: Path) -> None:
    """Answers without the columns, robots.txt files and pages that no volume holds."""
    crawl = Crawl(out, wait=0.0, robots="obey")
    crawl.fetch("http://a/robots.txt", 0.0, visit=1, kind="robots", status=200)
    crawl.fetch("http://a/1", 0.0, 1.0, fetched=0.5, visit=1, status=503)
    crawl.fetch("http://a/2", 2.0, 2.1, via=signed(fingerprint("http://a/1")), status=200)
    found = crawl.audit(left_out=("retry_after", "keep_alive"))
    assert found.ok
    assert found.unjudged == {
        requests.UNKNOWN_KEEP_ALIVE: 1,
        requests.UNKNOWN_ROBOTS: 2,
        requests.UNKNOWN_ANSWERS: 1,
        links.UNKNOWN_LINKS: 1,
    }


def test_audit__judges_pages_that_no_volume_holds_by_the_table_of_links(out: Path) -> None:
    """As far as it has the link; where robots.txt is not obeyed, nofollow is not either."""
    for name, robots in (("obey", "obey"), ("ignore", "ignore")):
        crawl = Crawl(out.with_name(name), wait=0.0, robots=robots)
        source = signed(fingerprint("http://a/"))
        crawl.fetch("http://a/robots.txt", 0.0, visit=0, kind="robots", status=404, reason="status-4xx")
        crawl.fetch("http://a/", 0.0, 0.3, fetched=0.2, visit=0, kind="seed")
        for number in range(3):
            crawl.fetch(f"http://a/{number}", 1.0 + number, 1.1 + number, via=source)
        folder = crawl.out / "links"
        folder.mkdir()
        targets = [signed(fingerprint(f"http://a/{number}")) for number in (0, 1, 1)]
        columns = {"source": [source] * 3, "target": targets, "nofollow": [True, True, False]}
        pq.write_table(pa.table(columns), folder / "part-0-00001.parquet")
        found = crawl.audit()
        assert found.unjudged[links.UNKNOWN_LINKS] == 1
        if robots == "obey":
            assert only(found).url == "http://a/0"
            assert only(found).says == "nofollow on http://a/, by the table of links"
        else:
            assert found.ok


# The blacklist.


def test_forbidden__knows_rules_of_every_form() -> None:
    """URLs, what begins like one, sites, domains, addresses; each from when to when."""
    rules = ["http://a.org/x", "http://a.org/y/*", "b.org", "*.c.org", "10.0.0.0/8"]
    forbidden = Forbidden((rule, 1.0, None) for rule in rules)
    for url, named in (
        ("http://a.org/x", True),
        ("http://a.org/xy", False),
        ("http://a.org/y/z", True),
        ("http://b.org/", True),
        ("http://www.c.org/", True),
        ("http://c.org/", True),
        ("http://d.org/", False),
    ):
        found = [held for held in forbidden.of(url.split("/")[2]) if names(held.rule, url)]
        assert bool(found) == named, url
    assert [held.rule for held in forbidden.at("10.1.2.3")] == ["10.0.0.0/8"]
    assert forbidden.at("11.1.2.3") == forbidden.at(None) == []
