"""What the testbed costs: generating a web, making a page, serving it with the request log on.

Run it as ``python -m benchmarks.testbed``; with ``--large`` it also generates a national web of 3.5 million pages.
The web is that of the crawl benchmarks: 2,000 sites, 100,000 pages of 15 KB median with 22 links. It is served by
one process and asked for with wrk, if that is on the path (Debian: ``apt-get install wrk``), and with a small
client of our own. "Once" asks for every page in turn, "again" for the same 500 pages all the time: the server keeps
no pages, so the two should be the same but for the processor's own caches.
"""

from __future__ import annotations

import asyncio
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.machine import description
from weft.graph import Recipe, generate
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN, Options
from weft.testbed.web import Web

SECONDS = 6
CONNECTIONS = 50
LEAST = 8_000  # pages/s

LUA = """
local lines, at = {}, 0
function init(args)
  for line in io.lines(args[1]) do
    local host, path = line:match("^(%S+) (%S+)$")
    lines[#lines + 1] = "GET " .. path .. " HTTP/1.1\\r\\nHost: " .. host .. "\\r\\nUser-Agent: wrk\\r\\n\\r\\n"
  end
end
function request()
  at = at % #lines + 1
  return lines[at]
end
"""


class Client(asyncio.Protocol):
    """Asks for one request after the other on one connection, and counts the answers."""

    def __init__(self, requests: list[bytes], done: asyncio.Event) -> None:
        self._requests = requests
        self._done = done
        self._left = 0
        self._at = -1
        self._transport: asyncio.Transport | None = None
        self.answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = transport  # type: ignore[assignment]
        self._ask()

    def data_received(self, data: bytes) -> None:
        """Count the bytes of an answer down."""
        if not self._left:
            head, _, data = data.partition(b"\r\n\r\n")
            length = re.search(rb"Content-Length: (\d+)", head)
            assert length is not None, head
            self._left = int(length[1])
        self._left -= len(data)
        if not self._left:
            self.answered += 1
            self._ask()

    def _ask(self) -> None:
        self._at += 1
        if self._at < len(self._requests) and self._transport is not None:
            self._transport.write(self._requests[self._at])
        else:
            self._done.set()


async def own_client(bed: Bed, pages: list[int]) -> int:
    """Ask for all pages over some connections at once; how many were answered."""
    loop = asyncio.get_running_loop()
    requests = [request(bed, page) for page in pages]
    clients = []
    for number in range(CONNECTIONS):
        done = asyncio.Event()
        client = Client(requests[number::CONNECTIONS], done)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", bed.port)  # type: ignore[misc]
        clients.append((client, done))
    for _, done in clients:
        await done.wait()
    return sum(client.answered for client, _ in clients)


def request(bed: Bed, page: int) -> bytes:
    """A request for a page."""
    host = bed.web.authority(int(bed.web.scene.site[page]), secure=False)
    return b"GET %b HTTP/1.1\r\nHost: %b\r\nUser-Agent: bench\r\n\r\n" % (bed.web.path(page), host)


def wrk(bed: Bed, pages: list[int], folder: Path) -> int | None:
    """Let wrk ask for pages in turn; how many were answered in time, None without wrk."""
    program = shutil.which("wrk")
    if program is None:
        return None
    script, urls = folder / "pages.lua", folder / "urls.txt"
    script.write_text(LUA, encoding="ascii")
    hosts = [bed.web.authority(int(bed.web.scene.site[page]), secure=False).decode() for page in pages]
    paths = [bed.web.path(page).decode() for page in pages]
    rows = [f"{host} {path}\n" for host, path in zip(hosts, paths, strict=True)]
    urls.write_text("".join(rows), encoding="ascii")
    command = [program, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", str(script)]
    command += [f"http://127.0.0.1:{bed.port}", "--", str(urls)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+) requests in", printed)
    assert found is not None, printed
    assert "Non-2xx" not in printed, printed
    return int(found[1])


def served(name: str, bed: Bed, pages: list[int], folder: Path) -> list[dict[str, object]]:
    """Serve pages to both clients; one row each."""
    rows: list[dict[str, object]] = []
    for client in ("wrk", "own"):
        cpu, began = bed.cpu_s(), time.perf_counter()
        count = wrk(bed, pages, folder) if client == "wrk" else uvloop.run(own_client(bed, pages))
        took = time.perf_counter() - began
        if count is None:
            print("wrk is not on the path: apt-get install wrk")
            continue
        used = bed.cpu_s() - cpu
        rows.append({"what": f"serve, {name}, {client}", "per_s": count / took, "cpu_us": used / count * 1e6})
        print(f"{rows[-1]['what']:<32}{count / took:>10,.0f} pages/s{used / count * 1e6:>10.1f} µs CPU a page")
    return rows


def generated(recipe: Recipe) -> dict[str, object]:
    """Generate a web; seconds and memory."""
    began = time.perf_counter()
    graph = generate(recipe, seed=1)
    took = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"generate: {took:.2f} s, {memory:.2f} GB at most: {graph.describe()}")
    return {"what": "generate", "pages": graph.pages, "s": took, "gb": memory}


def made(name: str, web: Web) -> dict[str, object]:
    """Make pages; microseconds each."""
    pages = range(0, web.graph.pages, 7)
    began = time.process_time()
    size = sum(len(web.body(page)) for page in pages)
    took = (time.process_time() - began) / len(pages) * 1e6
    print(f"{'make a page, ' + name:<32}{took:>10.1f} µs{size / len(pages):>14,.0f} bytes")
    return {"what": f"make, {name}", "us": took}


def run(*, large: bool = False) -> dict[str, Any]:
    """Generate, make, serve; one row each."""
    recipe = Recipe(sites=2_000, pages=100_000, links_per_page=22)
    generate(Recipe(sites=3, pages=30, links_per_page=0), seed=1)  # compiled code is loaded
    rows = [generated(recipe)]
    if large:
        rows.append(generated(Recipe(sites=50_000, pages=3_500_000)))
    graph = generate(recipe, seed=1)
    rows += [made("plain", Web(graph, PLAIN, seed=1)), made("with hazards", Web(graph, Options(), seed=1))]
    with tempfile.TemporaryDirectory() as folder, serving(Web(graph, PLAIN, seed=1)) as bed:
        everything = list(range(graph.pages))
        rows += served("once", bed, everything, Path(folder))
        rows += served("again", bed, everything[:500] * 200, Path(folder))
        rows.append({"what": "log", "lines": len(bed.log())})
    return {"machine": description(), "rows": rows}


def show(result: dict[str, Any]) -> None:
    """What is served, against the goal; the rest was printed as it came."""
    rates = {row["what"]: row["per_s"] for row in result["rows"] if "per_s" in row}
    said = ", ".join(f"{what.removeprefix('serve, ')} {rate:,.0f}" for what, rate in rates.items())
    print(f"pages/s of one process with its log on: {said} (goal: at least {LEAST:,})")


if __name__ == "__main__":
    show(run(large="--large" in sys.argv))
