"""SQL over a crawl's columns: sealed and open parts are one table, and there is nothing beside them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from weft.cli import main
from weft.config import Settings
from weft.errors import UsageError
from weft.model import Kind
from weft.store.asking import ask
from weft.store.reading import CrawlFiles
from weft.store.sealing import seal
from weft.store.store import Store
from weft.store.volumes import Storing

BIG = 2**64 - 10  # -10 as it is written


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A crawl that runs: some of its links and URLs are sealed, others are not, and no page has come."""
    out = tmp_path / "it's a crawl"
    out.mkdir()
    (out / "crawl.toml").write_text(Settings().to_toml())
    store = Store(out, Storing(), info={}, chance=random.Random(1))
    store.note_links(BIG, [1, 2], [Kind.A, Kind.AREA])
    store.note_url(BIG, "http://a/")
    store.note_url(1, "http://a/1")
    store.mark()
    store.roll(all_of_them=True)
    for table in ("links", "urls"):
        seal(out / table / "part-0-00001.arrow.open")
    store.note_links(1, [BIG], [Kind.LINK], nofollow=True, labels=[("\x1b[2J [bold]Home", "up")])
    store.note_url(1, "http://a/1")
    store.note_url(2, "http://a/2")
    store.mark()
    return out


def answered(out: Path, sql: str) -> list[list[object]]:
    """The rows of an answer."""
    return list(ask(CrawlFiles(out), sql, out / "spilt").rows)


def test_question__is_asked_of_sealed_and_open_parts(out: Path) -> None:
    """Rows are there once, kinds are words, a URL that was noted twice stands there once."""
    assert answered(out, "select source, target, kind, nofollow, rel from links order by target desc") == [
        [-10, 2, "area", False, None],
        [-10, 1, "a", False, None],
        [1, -10, "link", True, "up"],
    ]
    assert answered(out, "select id, url from urls order by id") == [
        [-10, "http://a/"],
        [1, "http://a/1"],
        [2, "http://a/2"],
    ]
    assert answered(
        out, "select s.url, t.url from links l join urls s on s.id = source join urls t on t.id = target where nofollow"
    ) == [["http://a/1", "http://a/"]]


def test_question__of_a_table_without_rows(out: Path) -> None:
    """It has its columns."""
    answer = ask(CrawlFiles(out), "select url, status, count(*) as n from pages group by all", out / "spilt")
    assert (answer.names, answer.numbers, list(answer.rows)) == (["url", "status", "n"], [False, True, True], [])


def test_numbers__come_as_numbers(out: Path) -> None:
    """Sums of whole numbers too, whatever type DuckDB has for them."""
    assert answered(
        out, "select sum(target), count(*), avg(target) > 0, 0.5, timestamptz '2026-01-02 03:04:05Z' from links"
    ) == [[-7, 3, False, 0.5, "2026-01-02 03:04:05.000"]]


@pytest.mark.parametrize(
    "sql",
    [
        "selec 1",
        "select nothing from pages",
        "select * from nothing",
        "select id / 'x' from urls",
        "",
        "select 1; select 2",
        "drop view pages",
        "copy (select 1) to 'out.csv'",
        "attach 'other.db'",
        "set enable_external_access = true",
        "select * from read_text('/etc/hostname')",
        "select * from '/etc/hostname'",
        "select * from glob('/etc/*')",
        "select * from read_csv('http://127.0.0.1:9/x.csv')",
        "install httpfs",
    ],
)
def test_question__that_is_wrong_or_reaches_elsewhere_is_refused(out: Path, sql: str) -> None:
    """Nothing beside the tables is read, nothing is written; DuckDB says what is wrong."""
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    with pytest.raises(UsageError):
        answered(out, sql)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """What a command prints, and its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(["query", *arguments])
    printed = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, printed.out, printed.err


def test_command__prints_what_other_programs_read(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON ids are text, and so is every number that JSON's readers would round; CSV has a line of names."""
    code, printed, _ = run(
        capsys, str(out), "select id, id as other, id - 1 + 1152921504606846976 as big from urls where id < 0", "--json"
    )
    assert code == 0
    assert json.loads(printed) == {"id": "-10", "other": -10, "big": str(2**60 - 11)}
    code, printed, _ = run(
        capsys, str(out), "select url, nofollow, text from links join urls on id = target order by id", "--csv"
    )
    assert (code, printed) == (
        0,
        "url,nofollow,text\nhttp://a/,true,\x1b[2J [bold]Home\nhttp://a/1,false,\nhttp://a/2,false,\n",
    )


def test_command__prints_a_table_for_people(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a page says steers no terminal; what is not shown is said."""
    code, printed, _ = run(capsys, str(out), "select source, text from links order by source")
    assert (code, printed.splitlines()) == (
        0,
        ["source  text", "   -10", "   -10", "     1  \ufffd[2J [bold]Home"],
    )
    code, printed, said = run(capsys, str(out), "select * from range(101)")
    assert (code, len(printed.splitlines())) == (0, 101)
    assert "100 rows" in said


def test_command__wrong_sql_is_misuse(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, with what DuckDB says of it."""
    code, _, said = run(capsys, str(out), "select nothing from pages")
    assert code == 2
    assert 'column "nothing" not found' in said
    assert run(capsys, str(out), "select 1", "--json", "--csv")[0] == 2
    assert run(capsys, str(out.parent), "select 1")[0] == 2
