"""What it costs to read page-view logs: CPU seconds and the most memory, on logs that are made here.

    python -m benchmarks.temporal_reading [rows]...

A log has ten million rows (or as many as are asked for) of 60 days, users and pages in the proportions of 50 million
rows, 2 million users and 5.9 million pages, of which few have most views. Every reading runs in a process of its own,
three times, the best of which counts; what is compiled is loaded before. With more than 20 million rows, only the
Parquet log is read, once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from benchmarks.machine import description

ROWS = (10_000_000,)
MOST_MB = 2000
_FEW = 20_000_000
_REPEATS = 3


class Case(NamedTuple):
    """One way to read a log."""

    name: str
    form: str
    options: dict[str, Any]
    least: float  # million rows a second that are asked for


CASES = (
    Case("ids, 2 threads, 1 GB", "parquet", {"ids": True, "threads": 2, "memory": 1000}, 1.0),
    Case("ids, 1 thread, 1 GB", "parquet", {"ids": True, "threads": 1, "memory": 1000}, 0.6),
    Case("URLs, 2 threads, 1 GB", "parquet", {"threads": 2, "memory": 1000}, 0.5),
    Case("URLs, 1 thread, 1 GB", "parquet", {"threads": 1, "memory": 1000}, 0.5),
    Case("URLs from CSV, 2 threads", "csv", {"threads": 2, "memory": 1000}, 0.5),
    Case("ids from CSV, 1 thread", "csv", {"ids": True, "threads": 1, "memory": 1000}, 0.6),
)

_CHILD = """
import json, sys, time
from pathlib import Path
from benchmarks.machine import peak_mb
from weft.temporal.reading import Reading, read_views
log, small, options = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
read_views([small], Reading(floor=1, **options), scratch=log.parent)
began, wall = time.process_time(), time.perf_counter()
views, taken = read_views([log], Reading(**options), scratch=log.parent)
cpu, wall = time.process_time() - began, time.perf_counter() - wall
print(json.dumps({"rows": taken.rows, "cpu": cpu, "wall": wall, "peak_mb": peak_mb(), "pages": taken.pages}))
"""


def make_log(path: Path, rows: int) -> None:
    """Write a log, as Parquet or CSV by its name; the same rows each time."""
    users, pages = max(rows // 25, 1), max(rows * 59 // 500, 1)
    form = "FORMAT parquet" if path.suffix == ".parquet" else "FORMAT csv, HEADER"
    with duckdb.connect(config={"memory_limit": "1GB", "temp_directory": str(path.parent)}) as db:
        db.execute(
            f"""COPY (
                SELECT 'u' || hash(i + 1) % {users} AS user,
                    make_timestamp(1772409600000000 + (i * (5184000000000 / {rows}))::BIGINT) AS ts,
                    'http://www.site' || page % 1000 || '.example/news/item-' || page || '.html' AS url
                FROM (SELECT i, floor(pow(hash(-i) % 1000000007 / 1000000007, 3) * {pages})::BIGINT AS page
                    FROM range({rows}) AS numbers (i))) TO '{path}' ({form})"""  # noqa: S608
        )


def measure(log: Path, small: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Read in a process of its own."""
    command = [sys.executable, "-c", _CHILD, str(log), str(small), json.dumps(options)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(sizes: tuple[int, ...] = ROWS) -> dict[str, Any]:
    """All ways to read, on all sizes."""
    found: dict[str, Any] = {"machine": description(), "runs": {}}
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            forms = ("parquet", "csv") if size <= _FEW else ("parquet",)
            for form in forms:
                make_log(Path(folder) / f"log.{form}", size)
                make_log(Path(folder) / f"small.{form}", 1000)
            runs = {}
            for case in CASES:
                if case.form in forms:
                    log, small = (Path(folder) / f"{name}.{case.form}" for name in ("log", "small"))
                    tries = [measure(log, small, case.options) for _ in range(_REPEATS if size <= _FEW else 1)]
                    runs[case.name] = {**min(tries, key=lambda each: each["cpu"]), "least": case.least}
                    runs[case.name]["peak_mb"] = max(each["peak_mb"] for each in tries)
                    print(f"  {size:,} {case.name}: {runs[case.name]['cpu']:.1f} s", flush=True)
            found["runs"][str(size)] = runs
    return found


def show(found: dict[str, Any]) -> None:
    """Print the table."""
    for size, runs in found["runs"].items():
        print(f"\n{int(size):,} rows")
        print(f"{'':<28}{'CPU s':>8}{'wall s':>8}{'M rows/CPU s':>14}{'goal':>6}{'peak MB':>9}{'goal':>6}{'pages':>10}")
        for name, values in runs.items():
            print(
                f"{name:<28}{values['cpu']:>8.1f}{values['wall']:>8.1f}{values['rows'] / values['cpu'] / 1e6:>14.2f}"
                f"{values['least']:>6.1f}{values['peak_mb']:>9.0f}{MOST_MB:>6}{values['pages']:>10,}"
            )


if __name__ == "__main__":
    show(run(tuple(map(int, sys.argv[1:])) or ROWS))
