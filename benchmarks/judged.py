"""Crawlers on a standard web, one after the other, and what `weft testbed judge` says of them.

Each has the same web, served anew, the same seeds, and may make so many requests, in so many seconds from its first
one on; who is not done then is ended, and the result says so. Traps have no end, so the number of requests is what
makes crawlers comparable; the seconds are for those that are too slow for it.

    python -m benchmarks.judged --standard polite-100 --wait 1 --seconds 60 --only weft,wget --page judged.html
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import crawlers
from benchmarks.machine import description
from benchmarks.peers import Peer, Task, with_heritrix, with_scrapy, with_weft, with_wget
from weft.disk import replace_file
from weft.testbed.bed import serving
from weft.testbed.judge.page import cost_text, made_page, share
from weft.testbed.judge.verdict import judge
from weft.testbed.serve import ServerSettings
from weft.testbed.standards import Standard, standard

PEERS = {driver.PEER.name: driver.PEER for driver in (with_weft, with_scrapy, with_wget, with_heritrix)}
_LOOK_S = 0.25
_GRACE_S = 15.0
_START_S = 300.0


class _Task(NamedTuple):
    """How a crawler is to crawl, and for how long."""

    wait: float
    requests: int
    seconds: float


def run(
    *,
    name: str = "hazards-102",
    wait: float = 0.0,
    requests: int = 3_000,
    seconds: float = 240.0,
    only: str = "",
    page: Path | None = None,
    keep: Path | None = None,
) -> dict[str, Any]:
    """Run all crawlers that are there, and judge them side by side; `keep` has logs of earlier runs, and gets these."""
    chosen = standard(name)
    wanted = [PEERS[each] for each in only.split(",")] if only else list(PEERS.values())
    runs: dict[str, dict[str, Any]] = {}
    logs: dict[str, Path] = {}
    with tempfile.TemporaryDirectory(prefix="weft-judged-") as temporary:
        folder = keep or Path(temporary)
        for peer in wanted:
            log, told = folder / f"{peer.name}.tsv", folder / f"{peer.name}.json"
            if peer.missing():
                print(f"  {peer.name} is left out, for it needs {peer.missing()}", flush=True)
                continue
            if not told.exists():
                crawlers.save(_crawl(chosen, peer, _Task(wait, requests, seconds), log), told)
            logs[peer.name], runs[peer.name] = log, json.loads(told.read_bytes())
            print(f"  {peer.name:<10} {runs[peer.name]}", flush=True)
        found = judge(chosen.web(), logs, name=name)
    if page is not None:
        replace_file(page, made_page(found).html().encode())
    return {
        "machine": description(),
        "wait": wait,
        "limit": {"requests": requests, "seconds": seconds},
        "runs": runs,
        **found,
    }


def _crawl(chosen: Standard, peer: Peer, task: _Task, log: Path) -> dict[str, Any]:
    """One crawler, to its end or to its limit."""
    own = log.parent / peer.name
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    log.unlink(missing_ok=True)
    settings = ServerSettings(tls=chosen.tls, proxy=peer.reaches == "proxy", log=log)
    with serving(chosen.web(), settings) as bed, (own / "said.txt").open("wb") as said:
        command = peer.command(Task(bed, own, crawlers.seeds_of(bed, own), task.wait))
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, process_group=0)
        ended, passed = _watch(process, log, task)
        bed.dns_questions()  # whatever it is asked, the server writes its log out
    if not _requests(log):
        sys.exit(f"{peer.name} asked for nothing:\n{(own / 'said.txt').read_text(errors='replace')[-2000:]}")
    return {"reaches": peer.reaches, "ended": ended, "exit_code": process.returncode, "seconds": round(passed, 1)}


def _watch(process: subprocess.Popen[bytes], log: Path, task: _Task) -> tuple[str, float]:
    """Let a crawler crawl; what ended it, and after how many seconds from its first request on."""
    started, begun = time.monotonic(), None
    while True:
        time.sleep(_LOOK_S)
        now, made = time.monotonic(), _requests(log)
        begun = now if begun is None and made else begun
        passed = 0.0 if begun is None else now - begun
        if process.poll() is not None:
            return "by itself", passed
        if made >= task.requests or passed >= task.seconds or (begun is None and now - started > _START_S):
            _end(process)
            return "by its requests" if made >= task.requests else "by its time", passed


def _requests(log: Path) -> int:
    """How many requests a log has."""
    return log.read_bytes().count(b"\nrequest\t")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the crawler to end, and its family if it does not."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def show(result: dict[str, Any]) -> None:
    """Print what docs/testbed.md shows, as tables of Markdown."""
    found = result["crawlers"]
    limit = result["limit"]
    print(f"\n{result['web']['name']}: wait {result['wait']:g} s, about {limit['requests']:,} requests each\n")
    _table(["", *found], [[title, *(ask(each) for each in found.values())] for title, ask in _ROWS])
    rows = [
        [f"`{name}`", *(cost_text(each["worth"]["hazards"][name]) for each in found.values())]
        for name in next(iter(found.values()))["worth"]["hazards"]
    ]
    if rows:
        _table(["hazard", *found], rows)


_ROWS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    (
        "good pages, of those that could be",
        lambda c: f"{c['worth']['good']:,}, {share(c['worth']['good'], c['worth']['could'])}",
    ),
    ("requests, seconds", lambda c: f"{c['requests']:,}, {c['seconds']:,.0f}"),
    ("for hazards", lambda c: cost_text(c["worth"]["classes"]["hazard"])),
    ("for what fails", lambda c: cost_text(c["worth"]["classes"]["failed"])),
    ("for addresses answered before", lambda c: cost_text(c["worth"]["classes"]["again"])),
    ("contents fetched twice", lambda c: share(c["worth"]["copies"], c["worth"]["fetched"])),
    ("forbidden by robots.txt", lambda c: f"{c['robots']['forbidden']:,}"),
    (
        "robots.txt: first, late, never",
        lambda c: " ".join(f"{c['robots'][k]:,}" for k in ("asked_first", "asked_late", "never_asked")),
    ),
    ("at sites whose robots.txt fails", lambda c: f"{c['robots']['unavailable']:,}"),
    ("sooner than the crawl-delay, of", lambda c: f"{c['robots']['too_soon']:,} of {c['robots']['delays']:,}"),
    ("before Retry-After was over", lambda c: f"{c['robots']['retries_too_soon']:,}"),
    (
        "connections at once: site, domain, address",
        lambda c: " ".join(str(c["manners"][k]["most_connections"]) for k in ("site", "domain", "address")),
    ),
    (
        "requests in a second: site, domain, address",
        lambda c: " ".join(str(c["manners"][k]["most_in_a_second"]) for k in ("site", "domain", "address")),
    ),
    (
        "average PageRank; breadth-first; best",
        lambda c: "; ".join(f"{c['order'][k] or 0:.3f}" for k in ("average", "average_breadth_first", "average_best")),
    ),
)


def _table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main() -> None:
    """Run from the command line, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--standard", default="hazards-102")
    parser.add_argument("--wait", type=float, default=0.0)
    parser.add_argument("--requests", type=int, default=3_000)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--only", default="", help=f"of {', '.join(PEERS)}")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--logs", type=Path, help="directory to keep the logs in; who has one there is not run again")
    parser.add_argument("--keep", type=Path, help="file to keep the result in")
    given = parser.parse_args()
    limits = {"requests": given.requests, "seconds": given.seconds}
    result = run(name=given.standard, wait=given.wait, **limits, only=given.only, page=given.page, keep=given.logs)
    show(result)
    if given.keep is not None:
        crawlers.save(result, given.keep)


if __name__ == "__main__":
    main()
