"""How a crawl ends, and what is said of it: never complete with pages pending, no failure that nobody hears of."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import crawling, ending
from tests.crawling import make_web, settings_for
from tests.siege import Siege, command_for, wait_until

import weft
from weft.errors import UsageError, WeftError
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web of a few sites."""
    with serving(make_web(PLAIN, sites=12, pages=240, largest=60)) as bed:
        yield bed


def said(*arguments: str, code: int = 0) -> str:
    """What a command prints, whatever its exit code."""
    ended, out, err = ending(*arguments)
    assert ended == code, (out, err)
    return out


@pytest.fixture
def nobody() -> Iterator[str]:
    """A URL at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/"


# Limits.


def test_time_limit__is_the_end_and_not_completeness(bed: Bed, tmp_path: Path) -> None:
    """It says which limit it was, in the summary and in the status; a higher one goes on to the end."""
    out = tmp_path / "crawl"
    limited = ("--max-time", "2", "--speed", "20 pages/s")
    slow = crawling(bed, out, *limited, codes=(0, 1))  # on a busy machine not one page may have come by then
    assert (slow["why"], slow["pending"] > 0) == ("time limit", True)
    assert json.loads(said("status", str(out), "--json"))["over"] == "time limit"
    again = said(*command_for(bed, out, "--wait", "0", "--max-time", "2")[3:], code=int(slow["counts"]["good"] == 0))
    assert "Stopped at the time limit" in again
    assert "raise --max-time" in again
    assert "complete" not in again
    rest = crawling(bed, out, "--speed", "none")
    assert (rest["why"], rest["pending"], rest["counts"]["pages"]) == ("done", 0, 240)


def test_page_limit__is_kept_to_the_page_and_the_last_one_is_fetched(bed: Bed, tmp_path: Path) -> None:
    """With two workers, fresh and one page at a time after that."""
    out = tmp_path / "crawl"
    for most in (50, 51, 52, 60):
        summary = crawling(bed, out, "--max-pages", str(most))
        assert (summary["why"], summary["counts"]["pages"]) == ("page limit", most)
    assert crawling(bed, out)["why"] == "done"


def test_finished_crawl__says_that_nothing_was_left_to_do(bed: Bed, tmp_path: Path) -> None:
    """And counts what rules refused as before."""
    out = tmp_path / "crawl"
    first = crawling(bed, out, "--max-url", "40")
    assert (first["why"], first["fetched"] > 0) == ("done", True)
    assert first["refused"]
    second = crawling(bed, out, "--max-url", "40")
    assert (second["why"], second["fetched"], second["refused"]) == ("done", 0, first["refused"])
    assert "Nothing was left to do" in said(*command_for(bed, out, "--wait", "0", "--max-url", "40")[3:])
    three = said(*command_for(bed, out, "--wait", "0", "--max-url", "40", "--workers", "3", "--json")[3:])
    assert json.loads(three)["sites"] == first["sites"] > 0, "sites that are with no worker any more count as before"


def test_stop__is_an_end_by_its_own_name(bed: Bed, tmp_path: Path) -> None:
    """`weft stop` ends a run; nothing is said to be complete."""
    out = tmp_path / "crawl"
    siege = Siege(command_for(bed, out, "--wait", "0", "--speed", "20 pages/s"), tmp_path / "output.txt")
    try:
        log = out / "log" / "crawl.log"
        wait_until(lambda: log.exists() and log.stat().st_size > 0, "no page")
        said("stop", str(out))
        assert siege.finish() == 0
    finally:
        siege.close()
    output = (tmp_path / "output.txt").read_text(encoding="utf-8")
    assert "\nStopped.\n" in output
    assert "complete" not in output


# A site that cannot be reached.


def test_site__that_is_down_is_an_error_everywhere(nobody: str, tmp_path: Path) -> None:
    """In the exit code, the summary, the log of failures and the explanation."""
    out = tmp_path / "crawl"
    options = ["--out", str(out), "--retry-pauses", "0.1", "--wait", "0"]
    summary = json.loads(said("crawl", nobody, *options, "--json", code=1))
    assert summary["reasons"]["connect-refused"] > 0
    assert "not one page could be had" in said("crawl", nobody, *options, code=1)
    assert "connect-refused" in said("log", str(out), "--failed")
    explained = said("explain", str(out), nobody)
    assert "site-failed" in explained
    assert "connect-refused" in explained
    assert json.loads(said("status", str(out), "--json"))["errors"]["connect-refused"] > 0


def test_site__that_is_down_is_an_error_while_it_happens(nobody: str, tmp_path: Path) -> None:
    """While the crawl waits for the next try, the status and the explanation name what is wrong."""
    out = tmp_path / "crawl"
    command = [sys.executable, "-m", "weft", "crawl", nobody, "--out", str(out), "--retry-pauses", "600"]
    siege = Siege(command, tmp_path / "output.txt")
    try:
        log = out / "log" / "crawl.log"
        wait_until(lambda: log.exists() and "connect-refused" in log.read_text("utf-8"), "nothing was tried")
        wait_until(
            lambda: "connect-refused" in json.loads(said("status", str(out), "--json"))["errors"], "no error is told"
        )
        wait_until(lambda: "connect-refused" in said("explain", str(out), nobody), "nothing is explained")
    finally:
        siege.process.send_signal(signal.SIGTERM)
        siege.finish()


def test_application__hears_of_a_seed_that_could_not_be_had(nobody: str, tmp_path: Path) -> None:
    """Whether the page was asked for or its site given up before."""
    heard: list[tuple[str, str]] = []

    class Listening(weft.Application):
        def failed(self, url: str, reason: str) -> None:
            heard.append((url, reason))

    summary = weft.crawl([nobody], tmp_path / "crawl", application=Listening(), retry_pauses=(0.1,), wait=0.0)
    assert heard == [(nobody, "site-failed")]
    assert summary.failed


# What is said.


@pytest.mark.restarts
def test_restart__is_told_in_summary_status_and_log(bed: Bed, tmp_path: Path) -> None:
    """A worker that is killed from outside is started again, and everybody can read of it."""
    out = tmp_path / "crawl"
    command = command_for(bed, out, "--wait", "0", "--workers", "2", "--speed", "40 pages/s")
    siege = Siege(command, tmp_path / "output.txt")
    try:
        log = out / "log" / "crawl.log"
        wait_until(lambda: log.exists() and len(siege.workers()) == 2, "no workers")
        siege.workers_killed += 1
        subprocess.run(["kill", "-9", str(siege.workers()[0])], check=True)
        assert siege.finish() == 0
    finally:
        siege.close()
    output = (tmp_path / "output.txt").read_text(encoding="utf-8")
    assert "died by signal 9; it is started again" in output
    assert "workers were started again 1 time:" in output
    found = json.loads(said("status", str(out), "--json"))
    assert (found["restarted"], found["restarts"][0]["how"]) == (1, "signal 9")
    assert "died by signal 9" in (out / "log" / "messages.log").read_text(encoding="utf-8")


def test_worker__that_cannot_go_on_is_heard_by_the_display(bed: Bed, tmp_path: Path) -> None:
    """Its last words are in the error of the command, also where a display would have wiped them."""
    out = tmp_path / "crawl"
    crawling(bed, out, "--max-pages", "5")
    (out / "log" / "crawl.log").unlink()
    (out / "log" / "crawl.log").mkdir()
    code, _, err = ending(*command_for(bed, out, "--wait", "0", "--workers", "2")[3:])
    assert code == 1
    assert "crawl.log" in err.splitlines()[-1], "the reason is part of the message"
    assert "could not go on" in err
    assert "crawl.log" in (out / "log" / "messages.log").read_text(encoding="utf-8")


class Mistaken(weft.Application):
    """An application with a slip of the pen."""

    def visited(self, page: weft.FetchedPage) -> list[str]:
        """Raise."""
        return page.linksx  # type: ignore[attr-defined, no-any-return]


@pytest.mark.faults
def test_application__that_raises_is_told_with_its_line_and_costs_no_page(
    bed: Bed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once on the terminal, every time in the file; the pages are stored all the same."""
    settings = {name: getattr(settings_for(bed).naming, name) for name in ("dns",)}
    seeds = bed.seeds()[:3]
    summary = weft.crawl(
        seeds, tmp_path / "crawl", application=Mistaken(), wait=0.0, allow_address=["127.0.0.0/8"], **settings
    )
    shown = capsys.readouterr().err
    assert shown.count("AttributeError") == 1
    assert "test_endings.py:" in shown
    assert summary.counts.application_faults == len(seeds)
    assert summary.counts.good == len(seeds)
    faults = (tmp_path / "crawl" / "log" / "faults.log").read_text(encoding="utf-8")
    assert faults.count("return page.linksx") == len(seeds)


@pytest.mark.faults
def test_application__that_raises_ends_a_strict_crawl(bed: Bed, tmp_path: Path) -> None:
    """With its line in the message."""
    dns = settings_for(bed).naming.dns
    with pytest.raises(WeftError, match=r"AttributeError.*test_endings\.py:\d+"):
        weft.crawl(
            bed.seeds()[:3],
            tmp_path / "crawl",
            application=Mistaken(),
            wait=0.0,
            allow_address=["127.0.0.0/8"],
            dns=dns,
            strict_application=True,
        )


@pytest.mark.parametrize("wrong", [object(), Mistaken, "an application", 5])
def test_application__that_is_none_is_refused_before_anything_is_written(tmp_path: Path, wrong: Any) -> None:
    """A class instead of an object, or something else altogether."""
    with pytest.raises(UsageError, match="application"):
        weft.crawl(["http://127.0.0.1:1/"], tmp_path / "crawl", application=wrong)
    assert not (tmp_path / "crawl").exists()
