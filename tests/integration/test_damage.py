"""What was committed is never deleted: files of a crawl that was killed half-way are damaged, and the same command is
given again. It goes on and stores every page once, or it ends with one message and has changed nothing.
"""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from fastwarc.warc import ArchiveIterator
from tests.crawling import digests_of, make_web, rows
from tests.hostile.damages import contents_of, strike
from tests.nursery import quick_workers
from tests.siege import Siege, check_stored, command_for, wait_until

from weft.app import run
from weft.cli import main
from weft.directory import Plan, locked, stored_plan
from weft.errors import WeftError
from weft.frontier.durable.checkpoint import fold
from weft.frontier.durable.records import records_of
from weft.frontier.shared.contract import FrontierAwayError, Limits
from weft.frontier.shared.sqlite import SqliteFrontier
from weft.manage import managing
from weft.repair import repair_crawl
from weft.soundness import read_log
from weft.store.sealed import final_files
from weft.store.verifying import members, unreadable
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

# Sealed and open files of all kinds, and a commit every tenth of a second: much can go wrong in few pages.
OPTIONS = ["--wait", "0.02", "--per-visit", "5", "--commit-every", "0.1", "--part-bytes", "4000", "--volume-bytes"]
OPTIONS += ["60000", "--retry-pauses", "0.1", "--checkpoint-bytes", "4000"]
OPTIONS += ["--speed", "20 pages/s"]
SLOWER = "1 pages/s"  # when half of the web is there: what is waited for then comes before the end, on any machine
pytestmark = pytest.mark.xdist_group("damage")  # the crawl that is damaged is made once
# Later it is no matter how often something is sealed or folded.
QUICK = {
    "speed": "1000 pages/s",
    "commit_every": 0.5,
    "part_bytes": 1_000_000,
    "volume_bytes": 1_000_000,
    "checkpoint_bytes": 1_000_000,
}
REPAIRED = 4  # of so many crawls that ended with a message one is repaired, and goes on
# What a run may change before it looks: settings, and the marks of its own beginning.
BEGINNINGS = {"crawl.toml", "seeds.txt", "frontier.db-shm"}


class Halfway(NamedTuple):
    """A crawl that was killed."""

    bed: Bed
    out: Path
    older: Path  # a copy of it, from some time before
    plan: Plan


def is_long(out: Path) -> bool:
    """Has the first worker's log so many records that half of them is more than may be lost?"""
    return sum(1 for _ in records_of(_log(out))) >= 8


@pytest.fixture(scope="module")
def halfway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Halfway]:
    """A crawl by two workers that was killed -9 when half of its web was stored."""
    folder = tmp_path_factory.mktemp("halfway")
    out = folder / "crawl"
    with serving(make_web(PLAIN, sites=20, pages=320)) as bed:
        command = command_for(bed, out, "--workers", "2", *OPTIONS)
        siege = Siege(command, folder / "output.txt")
        older = folder / "older"
        try:
            wait_until(lambda: len(bed.log()) > 90 or siege.over, "the crawl stands still")
            with suppress(shutil.Error):  # files come and go meanwhile
                shutil.copytree(out, older)
            wait_until(lambda: len(bed.log()) > 160 or siege.over, "the crawl stands still")
            with managing(out) as managed:
                managed.set_speed(SLOWER)
            wait_until(
                lambda: (sealed_some(out) and is_long(out) and moved_robots(out)) or siege.over, "nothing is sealed"
            )
            assert not siege.over, (folder / "output.txt").read_text()
            siege.stop()
        finally:
            siege.close()
        assert sealed_some(out)
        for path in out.glob("workers/*/frontier.log"):
            fold(path)  # if it was not done yet
        assert moved_robots(out)
        assert any(out.glob("workers/*/frontier-*.checkpoint"))
        plan = stored_plan(out)
        quick = plan.settings.with_values(QUICK, where="a test")
        yield Halfway(bed, out, older, dataclasses.replace(plan, settings=quick))


def sealed_some(out: Path) -> bool:
    """Are there files of both kinds: parts that are sealed, and volumes that still grow?"""
    return any(out.glob("pages/*.parquet")) and any(out.glob("volumes/*.open"))


