"""What reading a large crawl takes: `weft report`, and the rows and texts of `weft.open`.

    python -m benchmarks.reading [--pages 1000000] [--json]

The columns of a crawl of so many pages are made, as workers write them, of a generated graph: real links, sites of all
sizes, a tenth of the pages duplicates, a tenth failures. Each thing is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import description
from weft.config import Settings
from weft.directory import Plan, write_settings
from weft.graph import Recipe, generate
from weft.store.columns import LINKS, PAGES, URLS, writing_options
from weft.urls import fingerprints

ROWS = 250_000  # of a part


def made(out: Path, pages: int, seed: int = 1) -> dict[str, int]:
    """The columns of a crawl in a directory; how many rows each table has."""
    graph = generate(Recipe(sites=max(10, pages // 70), pages=pages), seed)
    chance = np.random.default_rng(seed)
    out.mkdir(parents=True)
    (out / "log").mkdir()
    write_settings(Plan(seeds=["http://www.site-0.example/"], out=out, settings=Settings()))
    sites = graph.site_of(np.arange(graph.pages))
    urls = [f"http://www.site-{site}.example/page-{page}.html" for page, site in enumerate(sites.tolist())]
    ids = np.array(fingerprints(urls), dtype=np.uint64).view(np.int64)
    times = np.sort(chance.uniform(0, 10_000, graph.pages)) * 1e6 + 1.7e15
    status = np.where(chance.random(graph.pages) < 0.1, 404, 200)
    copies = (chance.random(graph.pages) < 0.1) & (status == 200)
    seeds = set(graph.seeds.tolist())
    languages = np.array(["es", "en", "pt", None], dtype=object)[chance.choice(4, graph.pages)]
    for number, first in enumerate(range(0, graph.pages, ROWS)):
        some = slice(first, min(first + ROWS, graph.pages))
        many = some.stop - some.start
        known: dict[str, Any] = {
            "id": ids[some],
            "url": urls[some],
            "site": [url.split("/")[2] for url in urls[some]],
            "kind": ["seed" if page in seeds else "a" for page in range(some.start, some.stop)],
            "depth": graph.depth[some].astype(np.int32),
            "via": np.zeros(many, np.int64),
            "final": np.ones(many, bool),
            "worker": np.zeros(many, np.int32),
            "status": status[some].astype(np.int16),
            "reason": ["status-4xx" if each == 404 else None for each in status[some].tolist()],
            "fetched_at": times[some].astype("datetime64[us]"),
            "took": chance.lognormal(-2, 1, many).astype(np.float32),
            "detected_type": ["text/html"] * many,
            "language": languages[some],
            "bytes": chance.lognormal(9.6, 1, many).astype(np.int64),
            "digest": [f"sha1:{page:032d}" for page in range(some.start, some.stop)],
            "duplicate_of": np.where(copies[some], ids[0], 0),
            "redirected_from": np.zeros(many, np.int64),
        }
        columns = [
            pa.array(known[field.name]).cast(field.type) if field.name in known else pa.nulls(many, field.type)
            for field in PAGES
        ]
        _part(out / "pages", number, pa.Table.from_arrays(columns, names=PAGES.names), PAGES)
        _part(out / "urls", number, pa.table({"id": ids[some], "url": urls[some]}), URLS)
        links = slice(int(graph.offsets[some.start]), int(graph.offsets[some.stop]))
        ends = links.stop - links.start
        table = pa.table(
            {
                "source": np.repeat(ids[some], np.diff(graph.offsets[some.start : some.stop + 1])),
                "target": ids[graph.links[links]],
                "kind": pa.array(["a"] * ends).dictionary_encode().cast(LINKS.field("kind").type),
                "nofollow": np.zeros(ends, bool),
                "text": pa.nulls(ends, pa.string()),
                "rel": pa.nulls(ends, pa.string()),
            }
        )
        _part(out / "links", number, table, LINKS)
    return {"pages": graph.pages, "links": len(graph.links), "sites": graph.sites}


def _part(folder: Path, number: int, table: pa.Table, schema: pa.Schema) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / f"part-0-{number + 1:05d}.parquet", **writing_options(schema))


CASES = {
    "report --json": "from weft.report.numbers import measure; measure(Path(sys.argv[1]))",
    "report --json --no-graph": "from weft.report.numbers import measure; measure(Path(sys.argv[1]), graph=False)",
    "report, the page": (
        "from weft.report.numbers import measure; from weft.report.page import made_page; "
        "made_page(measure(Path(sys.argv[1]))).html()"
    ),
    "all rows of pages, as Arrow": "import weft; sum(b.num_rows for b in weft.open(sys.argv[1]).pages().batches())",
    "two columns of good pages": (
        "import weft; sum(1 for _ in weft.open(sys.argv[1]).pages('url', 'title', where='status = 200'))"
    ),
}


def run(pages: int, folder: Path) -> dict[str, Any]:
    """Measure each case in a process of its own."""
    out = folder / "crawl"
    found: dict[str, Any] = {"machine": description(), "crawl": made(out, pages), "cases": {}}
    for name, code in CASES.items():
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        peak = "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM')][0])"
        program = f"import sys; from pathlib import Path; {code}; {peak}"
        done = subprocess.run([sys.executable, "-c", program, str(out)], check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found["cases"][name] = {
            "seconds": time.monotonic() - began,
            "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "megabytes": int(done.stdout) / 1024,  # and nothing else may be there
        }
    return found


def show(found: dict[str, Any]) -> None:
    """Print it."""
    crawl = found["crawl"]
    print(f"{crawl['pages']:,} pages, {crawl['links']:,} links, {crawl['sites']:,} sites")
    for name, case in found["cases"].items():
        print(f"{name:32} {case['seconds']:7.1f} s {case['cpu']:7.1f} s CPU {case['megabytes']:7.0f} MB")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--pages", type=int, default=1_000_000)
    options.add_argument("--json", action="store_true", help="print everything as JSON")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as place:
        results = run(given.pages, Path(place))
    print(json.dumps(results, indent=1)) if given.json else show(results)
