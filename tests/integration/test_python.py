"""`weft.crawl` wherever Python runs: in a thread, beside an event loop, in a notebook."""

from __future__ import annotations

import asyncio
import json
import os
import pydoc
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from tests.crawling import make_web, rows
from tests.live import live
from tests.patience import PATIENCE

import weft
from weft.directory import locked
from weft.errors import UsageError, WeftError
from weft.keywords import SiteKeywords
from weft.manage import is_running
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A small web without failures."""
    with serving(make_web(PLAIN, sites=10, pages=200)) as bed:
        yield bed


def quick(bed: Bed, **settings: Any) -> Any:
    """Settings that reach the bed and do not wait."""
    common = {"dns": [bed.dns], "allow_address": ["127.0.0.0/8"], "wait": 0.0, "per_visit": 10, "scope": "all"}
    return {**common, "commit_every": 0.2, **settings}


class Threads(weft.Application):
    """Notes the thread in which it is called."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visited(self, page: weft.FetchedPage) -> list[str]:
        """Follow every link."""
        self.names.add(threading.current_thread().name)
        return page.links


def good(summary: weft.Summary) -> None:
    """A crawl that has everything: pages, and nothing pending; all of it sealed."""
    assert (summary.why, summary.pending) == ("done", 0)
    assert rows(summary.out, "count(*)", "kind <> 'robots' and final") == [(200,)]


def test_crawl__in_a_thread(bed: Bed, tmp_path: Path) -> None:
    """In the caller's own thread, where the application is called too."""
    found: list[weft.Summary] = []
    application = Threads()

    def crawl() -> None:
        found.append(weft.crawl(bed.seeds(), tmp_path / "out", application=application, **quick(bed)))

    thread = threading.Thread(target=crawl, name="mine")
    thread.start()
    thread.join(PATIENCE)
    good(found[0])
    assert application.names == {"mine"}


def test_crawl__with_several_workers_in_a_thread(bed: Bed, tmp_path: Path) -> None:
    """Worker processes end with the crawl, not with something that their thread is not."""
    found: list[weft.Summary] = []
    thread = threading.Thread(
        target=lambda: found.append(weft.crawl(bed.seeds(), tmp_path / "out", **quick(bed, workers=2)))
    )
    thread.start()
    thread.join(PATIENCE)
    assert (found[0].why, found[0].pending) == ("done", 0)


@live
async def test_crawl__beside_a_running_loop(bed: Bed, tmp_path: Path) -> None:
    """As in a notebook: it blocks, and the crawl has a thread of its own."""
    application = Threads()
    good(weft.crawl(bed.seeds(), tmp_path / "out", application=application, **quick(bed)))
    assert application.names == {"crawl out"}


@live
async def test_crawl__raises_what_went_wrong_in_its_thread(bed: Bed, tmp_path: Path) -> None:
    """An error comes to the caller, beside a loop as elsewhere."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        weft.crawl(bed.seeds(), tmp_path / "out", **quick(bed))


@live
async def test_crawl_async__does_not_block_the_loop(bed: Bed, tmp_path: Path) -> None:
    """Other tasks run meanwhile, for the second that it lasts on any machine."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    counting = asyncio.create_task(count())
    good(await weft.crawl_async(bed.seeds(), tmp_path / "out", **quick(bed, speed="200 pages/s")))
    counting.cancel()
    assert turns > 5


@live
async def test_crawl_async__two_at_once(bed: Bed, tmp_path: Path) -> None:
    """Each in a thread of its own."""
    both = [weft.crawl_async(bed.seeds(), tmp_path / name, **quick(bed)) for name in ("one", "two")]
    for summary in await asyncio.gather(*both):
        good(summary)


@live
async def test_crawl_async__stops_cleanly_when_it_is_cancelled(bed: Bed, tmp_path: Path) -> None:
    """Everything is committed when the cancellation goes on, and a second call goes on with the crawl."""
    begun = asyncio.Event()
    events = asyncio.get_running_loop()

    def watch(statistics: Any) -> None:
        if statistics.counts.pages > 3:
            events.call_soon_threadsafe(begun.set)

    slow = quick(bed, speed="20 pages/s")
    task = asyncio.create_task(weft.crawl_async(bed.seeds(), tmp_path / "out", watch=watch, **slow))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(tmp_path / "out")
    before = rows(tmp_path / "out", "count(*)", "kind <> 'robots' and final")[0][0]
    assert 0 < before < 200
    assert not list((tmp_path / "out").rglob("*.open"))
    good(await weft.crawl_async(bed.seeds(), tmp_path / "out", **quick(bed, speed="none")))


INTERRUPTED = """
import asyncio, json, sys, weft
async def cell():
    settings = json.loads(sys.argv[3])
    def watch(statistics):
        if statistics.counts.pages > 3:
            print("going", flush=True)
    summary = weft.crawl(json.loads(sys.argv[1]), sys.argv[2], watch=watch, **settings)
    print(summary.why, flush=True)
loop = asyncio.new_event_loop()
loop.run_until_complete(cell())
"""


