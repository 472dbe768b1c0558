"""What a small crawl takes, and how much memory a large one: wall and processor time of a crawl of one page, memory of
the watchdog and of a worker that knows a million URLs.

    python -m benchmarks.start                    # both
    python -m benchmarks.start --runs 3 --urls 100000

One page comes from the testbed on loopback, with compiled code in the cache; start and end of all processes are in it.
The million comes from a web without end: every page has 200 links to pages that nobody has seen, on 500 sites. Memory
is the proportional share (PSS), so that what processes share counts once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import multiprocessing
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.crawlers import weft_command
from benchmarks.machine import description
from weft.engine.progress import together
from weft.frontier.shared.opening import open_frontier
from weft.graph import Recipe, generate
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN
from weft.testbed.web import Web

MOST_SECONDS = 2.0  # for one page
MOST_WATCHDOG_MB = 60
MOST_WORKER_MB = 250
SITES = 500
LINKS = 200  # a page


def one_page(runs: int) -> list[dict[str, float]]:
    """Crawl one page, so many times; seconds by the clock and of the processor."""
    found = []
    web = Web(generate(Recipe(sites=1, pages=1, links_per_page=0), 1), dataclasses.replace(PLAIN, naming="literals"), 1)
    with tempfile.TemporaryDirectory() as folder, serving(web) as bed:
        for number in range(runs + 1):
            command = [sys.executable, "-m", "weft", "crawl", bed.seeds()[0], "--out", f"{folder}/{number}"]
            began = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                sys.exit(f"the crawl of one page failed: {' '.join(command)}")
            if number:  # the first may find nothing in the cache
                found.append({"wall_s": time.perf_counter() - began, "cpu_s": used.ru_utime + used.ru_stime})
    return found


@contextlib.contextmanager
def endless_web() -> Iterator[int]:
    """A web without end on loopback, in a process of its own; its port."""
    listening = socket.create_server(("0.0.0.0", 0), backlog=1024)  # noqa: S104  one socket for all loopback addresses
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(listening,), daemon=True)
    process.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        process.terminate()
        process.join()
        listening.close()


def _serve(listening: socket.socket) -> None:
    port = listening.getsockname()[1]

    def page(number: int) -> bytes:
        first = number * LINKS + 1
        links = (
            f'<li><a href="http://127.0.{n % SITES // 250 + 1}.{n % 250 + 1}:{port}'
            f'/section-{n % 17}/story-{n:09d}.html">{n}</a>'
            for n in range(first, first + LINKS)
        )
        body = f"<!DOCTYPE html><title>{number}</title><ul>{''.join(links)}</ul>".encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    missing = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                asked = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
                name = asked.rpartition(b"story-")[2].partition(b".")[0]
                writer.write(missing if asked == b"/robots.txt" else page(int(name) if name.isdigit() else 0))
                await writer.drain()
        writer.close()

    async def main() -> None:
        await (await asyncio.start_server(answer, sock=listening)).serve_forever()

    asyncio.run(main())


def memory(urls: int) -> dict[str, Any]:
    """Crawl until so many URLs are known; memory of the two processes then, in MB."""
    with tempfile.TemporaryDirectory() as folder, endless_web() as port:
        out, seeds = Path(folder) / "crawl", Path(folder) / "seeds.txt"
        seeds.write_text(f"http://127.0.1.1:{port}/\n", encoding="ascii")
        with (Path(folder) / "said").open("wb") as said:
            process = subprocess.Popen(weft_command(seeds, out, per_visit=10), stdout=said, stderr=said)
            try:
                known = _wait_until(out, urls, process)
                (worker,) = _children(process.pid)
                found = {"known": known, "watchdog": _memory_of(process.pid), "worker": _memory_of(worker)}
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait()
        shutil.rmtree(out)
    return found


def _wait_until(out: Path, urls: int, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.2)
        if (out / "workers" / "0").exists():
            shared = open_frontier(out)
            try:
                known = together(worker.statistics for worker in shared.workers()).known
            finally:
                shared.close()
            if known >= urls:
                return known
    sys.exit(f"the crawl did not come to {urls:,} URLs")


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def _memory_of(pid: int) -> dict[str, float]:
    """PSS and its parts, in MB."""
    rows = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:])
    parts = {"Pss:": "pss", "Pss_Anon:": "anonymous", "Pss_File:": "files", "Rss:": "rss"}
    return {parts[name]: int(amount) / 1024 for name, amount, *_ in rows if name in parts}


def run(*, runs: int = 10, urls: int = 1_000_000) -> dict[str, Any]:
    """Both."""
    machine = description()
    pages = one_page(runs)
    medians = {name: statistics.median(each[name] for each in pages) for name in ("wall_s", "cpu_s")}
    return {"machine": machine, "one_page": medians, "runs": pages, "memory": memory(urls)}


def show(result: dict[str, Any]) -> None:
    """Print what was found, and what the goals say to it."""
    page, held = result["one_page"], result["memory"]
    print(
        f"one page: {page['wall_s']:.2f} s by the clock (goal: at most {MOST_SECONDS:.0f}), {page['cpu_s']:.2f} s of"
        f" the processor; median of {len(result['runs'])}"
    )
    for name, most in (("watchdog", MOST_WATCHDOG_MB), ("worker", MOST_WORKER_MB)):
        each = held[name]
        print(
            f"{name}: {each['pss']:.0f} MB (goal: at most {most}), {each['anonymous']:.0f} of them its own data,"
            f" with {held['known']:,} URLs known"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description="One page, and a million URLs.")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--urls", type=int, default=1_000_000)
    asked = parser.parse_args()
    show(run(runs=asked.runs, urls=asked.urls))


if __name__ == "__main__":
    main()
