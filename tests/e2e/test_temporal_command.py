"""`weft temporal` as a person uses it: analysed, updated, generated; and refused with nothing left behind."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.patience import PATIENCE

from weft.app import usable_seeds
from weft.cli import main

Row = tuple[str, str, str]
FIRST = datetime(2026, 3, 2, tzinfo=UTC)
DAYS = 24


def weft(*arguments: str | Path, code: int = 0) -> None:
    """Run a command, which ends with a code."""
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    assert ended.value.code == code


def rows() -> Iterator[Row]:
    """Twelve news pages that are read for three days, and six guides that are read every day; repeats included."""
    for page in range(12):
        for user in range(80):
            day = page + (0 if user < 50 else 1 if user < 75 else 2)
            yield f"u{user}", _time(day, 9 * 60 + user), f"http://news.test:8080/n/{page}.html"
    for page in range(6):
        for day in range(DAYS):
            for user in range(5):
                for minute in (0, 30):
                    yield f"u{user}", _time(day, 60 * user + minute), f"https://guide.test/g{page}?sid={day}{user}"


def _time(day: int, minute: int) -> str:
    return (FIRST + timedelta(days=day, minutes=minute)).isoformat()


def write_csv(path: Path, rows: Iterable[Row]) -> Path:
    """A log with a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("user", "ts", "url"))
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small log."""
    return write_csv(tmp_path_factory.mktemp("logs") / "log.csv", rows())


@pytest.fixture(scope="module")
def found(log: Path) -> Path:
    """What a plain analysis of it has found, by the command as it is installed."""
    out = log.parent / "found"
    command = [sys.executable, "-m", "weft", "temporal", "analyse", str(log), "--out", str(out), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((out / "summary.json").read_text())
    return out


def table(path: Path) -> list[dict[str, str]]:
    """A file of tabs by its header."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_temporal__sites_are_ranked_and_pages_labelled(found: Path) -> None:
    """The news site leads; its pages are temporal, the guides are not, in spite of their session parameters."""
    best, other = table(found / "sites.tsv")
    assert (best["site"], best["pages"], best["temporal_pages"], best["views"]) == ("news.test:8080", "12", "12", "960")
    assert (other["site"], other["pages"], other["temporal_pages"]) == ("guide.test", "6", "0")
    assert float(other["publication_rate"]) == 0.0
    assert float(best["page_share"]) == float(best["view_share"]) == 1.0
    assert float(best["publication_rate"]) == pytest.approx(0.45, abs=0.15)
    pages = {row["url"]: row for row in pq.read_table(found / "pages.parquet").to_pylist()}
    assert {row["label"] for row in pages.values()} == {"temporal", "untemporal"}
    assert all(row["temporal"] == row["url"].startswith("http://news") for row in pages.values())
    assert pages["http://news.test:8080/n/5.html"]["born"] == pytest.approx(5.35, abs=0.1)
    assert pages["https://guide.test/g0"]["views"] == 5 * DAYS
    assert list(pages["https://guide.test/g0"])[:7] == ["url", "site", "views", "born", "p", "temporal", "label"]


def test_temporal__seeds_are_seeds_of_a_crawl(found: Path, tmp_path: Path) -> None:
    """A site with a port has its scheme beside it, so that the crawler understands it; who is silent is left out."""
    assert (found / "seeds.txt").read_text() == "", "its last news are of weeks ago"
    assert any("--least-rate" in warning for warning in json.loads((found / "summary.json").read_text())["warnings"])
    log = write_csv(tmp_path / "log.csv", list(rows()))
    weft("temporal", "analyse", log, "--least-rate", "0", "--out", tmp_path / "found")
    seeds = (tmp_path / "found" / "seeds.txt").read_text().splitlines()
    assert seeds == ["http://news.test:8080/"]
    assert usable_seeds(seeds, where="seeds.txt", strict=True) == (seeds, [])


def test_temporal__report_shows_curves_ranking_and_what_was_dropped(found: Path) -> None:
    """One page that needs no other file."""
    html = (found / "index.html").read_text()
    for words in ("news.test:8080", "Phi(1)", "fitted curve", "What was dropped, and why", "2,400"):
        assert words in html
    assert html.count("<svg") >= 4
    assert "<script" not in html


