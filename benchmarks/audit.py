"""What an audit costs. In: nothing. Out: seconds and memory for a generated crawl, of so many fetches.

    python -m benchmarks.audit [fetches, pages a site]

The crawl is polite. Every site has a robots.txt with rules, in the volume; pages of some 15 KB are found on the home
page and on one page in five, which are in the volume, too, and one page in four has a link that asks not to be
followed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import description
from weft.config import Settings
from weft.model import Page
from weft.store.columns import PAGES
from weft.store.volumes import Storing, Volumes, payload_digest
from weft.urls import fingerprint, signed

FETCHES = (250_000, 1_000_000)
PER_SITE = 35
_BEGUN = 1_700_000_000_000_000
_WAIT = 2_000_000
_ROBOTS = b"User-agent: *\nDisallow: /private/\nAllow: /private/open\nDisallow: /*.cgi$\n# %d\n"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n"
_FILL = b"<p>The quick brown fox jumps over the lazy dog, and that several times in a row.</p>\n" * 170


def generate(out: Path, fetches: int, per_site: int) -> None:
    """Write a crawl."""
    (out / "pages").mkdir(parents=True)
    (out / "volumes").mkdir()
    settings = Settings().with_values({"wait": 2.0, "contact": "me@example.org"}, where="a benchmark")
    (out / "crawl.toml").write_text(settings.to_toml())
    volumes = Volumes(out / "volumes", Storing(), {}, random.Random(1))
    rows: list[dict[str, Any]] = []
    part = 0
    for number in range(fetches):
        site, page = divmod(number, per_site)
        rows.append(_row(volumes, site, page, number))
        if len(rows) == 100_000 or number == fetches - 1:
            part += 1
            pq.write_table(pa.Table.from_pylist(rows, schema=PAGES), out / "pages" / f"part-0-{part:05d}.parquet")
            rows = []
    volumes.flush()


def _row(volumes: Volumes, site: int, page: int, number: int) -> dict[str, Any]:
    """The fetch of a robots.txt, a home page or another page."""
    host = f"www.site-{site}.example"
    path = "/robots.txt" if page == 0 else "/" if page == 1 else f"/folder/page-{page}.html"
    url, root = f"http://{host}{path}", f"http://{host}/"
    start = _BEGUN + (site % 97) * 1_000 + max(page - 1, 0) * (_WAIT + 200_000)
    row: dict[str, Any] = dict.fromkeys(PAGES.names)
    via = 0 if page < 2 else fingerprint(root if page < 7 else f"{root}folder/page-{2 + page // 5 % 5}.html")
    row |= {
        "id": signed(fingerprint(url)),
        "url": url,
        "site": host,
        "ip": f"10.{site >> 16}.{site >> 8 & 255}.{site & 255}",
    }
    row |= {"via": signed(via), "duplicate_of": 0, "redirected_from": 0, "attempt": 1, "final": True, "worker": 0}
    row |= {"kind": "robots" if page == 0 else "seed" if page == 1 else "a", "depth": 0, "status": 200, "bytes": 1}
    row |= {"visit": number - (page == 1), "connected_at": start, "fetched_at": start + (page == 1) * 50_000}
    row |= {"closed_at": start + 150_000 if page else None, "wait": 2.0 if page else None, "took": 0.04}
    if page < 7:
        body = _ROBOTS % site if page == 0 else _html(site, page)
        head = _HEAD % (b"text/plain" if page == 0 else b"text/html")
        sent = Page(
            url, 200, None, b"GET / HTTP/1.1\r\n\r\n", head, {}, body, "", row["ip"], "", 0.0, 1.0, 0.04, closed=True
        )
        stored = volumes.store(sent, payload_digest(body), None, cut="")
        row |= {"volume": stored.volume, "offset": stored.offset, "length": stored.length, "digest": stored.digest}
    return row


def _html(site: int, page: int) -> bytes:
    links = "".join(f'<a href="/folder/page-{number}.html">x</a>' for number in range(2, 60)).encode()
    asks = b'<a href="/login" rel="nofollow">y</a>' if (site + page) % 4 == 0 else b""
    return b"<title>%d</title>" % site + links + asks + _FILL


def measure(fetches: int, per_site: int) -> dict[str, Any]:
    """Generate a crawl and audit it, each in a process of its own; what that took."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "crawl"
        making = multiprocessing.get_context("spawn").Process(target=generate, args=(out, fetches, per_site))
        making.start()
        making.join()
        result: dict[str, Any] = {"pages_a_site": per_site}
        for name, what in (("start", out / "nothing"), ("audit", out)):  # what the start of a process takes is no audit
            began = time.perf_counter()
            command = [sys.executable, "-m", "weft", "audit", str(what), "--json"]
            with (Path(folder) / "said").open("w+b") as said:
                process = subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL)
                _, _, used = os.wait4(process.pid, 0)
                process.returncode = 0
                said.seek(0)
                text = said.read()
            result[name] = {
                "seconds": round(time.perf_counter() - began, 2),
                "processor_seconds": round(used.ru_utime + used.ru_stime, 2),
                "memory_mb": round(used.ru_maxrss / 1024),
            }
        found = json.loads(text)
        return result | {name: found[name] for name in ("rows", "sites", "judged", "unjudged", "broken")}


def run() -> dict[str, Any]:
    """A small crawl and a large one."""
    return {"machine": description(), "audits": [measure(fetches, PER_SITE) for fetches in FETCHES]}


def show(result: dict[str, Any]) -> None:
    """Print a line for each."""
    for each in result["audits"]:
        took = each["audit"]
        print(
            f"{each['rows']:,} fetches on {each['sites']:,} sites: {took['processor_seconds']:.0f} s of the processor,"
            f" {took['memory_mb']:,} MB at the peak; rules broken: {sum(each['broken'].values())}"
        )


if __name__ == "__main__":
    asked = [int(each) for each in sys.argv[1:3]]
    print(json.dumps(measure(*asked) if len(asked) == 2 else run(), indent=1))
