"""Pages read in a child process: the same answers, and limits that hold. The children are real."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import uvloop
from tests.patience import PATIENCE

from weft.model import Kind, Page, Parsed, Reason
from weft.parse.apart import Apart
from weft.parse.options import Reading
from weft.parse.page import Parser

SETTINGS = Reading(requisites=True)
NORMAL = b"<html lang=de><title>T</title><a href=x>x</a><a rel=nofollow href=y>y</a><img src=z>"
SLOW = b"<a href=x>" * 3_000_000  # seconds, and most of a gigabyte


def page(body: bytes, url: str = "http://site.test/a/", **headers: str) -> Page:
    """A page with this content."""
    named = {"content-type": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Page(url, 200, None, b"", b"HTTP/1.1 200 OK\r\n\r\n", named, body, "", "", "", 0.0, 0.0, 0.0, closed=False)


async def ask(reader: Apart, asked: Page, kind: int = Kind.A) -> Parsed:
    """What is in a page, by the child."""
    answer: asyncio.Future[Parsed] = asyncio.get_running_loop().create_future()
    reader.parse(asked, kind, answer.set_result)
    return await answer


def run(work: Callable[[Apart], Awaitable[None]], *, seconds: float = 30.0, memory: int = 1_000_000_000) -> None:
    """Run something with a child, on the event loop of a crawl; nothing is left of the child afterwards."""

    async def whole() -> None:
        reader = Apart(SETTINGS, "weft", seconds=seconds, memory=memory)
        try:
            await work(reader)
        finally:
            pid = reader.pid
            reader.stop()
            assert reader.pid is None
            assert pid is None or not _exists(pid)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(whole())


def until(true: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Whether something becomes true before a deadline."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        (page(NORMAL), Kind.A),
        (page(gzip.compress(NORMAL), content_encoding="gzip", x_robots_tag="nofollow"), Kind.A),
        (page("<title>Яж</title><a href=?я>".encode("cp1251"), content_type="text/html;charset=cp1251"), Kind.A),
        (page(b"\xff\xfe\x00<a href='\xed\xa0\x80'>"), Kind.A),
        (page(b"<urlset><url><loc>http://a.test/</loc></url></urlset>", content_type="text/xml"), Kind.MAP),
        (page(b"", content_encoding="unknown"), Kind.SEED),
        (page(b"<a href=/some/where/else>x</a>" * 300_000), Kind.A),
    ],
)
def test_page__is_read_as_by_the_parser_itself(asked: Page, kind: Kind) -> None:
    """The border between the processes changes nothing, whatever the size and the charset."""

    async def work(reader: Apart) -> None:
        assert await ask(reader, asked, kind) == Parser(SETTINGS, "weft").parse(asked, kind)

    run(work)


def test_time__that_runs_out_is_the_pages_reason_and_no_other_pages() -> None:
    """A page that takes too long has no links, and the next one is read."""

    async def work(reader: Apart) -> None:
        await ask(reader, page(NORMAL))
        began = time.monotonic()
        parsed = await ask(reader, page(SLOW, "http://slow.test/"))
        assert 0.9 <= time.monotonic() - began < PATIENCE
        assert parsed == Parsed("", "", "", "", "http://slow.test/", [], [], follow=False, reason=Reason.HOSTILE)
        assert (await ask(reader, page(NORMAL))).title == "T"

    run(work, seconds=1.0)


def test_memory__that_runs_out_is_the_pages_reason() -> None:
    """A page that becomes too large in memory has no links; what fits is read, and the next page is."""

    async def work(reader: Apart) -> None:
        assert (await ask(reader, page(NORMAL))).title == "T"
        first = reader.pid
        parsed = await ask(reader, page(SLOW))
        assert (parsed.reason, parsed.links, parsed.follow) == (Reason.HOSTILE, [], False)
        assert reader.pid != first
        assert (await ask(reader, page(NORMAL))).title == "T"

    run(work, seconds=60.0, memory=200_000_000)


def test_child__that_is_killed_costs_one_page() -> None:
    """From outside, in the middle of a page: that page has a reason, the next one a new child."""

    async def work(reader: Apart) -> None:
        await ask(reader, page(NORMAL))
        first = reader.pid
        assert first is not None
        asyncio.get_running_loop().call_later(0.2, os.kill, first, signal.SIGKILL)
        assert (await ask(reader, page(SLOW))).reason is Reason.HOSTILE
        assert (await ask(reader, page(NORMAL))).title == "T"
        assert reader.pid != first

    run(work)


def test_child__that_dies_idle_costs_no_page() -> None:
    """The next page has a new one."""

    async def work(reader: Apart) -> None:
        await ask(reader, page(NORMAL))
        first = reader.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        while reader.pid is not None:  # noqa: ASYNC110  the crawl is not told of it either
            await asyncio.sleep(0.01)
        assert (await ask(reader, page(NORMAL))).title == "T"

    run(work)


def test_child__that_cannot_start_is_our_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages get their answers all the same, and are not called hostile."""

    async def work(reader: Apart) -> None:
        for executable in ("/bin/false", "/does/not/exist"):
            monkeypatch.setattr(sys, "executable", executable)
            answers = await asyncio.gather(*(ask(reader, page(NORMAL)) for _ in range(3)))
            assert [parsed.reason for parsed in answers] == [Reason.INTERNAL] * 3
        monkeypatch.undo()
        assert (await ask(reader, page(NORMAL))).title == "T"

    run(work)