def test_temporal__any_order_of_logs_gives_the_same(found: Path, tmp_path: Path) -> None:
    """However the rows are spread over files, packed or not, and in whatever order these are named."""
    parts: list[list[Row]] = [[], [], []]
    for number, row in enumerate(reversed(list(rows()))):
        parts[number % 3].append(row)
    logs = [write_csv(tmp_path / f"{number}.csv", part) for number, part in enumerate(parts)]
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(logs[2].read_bytes()))
    for out, order in ((tmp_path / "one", (logs[0], packed, logs[1])), (tmp_path / "two", (packed, *logs[:2]))):
        weft("temporal", "analyse", *order, "--out", out)
        for name in ("sites.tsv", "seeds.txt", "folders.tsv", "patterns.tsv", "hubs.tsv"):
            assert (out / name).read_bytes() == (found / name).read_bytes()
        assert pq.read_table(out / "pages.parquet").equals(pq.read_table(found / "pages.parquet"))


def test_temporal__day_by_day_is_the_same_as_at_once(found: Path, tmp_path: Path) -> None:
    """Updates end where an analysis of all logs does; a day that is there is refused and then replaced."""
    out = tmp_path / "grown"
    early = write_csv(tmp_path / "early.csv", (row for row in rows() if row[1] < _time(20, 0)))
    late = write_csv(tmp_path / "late.csv", (row for row in rows() if row[1] >= _time(20, 0)))
    weft("temporal", "update", out, early)
    weft("temporal", "update", out, late)
    for name in ("sites.tsv", "seeds.txt", "hubs.tsv"):
        assert (out / name).read_bytes() == (found / name).read_bytes()
    assert pq.read_table(out / "pages.parquet").equals(pq.read_table(found / "pages.parquet"))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    weft("temporal", "update", out, late, code=2)
    weft("temporal", "analyse", late, "--out", out, code=2)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    weft("temporal", "update", out, late, "--again")
    assert (out / "sites.tsv").read_bytes() == (found / "sites.tsv").read_bytes()


