"""What the console costs: pages of a table of a hundred thousand sites, and its processor time beside a crawl.

    python -m benchmarks.console [--sites 100000] [--seconds 40] [--json FILE]

The sites are those of a real frontier: a crawl is begun with so many seeds and ends after its first page. Pages of the
table are asked for by HTTP, sorted, filtered and cut in all ways, one after the other. Beside a crawl of the testbed
`weft console` runs as a process of its own, with its overview open as a browser has it; processor time is that of the
processes, which other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.machine import cpu_of, description, family
from weft.graph import Recipe, generate
from weft.manage import managing
from weft.sites.survey import survey
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.web import Web


class Visitor:
    """Somebody who came in, at a console that runs as a command."""

    def __init__(self, link: str) -> None:
        found = re.match(r"http://([^/]+)/enter\?token=(.*)", link)
        assert found is not None, link
        self.host, self.token = found[1], found[2]
        headers = {"Origin": f"http://{self.host}", "Content-Type": "application/x-www-form-urlencoded"}
        with self._line() as line:
            line.request("POST", "/enter", urlencode({"token": self.token}), headers)
            came = line.getresponse()
            self.root = str(came.getheader("location")).rstrip("/")
            self.cookie = str(came.getheader("set-cookie")).partition(";")[0]

    @contextmanager
    def _line(self) -> Iterator[http.client.HTTPConnection]:
        line = http.client.HTTPConnection(self.host, timeout=600)
        try:
            yield line
        finally:
            line.close()

    def get(self, path: str) -> float:
        """Seconds that a page takes."""
        began = time.perf_counter()
        with self._line() as line:
            line.request("GET", f"{self.root}{path}", headers={"Cookie": self.cookie})
            came = line.getresponse()
            came.read()
            assert came.status == 200, (path, came.status)
        return time.perf_counter() - began

    def watch(self, ended: threading.Event) -> int:
        """Take in events until it is over; how many there were."""
        events = 0
        with self._line() as line:
            line.request("GET", f"{self.root}/live", headers={"Cookie": self.cookie})
            came = line.getresponse()
            while not ended.is_set():
                events += came.readline().startswith(b"data: ")
        return events


@contextmanager
def console(out: Path) -> Iterator[tuple[Visitor, int]]:
    """`weft console` as a command: somebody in it, and its process."""
    command = [sys.executable, "-m", "weft", "console", str(out), "--at", ":0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Visitor(process.stdout.readline().split()[-1]), process.pid
    finally:
        process.terminate()
        process.wait()


def sites(count: int, folder: Path) -> dict[str, float]:
    """What pages of a table of so many sites take."""
    seeds, out = folder / "seeds.txt", folder / "sites"
    seeds.write_text("".join(f"http://www.site-{number}.test/\n" for number in range(count)), encoding="utf-8")
    command = [sys.executable, "-m", "weft", "crawl", "--seeds", str(seeds), "--out", str(out)]
    command += ["--dns", "127.0.0.1:9", "--max-time", "40", "--workers", "1", "--contact", "me@example.org"]
    subprocess.run(command, check=False, capture_output=True)  # nobody answers: what counts is what waits
    there = len(survey(out, time.time()))
    assert there == count, there
    with console(out) as (visitor, pid):
        first = visitor.get("/sites")
        columns = ("site", "pending", "waits_for", "until", "known", "failures")
        asked = [
            f"/sites?{urlencode({'by': by, 'rising': rising, 'text': text, 'first': page})}"
            for by, rising, text, page in itertools.product(columns, ("", "yes"), ("", "77"), ("0", "500", "50000"))
        ]
        before = cpu_of(pid)
        took = sorted(visitor.get(path) for path in asked)
        spent = cpu_of(pid) - before
        overview = statistics.median(visitor.get("/") for _ in range(10))
    return {
        "sites": count,
        "pages": len(took),
        "first_s": round(first, 3),
        "median_ms": round(1000 * statistics.median(took), 1),
        "p95_ms": round(1000 * took[int(0.95 * len(took))], 1),
        "cpu_ms": round(1000 * spent / len(took), 1),
        "overview_ms": round(1000 * overview, 1),
    }


def beside(seconds: float, folder: Path) -> dict[str, Any]:
    """Processor time of the console, and of the crawl, with the overview open and without it, in turn."""
    runs: dict[str, list[dict[str, float]]] = {"closed": [], "open": []}
    with serving(Web(generate(Recipe(sites=400, pages=60_000, largest_site=600), 1), PLAIN, 1)) as bed:
        for number, kind in enumerate(("closed", "open", "open", "closed")):
            runs[kind].append(_run(bed, folder / f"crawl-{number}", seconds, watched=kind == "open"))
    return {
        kind: {name: round(statistics.mean(run[name] for run in found), 3) for name in found[0]}
        for kind, found in runs.items()
    }


def _run(bed: Bed, out: Path, seconds: float, *, watched: bool) -> dict[str, float]:
    seeds = out.with_suffix(".txt")
    seeds.write_text("\n".join(bed.seeds()), encoding="utf-8")
    command = [sys.executable, "-m", "weft", "crawl", "--seeds", str(seeds), "--out", str(out), "--scope", "all"]
    command += ["--dns", bed.dns, "--allow-address", "127.0.0.0/8", "--wait", "0", "--per-visit", "20"]
    crawl = subprocess.Popen(
        [*command, "--workers", "1", "--max-time", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not (out / "frontier.db").exists() or _pages(out) < 500:
            time.sleep(0.5)
        if not watched:
            return _spent(crawl.pid, out, seconds, 0)
        ended = threading.Event()
        with console(out) as (visitor, pid):
            watcher = threading.Thread(target=visitor.watch, args=(ended,), daemon=True)
            watcher.start()
            time.sleep(3)  # what it loads is there
            found = _spent(crawl.pid, out, seconds, pid)
            ended.set()
            watcher.join(60)
        return found
    finally:
        crawl.terminate()
        crawl.wait()


def _spent(crawl: int, out: Path, seconds: float, console_pid: int) -> dict[str, float]:
    """What was spent in so many seconds."""
    whole = family(crawl)
    before, pages = sum(map(cpu_of, whole)), _pages(out)
    own = cpu_of(console_pid) if console_pid else 0.0
    time.sleep(seconds)
    done = _pages(out) - pages
    crawled = sum(map(cpu_of, whole)) - before
    console_cpu = cpu_of(console_pid) - own if console_pid else 0.0
    return {
        "pages": done,
        "crawl_cpu_s_per_1000": 1000 * crawled / done,
        "console_cpu_s_per_1000": 1000 * console_cpu / done,
        "console_share_of_a_core": console_cpu / seconds,
    }


def _pages(out: Path) -> int:
    with managing(out) as managed:
        return managed.status().pages


def run(count: int = 100_000, seconds: float = 40.0) -> dict[str, Any]:
    """Everything."""
    with tempfile.TemporaryDirectory(prefix="weft-console-") as name:
        folder = Path(name)
        return {"machine": description(), "table": sites(count, folder), "beside": beside(seconds, folder)}


def show(found: dict[str, Any]) -> None:
    """Print it."""
    table, beside_crawl = found["table"], found["beside"]
    print(f"a table of {table['sites']:,} sites: {table}")
    for kind, values in beside_crawl.items():
        print(f"overview {kind}: {values}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--json", type=Path, default=None)
    given = parser.parse_args()
    result = run(given.sites, given.seconds)
    show(result)
    if given.json is not None:
        given.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
