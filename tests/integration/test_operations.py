"""A crawl is watched from outside: metrics, reports and structured logs of a real one, beside what `weft status`
says.
"""

from __future__ import annotations

import json
import random
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.commands import ending, weft
from tests.crawling import make_web, rows, settings_for
from tests.database import database
from tests.patience import PATIENCE
from tests.siege import Siege, command_for, wait_until

from weft.app import run
from weft.directory import Plan
from weft.engine.progress import Statistics
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

DEVICES = ("cpu", "disk", "link", "database", "dns", "waiting")
SMALL = 60_000_000  # bytes that a watchdog may have for itself


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web that lasts."""
    with serving(make_web(PLAIN, sites=24, pages=6000, largest=400)) as bed:
        yield bed


@pytest.fixture
def hook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A webhook: its URL, and what it was given."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        """Takes what comes."""

        def do_POST(self) -> None:
            """Somebody posts."""
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/T0KEN", got
        server.shutdown()
        thread.join()


def scraped(url: str) -> dict[str, float]:
    """What is served, by metric: the sum over its labels."""
    parts = urlsplit(url)
    with closing(HTTPConnection(str(parts.hostname), parts.port, timeout=PATIENCE)) as connection:
        connection.request("GET", parts.path)
        text = connection.getresponse().read().decode()
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def said(out: Path) -> str:
    """What a crawl has printed."""
    return out.with_suffix(".log").read_text(encoding="utf-8", errors="replace")


def served_at(text: str) -> str:
    """Where metrics are served, as far as that was said."""
    found = re.search(r"metrics are served at (\S+)", text)
    return found[1] if found else ""


def proportional(pid: int) -> int:
    """Bytes of memory that are a process's own, with its share of what several have."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def test_crawl__is_told_of_by_metrics_logs_and_reports(
    bed: Bed, tmp_path: Path, hook: tuple[str, list[dict[str, Any]]]
) -> None:
    """Metrics say what `weft status` says, logs are JSON line by line, the end is reported; the watchdog is small."""
    out, (url, got) = tmp_path / "crawl", hook
    words = command_for(bed, out, "--wait", "0.05", "--workers", "2", "--speed", "300 pages/s", "--log", "json")
    words += ["--metrics", "127.0.0.1:0", "--report-to", url, "--report-every", "6h"]
    siege = Siege(words, out.with_suffix(".log"), from_scratch=True)
    try:
        wait_until(lambda: bool(served_at(said(out))) or siege.over, "nothing is served")
        assert not siege.over, said(out)
        metrics = served_at(said(out))
        wait_until(lambda: scraped(metrics).get("weft_pages_total", 0) > 100, "no pages")
        weft("pause", str(out))

        def settled() -> bool:
            """Metrics and status say the same, as they must when nothing goes on."""
            now, status = scraped(metrics), json.loads(weft("status", str(out), "--json"))
            return bool(
                status["active"] == 0
                and now["weft_paused"] == 1
                and now["weft_connections_busy"] == 0
                and now["weft_pages_total"] == status["pages"]
                and now["weft_content_bytes_total"] == status["bytes"]
                and now["weft_pending_pages"] == status["pending"]
                and now["weft_known_urls"] == status["known"]
                and now["weft_sites"] == sum(status["lists"].values())
            )

        wait_until(settled, "metrics and status differ")
        now = scraped(metrics)
        assert (now["weft_paused"], now["weft_worker_up"], now["weft_frontier_up"]) == (1, 2, 1)
        assert now["weft_target_pages_per_second"] == 300
        assert now["weft_worker_resident_memory_bytes"] > 0
        assert now["weft_operation_seconds_total"] > 0
        assert proportional(siege.process.pid) < SMALL
        weft("resume", str(out))
        weft("stop", str(out), "--wait", str(PATIENCE))
        assert siege.finish() == 0, said(out)
    finally:
        siege.close()
    status = json.loads(weft("status", str(out), "--json"))
    for name, stage in status["stages"].items():
        assert stage["operations"] > 0, name
        assert stage["seconds"] > 0 or name in ("lag", "seal"), name
    assert {stage["device"] for stage in status["stages"].values()} == {*DEVICES}
    assert status["machine"]["cpu_user"] > status["stages"]["parse"]["seconds"] / 2
    shown = weft("status", str(out))
    assert all(device in shown for device in DEVICES)
    (report,) = got
    assert "ended (stopped)" in report["subject"]
    assert report["status"]["pages"] == status["pages"] == len(rows(out, "url", "final and kind <> 'robots'"))
    assert "T0KEN" not in (out / "crawl.toml").read_text("utf-8")
    lines = (out / "log" / "crawl.log").read_text("utf-8").splitlines()
    assert sum(json.loads(line)["kind"] != "robots" for line in lines) >= status["pages"]
    assert weft("log", str(out), "--json").splitlines() == lines
    told = [json.loads(line) for line in (out / "log" / "messages.log").read_text("utf-8").splitlines()]
    assert any(metrics in line["message"] for line in told)