def test_temporal__update_cannot_grow_what_was_made_at_once(
    found: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its days are not known."""
    weft("temporal", "update", found, log, code=2)
    assert "cannot grow" in capsys.readouterr().err


def test_temporal__a_list_is_held_beside_ours(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Table 1 of the paper, by the paper's own way."""
    manual = tmp_path / "manual.txt"
    manual.write_text("# by hand\nhttps://guide.test/\nnowhere.test\n")
    weft("temporal", "analyse", log, "--paper", "--list", manual, "--draw", "guide.test", "--out", tmp_path / "out")
    assert "F-measure" in capsys.readouterr().out
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["lists"]["manual.txt"] == {"temporal": 0, "total": 6, "precision": 0.0, "recall": 0.0, "f": 0.0}
    assert summary["lists"]["this analysis"]["recall"] == 1.0
    assert summary["settings"]["rules"]["method"] == "paper"
    assert (summary["settings"]["sites"]["pseudo_pages"], summary["settings"]["sites"]["top"]) == (0.0, 100)
    assert summary["labels"]["undecided"] == 0


def test_temporal__labelled_pages_teach_thresholds(log: Path, tmp_path: Path) -> None:
    """A single day of interest is asked for where people call temporal what lasts no longer."""
    labelled = tmp_path / "labelled.csv"
    lines = [f"http://news.test:8080/n/{page}.html,yes" for page in range(12)]
    lines += [f"https://guide.test/g{page}?sid=7,no" for page in range(6)]
    labelled.write_text("\n".join(["url,temporal", *lines, "http://unseen.test/,no"]) + "\n")
    weft("temporal", "analyse", log, "--labelled", labelled, "--out", tmp_path / "out")
    training = json.loads((tmp_path / "out" / "summary.json").read_text())["training"]
    assert training["labelled pages"] == 18
    assert training["labelled pages without views enough"] == 1
    assert training["thresholds"]["hit"] == 18


def test_temporal__generated_worlds_can_be_analysed(tmp_path: Path) -> None:
    """The world's own truth and the labels agree by and large; the same command makes the same world."""
    asked = ("--sites", "12", "--seed", "5", "--after", "20")
    weft("temporal", "generate", *asked, "--out", tmp_path / "world")
    weft("temporal", "generate", *asked, "--out", tmp_path / "again")
    for name in ("log.parquet", "truth.parquet"):
        assert pq.read_table(tmp_path / "world" / name).equals(pq.read_table(tmp_path / "again" / name))
    later = ("--later", tmp_path / "world" / "after.parquet", "--list", tmp_path / "world" / "manual.txt")
    weft("temporal", "analyse", tmp_path / "world" / "log.parquet", *later, "--out", tmp_path / "found")
    lists = json.loads((tmp_path / "found" / "summary.json").read_text())["lists"]
    assert list(lists) == [
        "manual.txt",
        "this analysis",
        "manual.txt, pages born later",
        "this analysis, pages born later",
    ]
    assert 0 < lists["this analysis, pages born later"]["total"] < lists["this analysis"]["total"]
    pages = pq.read_table(tmp_path / "found" / "pages.parquet", columns=["url", "temporal"])
    truth = pq.read_table(tmp_path / "world" / "truth.parquet", columns=["url", "temporal_by_definition"])
    both = pages.join(truth, "url").to_pylist()
    assert len(both) == pages.num_rows > 100
    assert sum(row["temporal"] == row["temporal_by_definition"] for row in both) > 0.9 * len(both)


def _future(path: Path) -> None:
    write_csv(path, [("u", "2199-01-01T00:00:00", "http://a.test/")])


def _mixed(path: Path) -> None:
    path.write_text('1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 7 "-" "x"\nuser,ts,url\n')


REFUSED: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "wrong_columns": (lambda path: path.write_text("who,when,page\nu,2026-03-02,http://a.test/\n"), "line 1", "when"),
    "no_host": (_mixed, "does not name the host", "--host"),
    "future": (_future, "line 2", "future"),
    "rubbish": (lambda path: path.write_bytes(bytes(range(256)) * 40), "bad.log", "not text"),
    "broken_gzip": (lambda path: path.write_bytes(gzip.compress(b"user,ts,url\n" * 99)[:20]), "bad.log", "unpacked"),
    "empty": (lambda path: path.write_bytes(b""), "bad.log", "empty"),
    "header_alone": (lambda path: path.write_text("user,ts,url\n"), "bad.log", "no"),
    "broken_parquet": (lambda path: path.write_bytes(b"PAR1 and nothing else"), "bad.log", "Parquet"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_temporal__nothing_usable(case: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, the file's name and what is wrong, also beside a good log; and nothing is written."""
    make, *words = REFUSED[case]
    make(tmp_path / "bad.log")
    weft("temporal", "analyse", log, tmp_path / "bad.log", "--out", tmp_path / "out", code=2)
    said = capsys.readouterr().err
    for word in ("bad.log", *words):
        assert word in said, said
    assert [path.name for path in tmp_path.iterdir()] == ["bad.log"]


def test_temporal__broken_lines_do_no_harm(found: Path, log: Path, tmp_path: Path) -> None:
    """Lines of another form, times in the future and times out of order: the first two are counted and shown."""
    lines = log.read_text().splitlines()
    broken = [
        "http://a.test/ 200",
        "u,2199-01-01T00:00:00,http://a.test/",
        '{"user": "u"}',
        "u,yesterday,http://a.test/",
    ]
    other = tmp_path / "broken.csv"
    other.write_text("\n".join([lines[0], *broken, *reversed(lines[1:])]) + "\n")
    weft("temporal", "analyse", other, "--out", tmp_path / "out")
    assert (tmp_path / "out" / "sites.tsv").read_bytes() == (found / "sites.tsv").read_bytes()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["taken"]["broken"] == len(broken)
    assert [example.partition(": ")[0] for example in summary["taken"]["examples"]] == [
        f"broken.csv, line {number}" for number in (2, 3, 4, 5)
    ]
    assert "broken.csv, line 3: the time lies in the future" in (tmp_path / "out" / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--zone", "Nowhere/Land"), "no time zone"),
        (("--q", "1.5"), "--q cannot be 1.5"),
        (("--top", "0"), "--polls-per-day"),
        (("--draw", "nowhere.test"), "nowhere.test"),
        (("--list", "missing.txt"), "missing.txt"),
    ],
    ids=["zone", "q", "top", "draw", "list"],
)
def test_temporal__misuse(
    arguments: tuple[str, ...], said: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Has a message, exit code 2, and leaves nothing behind."""
    weft("temporal", "analyse", log, *arguments, "--out", tmp_path / "out", code=2)
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_temporal__a_directory_of_somebody_else_is_left_alone(log: Path, tmp_path: Path) -> None:
    """Nothing is replaced but an earlier analysis."""
    (tmp_path / "notes.txt").write_text("mine")
    weft("temporal", "analyse", log, "--out", tmp_path, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_temporal__killed_in_the_middle(found: Path, log: Path, tmp_path: Path) -> None:
    """A run that dies leaves the earlier result whole; the next one cleans up and takes its place."""
    out = tmp_path / "out"
    shutil.copytree(found, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    pipe = tmp_path / "endless.csv"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "weft", "temporal", "analyse", str(log), str(pipe), "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        begun = tmp_path / ".out.new"
        deadline = time.monotonic() + PATIENCE
        while not begun.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert begun.exists()
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    weft("temporal", "analyse", log, "--out", out)
    assert (out / "sites.tsv").read_bytes() == (found / "sites.tsv").read_bytes()
    assert not begun.exists()
