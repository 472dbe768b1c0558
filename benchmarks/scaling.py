"""How a crawl grows with its workers and its nodes, where connections are the limit and not cores.

    python -m benchmarks.scaling                          # 1, 2, 4, 8 workers; 1, 2, 3 nodes: a quarter of an hour
    python -m benchmarks.scaling --seconds 20 --only node

Pages take 0.5 to 3 s to be answered, and a worker has 100 connections: about 70 pages a second, which a fraction of a
core fetches. Every site is a seed, so that nobody waits for sites to be found. Workers of one machine have their
global frontier in a file; nodes have two workers each, directories of their own, and a PostgreSQL.

Pages are counted by the servers' log, some seconds apart, when all connections have long been in use. Beside them
stand the processor time of the crawl, of the web and of the database, in cores, and how many sites were checked out
and checked in a second.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.crawlers import HERE, SEED, pages_between, save
from benchmarks.frontier_shared import served
from benchmarks.machine import cpu_seconds, description
from weft.frontier.shared.opening import open_cluster, open_frontier
from weft.graph.generate import generate
from weft.graph.recipe import Recipe
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.web import Web

CONNECTIONS = 100  # of a worker
PER_NODE = 2  # workers
KINDS = {
    **{f"{count} {'worker' if count == 1 else 'workers'}": (0, count) for count in (1, 2, 4, 8)},
    **{f"{count} {'node' if count == 1 else 'nodes'}": (count, PER_NODE) for count in (1, 2, 3)},
}
_END = 30.0  # seconds that a crawl has to end


@dataclass(frozen=True)
class Measured:
    """One crawl."""

    kind: str
    workers: int
    pages_per_second: float
    cores: float  # that the crawl used
    server_cores: float  # that the web used
    database_cores: float
    sites_out_per_second: float  # checked out
    sites_in_per_second: float  # checked in
    transactions_per_second: float  # of the database


def web(*, sites: int = 6000, pages: int = 300_000) -> Web:
    """A web that is slow to answer, with a seed for every site."""
    graph = generate(Recipe(sites=sites, pages=pages, links_per_page=22.0), SEED)
    options = dataclasses.replace(PLAIN, naming="literals", latency_ms=1200.0, latency_spread=0.35)
    return Web(graph, options, SEED)


def seeds_of(bed: Bed, folder: Path) -> Path:
    """A page of every site."""
    site, first = bed.web.scene.site, dict[int, int]()
    for page in range(bed.web.graph.pages):
        first.setdefault(int(site[page]), page)
    path = folder / "seeds.txt"
    path.write_text("".join(f"{bed.url(page)}\n" for page in first.values()), encoding="utf-8")
    return path


def measure(bed: Bed, kind: str, folder: Path, *, warm: float, seconds: float) -> Measured:
    """Crawl for some time, and look at it twice."""
    nodes, workers = KINDS[kind]
    room = folder / kind.replace(" ", "-")
    room.mkdir()
    given = ["--seeds", str(seeds_of(bed, folder)), "--scope", "all", "--connections", str(CONNECTIONS)]
    given += ["--per-visit", "10", "--wait", "1", "--max-depth", "1000", "--max-depth-dynamic", "1000"]
    log = bed.log_file
    assert log is not None
    bed.dns_questions()  # whatever it is asked, the server writes its log out
    begin = log.stat().st_size
    with ExitStack() as stack:
        address, server = "", 0
        if nodes:
            address, server = stack.enter_context(served(Path(tempfile.mkdtemp(prefix="weft-postgres-"))))
            _done("cluster", "init", address, *given)
        outs = [room / f"node{number}" for number in range(nodes or 1)]
        started = [
            stack.enter_context(_running(out, ["node", "start", address] if nodes else ["crawl", *given], workers))
            for out in outs
        ]
        time.sleep(warm)
        views = []
        for pause in (seconds, 0.0):
            views.append(_look(bed, started, outs[0], address, server))
            time.sleep(pause)
        if any(each.poll() is not None for each in started):
            sys.exit(f"{kind}: a crawl ended too early:\n{(outs[0].with_suffix('.out')).read_text()[-2000:]}")
    bed.dns_questions()
    first, second = views
    passed = second["at"] - first["at"]
    rates = {name: (second[name] - first[name]) / passed for name in first}
    pages = pages_between(log, begin, first["at"], second["at"])
    return Measured(
        kind=kind,
        workers=workers * max(nodes, 1),
        pages_per_second=pages / passed,
        cores=rates["crawl"],
        server_cores=rates["web"],
        database_cores=rates["database"],
        sites_out_per_second=rates["out"],
        sites_in_per_second=rates["in"],
        transactions_per_second=rates["transactions"],
    )


def _done(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "weft", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)


@contextmanager
def _running(out: Path, command: list[str], workers: int) -> Iterator[subprocess.Popen[bytes]]:
    with out.with_suffix(".out").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "weft", *command, "--out", str(out), "--workers", str(workers)],
            stdout=said,
            stderr=said,
            cwd=HERE.parent,
        )
        try:
            yield process
        finally:
            below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            for each in (process, *below):  # how it ends is not measured
                each.kill()
            process.wait(_END)


def _look(bed: Bed, started: list[subprocess.Popen[bytes]], out: Path, address: str, server: int) -> dict[str, float]:
    """How things stand: processor times, and sites that were ever checked out and in."""
    with closing(open_cluster(address) if address else open_frontier(out)) as shared:
        lists = shared.lists()
    transactions = 0
    if address:
        with psycopg.connect(address) as base:
            row = base.execute("select sum(xact_commit) from pg_stat_database").fetchone()
            transactions = int(row[0]) if row else 0
    return {
        "at": time.time(),
        "crawl": sum(cpu_seconds(each.pid) for each in started),
        "web": bed.cpu_s(),
        "database": cpu_seconds(server) if server else 0.0,
        "out": float(lists.being_crawled + lists.crawled),
        "in": float(lists.crawled),
        "transactions": float(transactions),
    }


def run(*, seconds: float = 60.0, warm: float = 30.0, only: str = "") -> dict[str, Any]:
    """One kind after the other."""
    machine = description()
    found: list[Measured] = []
    folder = Path(tempfile.mkdtemp(prefix="weft-scaling-"))
    try:
        with serving(web()) as bed:
            for kind in (kind for kind in KINDS if only in kind):
                found.append(measure(bed, kind, folder, warm=warm, seconds=seconds))
                print(f"  {kind:<12}{found[-1].pages_per_second:8.1f} pages/s", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"machine": machine, "seconds": seconds, "runs": [asdict(each) for each in found]}


def show(result: dict[str, Any]) -> None:
    """Print the curve."""
    names = ("pages/s", "a worker", "times one", "cores", "web", "database", "out/s", "in/s", "commits/s")
    print(f"\n{'':<12}" + "".join(f"{name:>11}" for name in names))
    base: dict[str, float] = {}
    for each in result["runs"]:
        rate, kind = each["pages_per_second"], each["kind"].partition(" ")[2][:4]
        first = base.setdefault(kind, rate)
        columns = ("cores", "server_cores", "database_cores", "sites_out_per_second", "sites_in_per_second")
        figures = [rate, rate / each["workers"], rate / first, *(each[name] for name in columns)]
        print(
            f"{each['kind']:<12}"
            + "".join(f"{figure:>11.2f}" for figure in (*figures, each["transactions_per_second"]))
        )


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description="pages/s by workers and nodes")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm", type=float, default=30.0)
    parser.add_argument("--only", default="", help="kinds whose names have this in them")
    parser.add_argument("--out", type=Path, help="keep the result as JSON")
    asked = parser.parse_args()
    result = run(seconds=asked.seconds, warm=asked.warm, only=asked.only)
    show(result)
    if asked.out:
        save(result, asked.out)
    else:
        print(json.dumps(result["runs"][-1]))


if __name__ == "__main__":
    main()
