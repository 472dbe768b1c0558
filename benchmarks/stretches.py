"""The longest stretch between two awaits while a worker is attacked, in milliseconds of CPU, and its memory.

Every attack of `tests.hostile.answers` is crawled by a worker in a process of its own, with an innocent site beside it.
A stretch is one callback of the event loop: nobody else has a turn in it. Then what is stored of real sites and other
people's tests is read, page by page. `python -m benchmarks.stretches [NAME …]`; `make bench PARTS=stretches` keeps the
result. Others on the machine make a stretch longer: with TIMES=3 in the environment every attack is crawled three
times, and the shortest of its longest stretches counts, as what the code itself takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.hostile.answers import ATTACKS, Attack, innocent, served

from benchmarks.machine import description, peak_mb
from weft.clock import SystemClock
from weft.config import Settings
from weft.directory import Plan, write_settings
from weft.engine.worker import Worker
from weft.frontier.shared.contract import Limits
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.model import Kind, Page
from weft.parse.options import Reading
from weft.parse.page import LARGE, Parser
from weft.parse.robots import parse_robots
from weft.parse.tags import LargePage
from weft.urls import registered_domain
from weft.warming import warm_crawl
from weft.work import rare_collections, work

_SETTINGS = {"scope": "all", "wait": 0.0, "retry_pauses": [0.1], "max_depth": 3, "max_time": 60.0}


@contextlib.contextmanager
def watched(crawling: Callable[[], bool]) -> Iterator[list[tuple[float, str]]]:
    """The stretches of the event loop while it crawls: how long, and what."""
    found: list[tuple[float, str]] = []
    original = asyncio.Handle._run  # noqa: SLF001

    def timed(handle: asyncio.Handle) -> None:
        counts = crawling()
        began = time.thread_time()
        original(handle)
        if counts and crawling():
            found.append((time.thread_time() - began, repr(handle._callback)))  # type: ignore[attr-defined]  # noqa: SLF001

    asyncio.Handle._run = timed  # type: ignore[method-assign,assignment]  # noqa: SLF001
    try:
        yield found
    finally:
        asyncio.Handle._run = original  # type: ignore[method-assign]  # noqa: SLF001


def crawl(attack: Attack, folder: Path) -> dict[str, Any]:
    """Crawl an attack and an innocent site; what that took."""
    with served(attack.pages, "127.0.0.2") as bad, served(innocent(), "127.0.0.3") as good:
        settings = Settings().with_values(_SETTINGS | attack.settings, where="a benchmark")
        plan = Plan(seeds=[bad.url, good.url], out=folder / "crawl", settings=settings)
        plan.out.mkdir(parents=True)
        write_settings(plan)
        create_frontier(plan.out, by_size=False, seeds=plan.seeds)
        shared = open_frontier(plan.out)
        limits = settings.limits
        shared.prepare(1, Limits(max_time=limits.max_time))
        before = peak_mb()
        ended: list[bool] = []
        finish = Worker.finish

        def ending(worker: Worker) -> None:
            ended.append(True)
            finish(worker)

        Worker.finish = ending  # type: ignore[method-assign,assignment]
        with rare_collections(), watched(lambda: bool(bad.asked or good.asked) and not ended) as stretches:
            asyncio.run(work(plan, 0, shared, SystemClock(), lambda _statistics: None, lambda _text: None))
        shared.close()
        Worker.finish = finish  # type: ignore[method-assign]
    longest = max(stretches)
    return {
        "longest": longest[0] * 1e3,
        "where": longest[1],
        "memory": peak_mb() - before,
        "innocent": len(set(good.asked) - {"/robots.txt"}),
        "log": (plan.out / "workers" / "0" / "frontier.log").stat().st_size,
    }


def corpora(data: Path) -> Iterator[tuple[str, float, int, int]]:
    """What is stored of others, read as the loop would: name, longest milliseconds, contents, those read apart."""
    warm_crawl()
    parser = Parser(Reading(requisites=True), "weft", largest=LARGE)

    def read(body: bytes, kind: int, declared: str) -> None:
        page = Page(
            "http://a.example/",
            200,
            None,
            b"",
            b"",
            {"content-type": declared},
            body,
            "",
            "",
            "",
            0,
            0,
            0,
            closed=False,
        )
        parser.parse(page, kind)

    maps = [path.read_bytes() for path in (data / "sitemaps-crawlercommons").rglob("*") if path.is_file()]
    yield _longest("sitemaps-crawlercommons", maps, lambda body: read(body, Kind.MAP, "text/xml"))
    html = [path.read_bytes() for path in (data / "html5lib-tree").rglob("*") if path.is_file()]
    yield _longest("html5lib-tree", html, lambda body: read(body, Kind.A, "text/html"))
    samples = [path for path in (data / "warc-samples").rglob("*") if path.suffix in {".gz", ".warc"}]
    yield _longest("warc-samples", list(_bodies(samples)), lambda body: read(body, Kind.A, "text/html"))
    with tarfile.open(data / "robots-real-a" / "robots.tar.gz") as archive:
        files = [archive.extractfile(each) for each in archive if each.isfile()]
        robots = [file.read()[:512_000] for file in files if file is not None]
    yield _longest("robots-real-a, reading", robots, lambda body: parse_robots(body, "weft"))
    made = [parse_robots(body, "weft") for body in robots]
    path = "/" + "a-long/path?with=many&" * 80
    yield _longest("robots-real-a, a check", made, lambda file: file.allows(path))


def _bodies(paths: list[Path]) -> Iterator[bytes]:
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    for path in paths:
        with contextlib.suppress(Exception):  # some samples are broken on purpose
            for record in ArchiveIterator(io.BytesIO(path.read_bytes()), record_types=WarcRecordType.response):
                yield record.reader.read()


def _longest(name: str, contents: list[Any], work: Callable[[Any], object]) -> tuple[str, float, int, int]:
    longest, apart = 0.0, 0
    for content in contents:
        began = time.thread_time()
        try:
            work(content)
        except LargePage:
            apart += 1
        longest = max(longest, time.thread_time() - began)
    return name, longest * 1e3, len(contents), apart


def attacked(name: str, times: int) -> dict[str, Any]:
    """An attack, crawled so many times in processes of their own: the one with the shortest longest stretch."""
    found: list[dict[str, Any]] = []
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.stretches", "--one", name], capture_output=True, check=False, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{name} failed: {done.stderr.strip().splitlines()[-1:]}")
        found.append(json.loads(done.stdout.splitlines()[-1]))
    best = min(found, key=lambda one: float(one["longest"]))
    best["where"] = best["where"].partition(" at ")[0].removeprefix("<")[:50]
    return best | {"innocent": min(one["innocent"] for one in found), "memory": max(one["memory"] for one in found)}


def run(names: list[str] | None = None) -> dict[str, Any]:
    """Every attack and every corpus, or some attacks."""
    times = int(os.environ.get("TIMES", "1"))
    result: dict[str, Any] = {"machine": description(), "times": times, "attacks": {}, "corpora": {}}
    for name in names or ATTACKS:
        result["attacks"][name] = attacked(name, times)
        print(f"{name}: {result['attacks'][name]['longest']:.1f} ms", file=sys.stderr, flush=True)
    data = Path(os.environ.get("WEFT_SHARED", "../shared")) / "data"
    if not names and data.is_dir():
        for corpus, longest, contents, apart in corpora(data):
            result["corpora"][corpus] = {"longest": longest, "contents": contents, "apart": apart}
    return result


def show(result: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"{'attack':<24}{'longest ms':>11}{'memory MB':>11}{'innocent':>10}{'log kB':>8}  where")
    for name, one in result["attacks"].items():
        row = f"{one['longest']:>11.1f}{one['memory']:>11.0f}{one['innocent']:>7}/12{one['log'] / 1000:>8.0f}"
        print(f"{name:<24}{row}  {one['where']}", flush=True)
    if result["corpora"]:
        print(f"\n{'corpus':<28}{'longest ms':>11}{'contents':>10}{'apart':>7}")
    for corpus, one in result["corpora"].items():
        print(f"{corpus:<28}{one['longest']:>11.1f}{one['contents']:>10}{one['apart']:>7}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        with tempfile.TemporaryDirectory() as name:
            # What is loaded once, whoever is crawled, is loaded by then: compiled code, the list of public suffixes.
            registered_domain("www.a.example")
            crawl(Attack("none", innocent()), Path(name) / "before")
            print(json.dumps(crawl(ATTACKS[sys.argv[2]](), Path(name))))
    else:
        show(run(sys.argv[1:]))
