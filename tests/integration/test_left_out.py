"""A worker that keeps dying is left out, and what it held is crawled by the others."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from tests.commands import weft
from tests.crawling import digests_of, make_web, rows, settings_for
from tests.nursery import Nursed, nursery

from weft import app
from weft.directory import Plan
from weft.engine.progress import Statistics
from weft.errors import WeftError
from weft.frontier.shared.opening import open_frontier
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

DYING = 1  # the number of the worker that does


class Dying:
    """Starts workers: one of them works until it has fetched something, is killed, and dies at each other start."""

    def __init__(self) -> None:
        self.starts = 0
        self.first: Nursed | None = None
        self.killed = False
        self._committed: int | None = None  # when it was first said to have fetched something

    def popen(self, command: list[str], **given: Any) -> Any:
        """As `subprocess.Popen` does."""
        if command[-2] != str(DYING):
            return nursery().popen(command, **given)
        self.starts += 1
        if self.starts == 1:
            self.first = nursery().popen(command, **given)
            return self.first
        return subprocess.Popen(["sh", "-c", "kill -9 $$"], **given)

    def watch(self, out: Path) -> None:
        """Kill it when it holds groups, and has fetched something: a commit later than it said so, that is kept."""
        if not self.killed and self.first is not None:
            shared = open_frontier(out, read_only=True)
            try:
                fetching = [each for each in shared.workers() if each.number == DYING and each.pages > 0]
            finally:
                shared.close()
            if fetching and self._committed is None:
                self._committed = fetching[0].applied
            elif fetching and fetching[0].applied > (self._committed or 0):
                self.first.kill()
                self.killed = True


def crawled(bed: Bed, out: Path, workers: int, dying: Dying) -> app.Summary:
    """Crawl with such workers."""
    settings = settings_for(bed, workers=workers, most_restarts=2, speed="60 pages/s", commit_every=0.2)
    plan = Plan(seeds=bed.seeds(), out=out, settings=settings, watched=True)

    def watch(_statistics: Statistics) -> None:
        dying.watch(out)

    starting = SimpleNamespace(Popen=dying.popen, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
    with mock.patch.object(app, "subprocess", starting):
        return app.run(plan, watch=watch)


@pytest.mark.restarts
def test_worker__that_keeps_dying_is_left_out_and_nothing_is_lost(tmp_path: Path) -> None:
    """Every page is stored once, though it held some of them; summary, status and log tell of it."""
    out, dying = tmp_path / "crawl", Dying()
    with serving(make_web(PLAIN, sites=60, pages=500)) as bed:
        done = crawled(bed, out, 2, dying)
        assert dying.killed
        assert done.why == "done"
        found = rows(out, "url, digest", "final and kind <> 'robots'")
        assert len(found) == len(dict(found))
        assert dict(found) == digests_of(bed.web)
    assert dying.starts == 3, "it was started again twice"
    assert list(done.left_out) == [DYING]
    assert "in a row without a commit" in done.left_out[DYING]
    state = json.loads(weft("status", str(out), "--json"))
    assert [worker["number"] for worker in state["workers"] if worker["left_out"]] == [DYING]
    assert "left out" in weft("status", str(out))
    assert "worker 1 is left out of this run" in (out / "log" / "messages.log").read_text(encoding="utf-8")
    owners = rows(out, "distinct worker", "true")
    assert (DYING,) in owners, "it had fetched some before"


@pytest.mark.restarts
def test_worker__the_only_one_that_keeps_dying_ends_the_crawl(tmp_path: Path) -> None:
    """There is nobody to take over: the message says what to do, and the next run goes on."""
    out = tmp_path / "crawl"
    with serving(make_web(PLAIN, sites=3, pages=30)) as bed:
        settings = settings_for(bed, workers=1, most_restarts=1)
        plan = Plan(seeds=bed.seeds(), out=out, settings=settings, watched=True)

        def popen(_command: list[str], **given: Any) -> Any:
            return subprocess.Popen(["sh", "-c", "kill -9 $$"], **given)

        starting = SimpleNamespace(Popen=popen, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
        with (
            mock.patch.object(app, "subprocess", starting),
            pytest.raises(WeftError, match="2 times in a row") as caught,
        ):
            app.run(plan)
        assert "run the same command again" in caught.value.todo
        assert app.run(Plan(seeds=bed.seeds(), out=out, settings=settings)).why == "done"