def test_answers__come_in_the_order_of_the_requests() -> None:
    """Large and small pages, and a hostile one among them, by one child before it and one after it."""

    async def work(reader: Apart) -> None:
        come: list[str] = []
        over = asyncio.get_running_loop().create_future()
        asked = [f"http://site.test/{number}" for number in range(200)]

        def done(parsed: Parsed) -> None:
            come.append(parsed.base)
            assert (parsed.reason is Reason.HOSTILE) == (len(come) == 101)
            if len(come) == len(asked):
                over.set_result(None)

        for number, url in enumerate(asked):
            body = SLOW if number == 100 else NORMAL + b"x" * (number % 7 * 100_000)
            reader.parse(page(body, url), Kind.A, done)
        await over
        assert come == asked

    run(work, seconds=1.5)


def test_answer__may_ask_for_another_page() -> None:
    """A visit that goes on at once asks from within its answer."""

    async def work(reader: Apart) -> None:
        over = asyncio.get_running_loop().create_future()
        left = [3]

        def done(parsed: Parsed) -> None:
            assert parsed.title == "T"
            left[0] -= 1
            if left[0]:
                reader.parse(page(NORMAL), Kind.A, done)
            else:
                over.set_result(None)

        reader.parse(page(NORMAL), Kind.A, done)
        await over

    run(work)


def test_stop__leaves_no_process_behind() -> None:
    """Not even in the middle of a page; those that wait get no answer."""

    async def work(reader: Apart) -> None:
        await ask(reader, page(NORMAL))
        pid = reader.pid
        assert pid is not None
        reader.parse(page(SLOW), Kind.A, lambda _: pytest.fail("an answer"))
        reader.parse(page(NORMAL), Kind.A, lambda _: pytest.fail("an answer"))
        await asyncio.sleep(0.05)
        reader.stop()
        assert reader.pid is None
        assert not _exists(pid)
        await asyncio.sleep(0.05)

    run(work)


def test_child__has_no_files_of_the_crawl(tmp_path: Path) -> None:
    """Only its two pipes and nowhere; neither sockets nor the crawl's output."""

    async def work(reader: Apart) -> None:
        with (tmp_path / "out").open("wb") as held:
            os.set_inheritable(held.fileno(), True)
            await ask(reader, page(NORMAL))
            files, limits = _files_and_limits(reader.pid)
        assert files == {"pipe", "/dev/null"}
        assert "Max core file size        0                    0" in limits
        assert "Max address space         unlimited" not in limits

    run(work)


PARENT = """
import asyncio, sys
sys.path[:0] = {path!r}
from weft.model import Page
from weft.parse.apart import Apart
from weft.parse.options import Reading

async def main():
    def page(body):
        return Page("http://a.test/", 200, None, b"", b"", {{}}, body, "", "", "", 0.0, 0.0, 0.0, closed=False)
    reader = Apart(Reading(), "weft", seconds=1000.0)
    read = asyncio.get_running_loop().create_future()
    reader.parse(page(b"<html>"), 0, read.set_result)
    await read
    if {busy}:
        reader.parse(page(b"<a href=x>" * 2_000_000), 0, print)
        await asyncio.sleep(0.1)
    print(reader.pid, flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


@pytest.fixture(params=[False, True], ids=["idle", "busy"])
def parent(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A process that has a child, and has said its number."""
    script = PARENT.format(path=sys.path, busy=request.param)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_child__ends_with_its_parent(parent: subprocess.Popen[str]) -> None:
    """Even with one that is killed, and in the middle of a page."""
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert _exists(pid)
    parent.kill()
    parent.wait()
    assert until(lambda: _is_gone(pid))


def _exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _files_and_limits(pid: int | None) -> tuple[set[str], str]:
    """What a process has open, and what it may do."""
    process = Path(f"/proc/{pid}")
    files = {str(entry.readlink()).partition(":")[0] for entry in (process / "fd").iterdir()}
    return files, (process / "limits").read_text(encoding="ascii")


def _is_gone(pid: int) -> bool:
    """No such process, or only its number is left: who inherits it may never ask for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