def test_crawl__interrupted_beside_a_running_loop_ends_cleanly(bed: Bed, tmp_path: Path) -> None:
    """KeyboardInterrupt, as a notebook's stop button makes one, ends the crawl with its last commit."""
    settings = json.dumps(quick(bed, speed="20 pages/s"))
    command = [sys.executable, "-c", INTERRUPTED, json.dumps(bed.seeds()), str(tmp_path / "out"), settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "going\n"
        os.kill(process.pid, signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 0
    assert rest.splitlines()[-1] == "interrupted"
    assert not list((tmp_path / "out").rglob("*.open"))
    assert 0 < rows(tmp_path / "out", "count(*)", "kind <> 'robots' and final")[0][0] < 200


def test_notebook__of_the_examples_runs(tmp_path: Path) -> None:
    """Every cell, in a kernel."""
    notebook = nbformat.read(ROOT / "examples" / "first_crawl.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=int(PATIENCE), resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = "".join(
        output.get("text", "") for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    )
    assert "done" in said
    assert "200" in said


# What is given, and what is there already.


def test_seeds__as_one_text_are_one_seed(bed: Bed, tmp_path: Path) -> None:
    """Not its letters."""
    summary = weft.crawl(bed.seeds()[0], tmp_path / "out", **quick(bed, scope="list"))
    assert summary.counts.pages == 1


def test_fresh__begins_anew(bed: Bed, tmp_path: Path) -> None:
    """The crawl that was there is gone, whatever it was."""
    seed, other = bed.seeds()[:2] if len(bed.seeds()) > 1 else (bed.seeds()[0], bed.url(7))
    weft.crawl(seed, tmp_path / "out", **quick(bed, scope="list"))
    again = weft.crawl(seed, tmp_path / "out", **quick(bed, scope="list"))
    assert again.counts.pages == 1, "it went on, and nothing was left"
    summary = weft.crawl(other, tmp_path / "out", fresh=True, **quick(bed, scope="list"))
    assert summary.counts.pages == 1
    assert rows(tmp_path / "out", "url", "kind <> 'robots'") == [(other,)]


def test_fresh__removes_nothing_but_a_crawl(bed: Bed, tmp_path: Path) -> None:
    """A folder of other things, a crawl with other things in it, and one that is running stay as they are."""
    seed = bed.seeds()[0]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="no crawl of ours"):
        weft.crawl(seed, tmp_path / "mine", fresh=True, **quick(bed))
    assert (tmp_path / "mine" / "thesis.txt").exists()
    out = tmp_path / "out"
    weft.crawl(seed, out, **quick(bed, scope="list"))
    with locked(out), pytest.raises(WeftError, match="running"):
        weft.crawl(seed, out, fresh=True, **quick(bed, scope="list"))
    (out / "notes.txt").write_text("x")
    with pytest.raises(UsageError, match=r"notes\.txt"):
        weft.crawl(seed, out, fresh=True, **quick(bed, scope="list"))
    assert rows(out, "count(*)", "kind <> 'robots'") == [(1,)]


def test_application__is_any_object_with_two_methods(bed: Bed, tmp_path: Path) -> None:
    """Redirects pass it by."""

    class Duck:
        def __init__(self) -> None:
            self.seen = 0

        def visited(self, page: weft.FetchedPage) -> list[str]:
            self.seen += 1
            return [*page.links, "http://", f"{page.url}missing-page"]

        def failed(self, url: str, reason: str) -> None:
            assert url
            assert reason

    duck: Any = Duck()
    weft.crawl(bed.seeds()[:1], tmp_path / "out", application=duck, **quick(bed, max_pages=20))
    assert duck.seen > 5
    assert not (tmp_path / "out" / "log" / "faults.log").exists()


def test_sites__are_settings_of_single_sites(bed: Bed, tmp_path: Path) -> None:
    """By name; what is unknown is refused as in a settings file."""
    with pytest.raises(UsageError, match="did you mean 'wait'"):
        weft.crawl(bed.seeds(), tmp_path / "out", sites={"a.org": {"wiat": 1.0}}, **quick(bed))  # type: ignore[typeddict-unknown-key]
    graph = bed.web.graph
    largest = int((graph.first_page[1:] - graph.first_page[:-1]).argmax())
    seed = bed.web.url(int(graph.first_page[largest]))
    sites: dict[str, SiteKeywords] = {seed.split("/")[2]: {"max_pages": 3}}
    summary = weft.crawl(seed, tmp_path / "out", sites=sites, **quick(bed, scope="site"))
    assert summary.counts.pages == 3


def test_help__tells_what_a_page_has() -> None:
    """In a terminal or a notebook."""
    told = pydoc.plain(pydoc.render_doc(weft.FetchedPage))
    for name in ("url", "method", "depth", "status", "headers", "title", "type", "language", "body", "text", "links"):
        assert f"\n |  {name}\n" in told
        assert getattr(weft.FetchedPage, name).__doc__
    assert {"crawl", "crawl_async", "FetchedPage"} <= set(dir(weft))