def test_port__that_is_taken_is_told_before_anything_is_written(bed: Bed, tmp_path: Path) -> None:
    """And so is an address that is none."""
    out = tmp_path / "crawl"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        code, _, err = ending(*command_for(bed, out, "--metrics", place)[3:])
    assert code == 1
    assert f"cannot serve metrics: Address already in use ({place})" in err
    code, _, err = ending(*command_for(bed, out, "--metrics", "somewhere")[3:])
    assert code == 2
    assert "--metrics cannot be 'somewhere': write ADDRESS:PORT" in err
    assert not out.exists()


def test_python__serves_metrics_without_a_watchdog(bed: Bed, tmp_path: Path) -> None:
    """A crawl in the process of who started it answers as well, and its end is seen however short it was."""
    out, shown, seen, pages = tmp_path / "crawl", list[str](), list[dict[str, float]](), list[int]()

    def watch(now: Statistics) -> None:
        pages.append(now.counts.pages)
        if now.counts.pages > 50 and not seen:
            seen.append(scraped(served_at("\n".join(shown))))

    plan = Plan(seeds=bed.seeds(), out=out, settings=settings_for(bed, metrics="127.0.0.1:0", max_pages=500))
    summary = run(plan, watch=watch, show=shown.append)
    assert pages[-1] == summary.counts.pages >= 500
    assert seen[0]["weft_frontier_up"] == 1
    assert seen[0]["weft_worker_up"] == 1
    with pytest.raises(ConnectionRefusedError):
        scraped(served_at("\n".join(shown)))


@pytest.mark.restarts
def test_metrics__of_a_crawl_on_a_database_tell_of_a_worker_that_died(bed: Bed, tmp_path: Path) -> None:
    """They are read beside the workers there as well; a restart is counted, and counters do not go back."""
    out = tmp_path / "crawl"
    words = command_for(bed, out, "--wait", "0.05", "--workers", "2", "--speed", "150 pages/s", "--metrics", ":0")
    siege = Siege([*words, "--frontier", database().schema()], out.with_suffix(".log"), from_scratch=True)
    try:
        wait_until(lambda: bool(served_at(said(out))) or siege.over, "nothing is served")
        assert not siege.over, said(out)
        metrics = served_at(said(out))
        assert metrics.startswith("http://127.0.0.1:")
        wait_until(lambda: scraped(metrics).get("weft_pages_total", 0) > 100, "no pages")
        before = scraped(metrics)
        assert (before["weft_frontier_up"], before["weft_restarts_total"]) == (1, 0)
        siege.kill("worker", random.Random(1))
        wait_until(lambda: scraped(metrics).get("weft_restarts_total", 0) == 1, "the restart is not counted")
        wait_until(
            lambda: scraped(metrics).get("weft_pages_total", 0) > before["weft_pages_total"] + 50, "it does not go on"
        )
        assert proportional(siege.process.pid) < SMALL
        weft("stop", str(out), "--wait", str(PATIENCE))
        assert siege.finish() == 0, said(out)
    finally:
        siege.close()