def moved_robots(out: Path) -> bool:
    """Has a checkpoint robots.txt files?"""
    return any(out.glob("workers/*/frontier-*.robots"))


def go_on(halfway: Halfway, out: Path) -> tuple[int, str]:
    """Give the same command for a copy of the crawl; its exit code and what it said."""
    said: list[str] = []
    try:
        with quick_workers():
            run(dataclasses.replace(halfway.plan, out=out), show=said.append)
    except WeftError as error:
        return error.exit_code, "\n".join([*said, str(error)])
    return 0, "\n".join(said)


def check_untouched(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Nothing was cut or deleted; a run that begins may write settings, and that it began."""
    for name, content in before.items():
        if name not in BEGINNINGS:
            assert name in after, f"{name} is gone"
            assert after[name].startswith(content) or name.endswith("reading"), f"{name} was changed"


def struck(halfway: Halfway, out: Path, seed: int) -> str:
    """Damage a copy and go on: what was done, and what came of it."""
    shutil.copytree(halfway.out, out)
    kind = strike(out, halfway.older, random.Random(seed)).partition(" ")[0]
    return f"{kind}: {came_of(halfway, out, seed)}"


def came_of(halfway: Halfway, out: Path, seed: int) -> str:
    """Go on with a damaged copy: recovered, or a message and nothing changed."""
    before = contents_of(out)
    code, said = go_on(halfway, out)
    if code == 0:
        check_stored(halfway.bed, out)
        return "recovered"
    assert "Traceback" not in said, said
    assert "died by" not in said, said
    check_untouched(before, contents_of(out))
    if code == 1 and seed % REPAIRED == 0:
        report = repair_crawl(out, lambda _report: True)
        assert report.damages, said
        assert report.done
        assert not repair_crawl(out, lambda _report: True).damages
        code, said = go_on(halfway, out)
        assert code == 0, said
        check_repaired(halfway.bed, out)
    return "message"


def check_repaired(bed: Bed, out: Path) -> None:
    """Every page of the web has one row again, and its record."""
    truth = digests_of(bed.web)
    stored = rows(out, 'url, digest, volume, "offset"', "final and kind <> 'robots'")
    counts = Counter(row[0] for row in stored)
    twice = [url for url, count in counts.items() if count > 1]
    assert not twice, f"{len(twice)} pages have two final rows, such as {twice[0]}"
    missing = truth.keys() - counts.keys()
    assert not missing, f"{len(missing)} pages are missing, such as {min(missing)}"
    assert {row[0]: row[1] for row in stored} == truth
    starts = {path.name: {member.start for member in members(path)} for path in out.glob("volumes/*.gz")}
    for path in out.glob("volumes/*.gz"):
        with path.open("rb") as file:
            assert all(record.verify_block_digest() for record in ArchiveIterator(file, parse_http=False))
    assert all(offset in starts[volume] for _, _, volume, offset in stored)
    assert all(not unreadable(path) for _, path in final_files(out))


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("first", "damages"), [(0, 10), (10, 10), (20, 10), pytest.param(0, 200, marks=pytest.mark.soak)]
)
def test_damage__is_recovered_from_or_told(halfway: Halfway, tmp_path: Path, first: int, damages: int) -> None:
    """Of random damages to random files none costs a page, or stores one twice, without a word."""
    came: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(first, first + damages):
        out = tmp_path / str(seed)
        try:
            came[struck(halfway, out, seed)] += 1
        except AssertionError as error:
            wrong.append(f"{seed}: {strike_of(halfway, tmp_path, seed)}: {str(error)[:300]}")
        else:
            shutil.rmtree(out)
    print(f"\n{damages} damages: {dict(sorted(came.items()))}")  # noqa: T201  `make soak` shows it
    assert not wrong, "\n".join(wrong)


def _cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def _garble(path: Path, share: float) -> None:
    """Half a page of noise."""
    data = bytearray(path.read_bytes())
    at = int(len(data) * share)
    data[at : at + 2048] = random.Random(share).randbytes(len(data[at : at + 2048]))
    path.write_bytes(data)


@pytest.mark.faults
@pytest.mark.parametrize("name", ["frontier.db", "frontier.db-wal"])
@pytest.mark.parametrize(
    ("damage", "share"),
    [
        (_cut, 0.0),
        (_cut, 0.6),
        (_garble, 0.0),
        (_garble, 0.5),
        *(
            pytest.param(how, at / 10, marks=pytest.mark.soak)
            for how in (_cut, _garble)
            for at in (1, 2, 3, 4, 7, 8, 9)
        ),
    ],
)
def test_damage__of_the_global_frontier_is_recovered_from_or_told(
    halfway: Halfway,
    tmp_path: Path,
    name: str,
    damage: Callable[[Path, float], None],
    share: float,
) -> None:
    """Its file or its log of transactions is cut or garbled: no page is lost or stored twice without a word."""
    out = tmp_path / "crawl"
    shutil.copytree(halfway.out, out)
    damage(out / name, share)
    try:
        assert came_of(halfway, out, 0) in {"recovered", "message"}
    finally:
        shutil.rmtree(out)  # what is damaged cannot be looked at


def strike_of(halfway: Halfway, folder: Path, seed: int) -> str:
    """What was done, once more on a copy."""
    again = folder / f"again-{seed}"
    shutil.copytree(halfway.out, again)
    return strike(again, halfway.older, random.Random(seed))


# Single damages, each to be told by its name.


def _log(out: Path) -> Path:
    return out / "workers" / "0" / "frontier.log"


def _flip(path: Path, at: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(at * len(data))] ^= 1
    path.write_bytes(data)


def _cut_log(out: Path, share: float) -> None:
    os.truncate(_log(out), int(_log(out).stat().st_size * share))


def _older_frontier(out: Path, older: Path) -> None:
    for name in ("frontier.db", "frontier.db-wal"):
        shutil.copyfile(older / name, out / name)


def _shorter_wal(out: Path, _older: Path) -> None:
    """Its last transactions are gone, as when a disk did not keep its word."""
    path = out / "frontier.db-wal"
    os.truncate(path, path.stat().st_size * 3 // 4)


def _two_owners(out: Path, _older: Path) -> None:
    """A group that a log holds belongs to another worker."""
    held = {number: read_log(out, out / "workers" / str(number) / "frontier.log", 0).groups for number in (0, 1)}
    owner = max(held, key=lambda number: len(held[number]))
    with closing(sqlite3.connect(out / "frontier.db")) as base, base:
        base.execute("update groups set holder = ? where name = ?", (1 - owner, min(held[owner])))


def _garble_part(out: Path, _older: Path) -> None:
    _flip(min(out.glob("pages/part-*.parquet")), 0.5)


def _checkpoint(out: Path) -> Path:
    return max(out.glob("workers/*/frontier-*.checkpoint"))


def _segment(out: Path) -> Path:
    return min(_checkpoint(out).parent.glob("frontier-*.pages"))


NAMED: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "a byte at 5 % of a log": (lambda out, _: _flip(_log(out), 0.05), "workers/0/frontier.log"),
    "a byte at 30 % of a log": (lambda out, _: _flip(_log(out), 0.3), "workers/0/frontier.log"),
    "a log is empty": (lambda out, _: _cut_log(out, 0.0), "workers/0/frontier.log"),
    "a log is gone": (lambda out, _: _log(out).unlink(), "workers/0/frontier.log"),
    "a log is cut in half": (lambda out, _: _cut_log(out, 0.5), "workers/0/frontier.log"),
    "a worker's folder is gone": (lambda out, _: shutil.rmtree(_log(out).parent), "workers/0/frontier.log"),
    "a table of a checkpoint is garbled": (lambda out, _: _flip(_checkpoint(out) / "sites", 0.5), "/sites"),
    "a manifest of a checkpoint is cut": (
        lambda out, _: os.truncate(_checkpoint(out) / "manifest", 20),
        "/manifest",
    ),
    "a segment of a checkpoint is cut": (lambda out, _: os.truncate(_segment(out), 100), ".pages"),
    "a segment of a checkpoint is gone": (lambda out, _: _segment(out).unlink(), ".pages"),
    "the folder of workers has another name": (lambda out, _: (out / "workers").rename(out / "w"), "workers/0"),
    "the folder of pages has another name": (lambda out, _: (out / "pages").rename(out / "p"), "pages/part"),
    "the global frontier is from a backup": (_older_frontier, "frontier.db"),
    "the global frontier lost transactions": (_shorter_wal, "frontier.db"),
    "a group has another worker": (_two_owners, "frontier.db"),
    "the global frontier is gone": (lambda out, _: (out / "frontier.db").unlink(), "frontier.db"),
    "a sealed part is garbled": (_garble_part, "pages/part"),
}


@pytest.mark.faults
@pytest.mark.parametrize("name", NAMED)
def test_damage__of_one_kind_ends_the_run_with_one_message(halfway: Halfway, tmp_path: Path, name: str) -> None:
    """It names the file and the way out; no worker is started, and nothing is changed. Repaired, nothing is missing."""
    damage, where = NAMED[name]
    out = tmp_path / "crawl"
    shutil.copytree(halfway.out, out)
    damage(out, halfway.older)
    before = contents_of(out)
    code, said = go_on(halfway, out)
    assert code == 1
    assert len(said.splitlines()) == 1
    assert where in said
    assert "weft repair" in said
    check_untouched(before, contents_of(out))
    refused = repair_crawl(out, lambda _report: False)
    assert refused.damages
    assert not refused.done
    check_untouched(before, contents_of(out))
    assert repair_crawl(out, lambda _report: True).done
    code, said = go_on(halfway, out)
    assert code == 0, said
    check_repaired(halfway.bed, out)


@pytest.mark.faults
@pytest.mark.parametrize("how", [_cut, _garble])
def test_repair__asks_again_for_robots_files_that_are_damaged(
    halfway: Halfway, tmp_path: Path, how: Callable[[Path, float], None]
) -> None:
    """What may not be what a server sent is neither obeyed nor read: the crawl goes on as if nobody had asked."""
    out = tmp_path / "crawl"
    shutil.copytree(halfway.out, out)
    for segment in out.glob("workers/*/frontier-*.robots"):
        how(segment, 0.5)
    assert came_of(halfway, out, seed=0) == "message"


def test_repair__of_a_sound_crawl_changes_nothing(halfway: Halfway, tmp_path: Path) -> None:
    """What kill -9 left is no damage."""
    out = tmp_path / "crawl"
    shutil.copytree(halfway.out, out)
    before = contents_of(out)
    assert not repair_crawl(out, lambda _report: True).damages
    check_untouched(before, contents_of(out))


def test_repair__of_a_running_crawl_is_refused(halfway: Halfway) -> None:
    """It would take away what workers write to."""
    with locked(halfway.out), pytest.raises(WeftError, match="running"):
        repair_crawl(halfway.out, lambda _report: True)


def test_repair__tells_before_it_does(halfway: Halfway, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --yes, and without somebody to ask, it says what is lost and changes nothing."""
    out = tmp_path / "crawl"
    shutil.copytree(halfway.out, out)
    _garble_part(out, halfway.older)
    before = contents_of(out)
    with pytest.raises(SystemExit) as ended:
        main(["repair", str(out), "--check"])
    said = capsys.readouterr().out
    assert ended.value.code == 1
    assert "pages that were stored are fetched again" in said
    check_untouched(before, contents_of(out))


def test_global_frontier__that_is_locked_says_by_whom(tmp_path: Path) -> None:
    """The process is named; the disk is not blamed."""
    path = tmp_path / "frontier.db"
    SqliteFrontier.create(path, by_size=False, seeds=["http://a.example/"])
    with closing(SqliteFrontier(path)) as other, closing(SqliteFrontier(path, patience=0.1)) as shared:
        shared.prepare(1, Limits(max_pages=None))
        named = pytest.raises(FrontierAwayError, match=f"locked by process {os.getpid()}")
        with other._file.transaction(), named as caught:
            shared.begin(0)
        assert "disk" not in str(caught.value)
        assert shared.begin(0).incarnation == 1
