"""Metrics: one table, by Prometheus' conventions, with everything that `weft status` knows; served over HTTP."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.patience import PATIENCE
from tests.unit.operations.made import snapshot

from weft.clock import VirtualClock
from weft.errors import WeftError
from weft.frontier.shared.contract import FrontierAwayError
from weft.operations.exporter import Exporter
from weft.operations.metrics import METRICS
from weft.operations.options import Place, metrics_complaint, place_of
from weft.operations.status import Snapshot, Status, WorkerStatus

UNITS = ("seconds", "bytes", "info", "ratio")


def value(name: str, seen: Snapshot, /, **labels: str) -> float:
    """The sum of a metric's samples with some labels."""
    metric = next(metric for metric in METRICS if metric.name == name)
    found = [
        sample
        for values, sample in metric.read(seen)
        if labels.items() <= dict(zip(metric.labels, values, strict=True)).items()
    ]
    assert found, name
    return sum(found)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_metric__is_named_by_prometheus_conventions(metric: Any) -> None:
    """A prefix, small letters, base units at the end, `_total` for what only grows, and a sentence of help."""
    assert re.fullmatch(r"weft(_[a-z]+)+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    for unit in ("milliseconds", "minutes", "hours", "kilobytes", "megabytes", "percent"):
        assert unit not in metric.name
    for unit in UNITS:
        if f"_{unit}_" in metric.name:
            assert metric.name.endswith((f"_{unit}_total", f"_{unit}_per_second")), "the unit is the last word"
    assert metric.doc.endswith(".")
    assert "](" not in metric.doc, "what Prometheus shows is no Markdown"
    assert all(re.fullmatch(r"[a-z]+", label) for label in metric.labels)


def test_metrics__have_one_name_each() -> None:
    """Two of one name would be an answer that Prometheus refuses."""
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))


# What of a status has no number of its own: texts, lists, and the moment, which Prometheus notes itself.
TEXTS = {"crawl", "over", "outage", "stalled", "restarts", "time", "speed", "workers", "stages"}
WHOLE: dict[str, Callable[[Snapshot], float]] = {
    "running": lambda s: value("weft_running", s),
    "paused": lambda s: value("weft_paused", s),
    "seconds": lambda s: value("weft_run_seconds_total", s, worker="0"),
    "pages": lambda s: value("weft_pages_total", s),
    "pages_rate": lambda s: value("weft_pages_per_second", s),
    "bytes": lambda s: value("weft_content_bytes_total", s),
    "bytes_rate": lambda s: value("weft_content_bytes_per_second", s),
    "pending": lambda s: value("weft_pending_pages", s),
    "unassigned": lambda s: value("weft_unassigned_pages", s),
    "active": lambda s: value("weft_connections_busy", s),
    "known": lambda s: value("weft_known_urls", s),
    "faults": lambda s: value("weft_faults_total", s),
    "application_faults": lambda s: value("weft_application_faults_total", s),
    "outage_seconds": lambda s: value("weft_unreachable_seconds", s),
    "outages": lambda s: value("weft_outages_total", s),
    "stalled_seconds": lambda s: value("weft_stalled_seconds", s),
    "stalls": lambda s: value("weft_stalls_total", s),
    "restarted": lambda s: value("weft_restarts_total", s),
    "shelved": lambda s: value("weft_shelved_groups", s),
    "moved": lambda s: value("weft_moved_groups_total", s),
    "volumes": lambda s: value("weft_sealed_volumes", s),
    "stored": lambda s: value("weft_stored_volumes", s),
    "disk_free": lambda s: value("weft_disk_free_bytes", s),
    "disk_size": lambda s: value("weft_disk_size_bytes", s),
    "duplicates": lambda s: value("weft_duplicate_pages_total", s),
    "copies": lambda s: value("weft_copies_total", s),
    "unremembered": lambda s: value("weft_unremembered_contents_total", s),
    "max_bytes_page": lambda s: value("weft_page_limit_bytes", s),
    "pages_target": lambda s: value("weft_target_pages_per_second", s),
    "blacklist": lambda s: value("weft_blacklist_rules", s),
}
BY: dict[str, Callable[[Snapshot, str], float]] = {
    "lists": lambda s, name: value("weft_sites", s, list=name),
    "errors": lambda s, name: value("weft_errors_total", s, reason=name),
    "refused": lambda s, name: value("weft_refusals_total", s, reason=name),
    "requisites": lambda s, name: value(
        {
            "fetched": "weft_requisites_total",
            "good": "weft_good_requisites_total",
            "failed": "weft_failed_requisites_total",
            "duplicates": "weft_duplicate_requisites_total",
        }[name],
        s,
    ),
}
OTHERWISE = {
    "stopped",
    "bytes_target",
    "truncated",
    "not_collected",
    "machine",
    "out_of_use",
    "nodes",
    "phase",
}  # looked at below


def test_metrics__say_everything_that_a_status_does() -> None:
    """Each figure of `weft status --json` is there, and is the same."""
    found = snapshot()
    assert {*TEXTS, *WHOLE, *BY, *OTHERWISE} == set(Status.__struct_fields__)
    for name, read in WHOLE.items():
        assert read(found) == getattr(found.status, name), name
    for name, read_by in BY.items():
        for key, count in getattr(found.status, name).items():
            assert read_by(found, key) == count, (name, key)
    for of, cuts in found.status.truncated.items():
        for cut, count in cuts.items():
            assert value("weft_cut_total", found, of=of.removesuffix("s") if of != "robots" else of, cut=cut) == count
    assert value("weft_not_collected_total", found, type="image") == 10
    assert value("weft_not_collected_total", found, type="other") == 2, "what a server says is no label"
    assert value("weft_stopped_sites", found, reason="barren") == len(found.status.stopped)
    no_target = next(metric for metric in METRICS if metric.name == "weft_target_bytes_per_second")
    assert list(no_target.read(found)) == []
    assert value("weft_volume_directories_out_of_use", found) == len(found.status.out_of_use)
    assert value("weft_phase", found) == 2
    assert value("weft_stalled", found) == bool(found.status.stalled)
    for state, count in (("alive", 1), ("silent", 0), ("left", 0), ("lost", 1)):
        assert value("weft_nodes", found, state=state) == count
    had = found.status.machine
    assert value("weft_worker_cpu_seconds_total", found, mode="user") == had.cpu_user
    assert value("weft_worker_cpu_seconds_total", found, mode="system") == had.cpu_system
    assert value("weft_worker_cpu_queue_seconds_total", found) == had.cpu_queued
    assert value("weft_worker_disk_read_bytes_total", found) == had.disk_read
    assert value("weft_worker_disk_written_bytes_total", found) == had.disk_written
    for name, stage in found.status.stages.items():
        assert value("weft_operation_seconds_total", found, operation=name, device=stage.device) == stage.seconds
        assert value("weft_operations_total", found, operation=name) == stage.operations


def test_metrics__say_everything_of_each_worker() -> None:
    """By its number."""
    found = snapshot()
    names = {
        "alive": "weft_worker_up",
        "in_run": "weft_worker_in_run",
        "pages": "weft_pages_total",
        "pages_rate": "weft_pages_per_second",
        "bytes_rate": "weft_content_bytes_per_second",
        "pending": "weft_worker_pending_pages",
        "active": "weft_connections_busy",
        "memory": "weft_worker_resident_memory_bytes",
        "heard": "weft_worker_silent_seconds",
    }
    assert {*names, "number", "pid", "left_out"} == set(WorkerStatus.__struct_fields__)
    for worker in found.status.workers:
        for field, name in names.items():
            assert value(name, found, worker=str(worker.number)) == getattr(worker, field), field
        assert value("weft_worker_left_out", found, worker=str(worker.number)) == bool(worker.left_out)


@pytest.mark.parametrize("text", ["", "127.0.0.1:9100", ":0", "localhost:65535", "[::1]:9100", "0.0.0.0:1"])
def test_place__may_be_an_address_and_a_port(text: str) -> None:
    """On this machine alone unless the operator says otherwise."""
    assert metrics_complaint(text) == ""
    if text.startswith((":", "l")):
        assert place_of(text).address == "127.0.0.1"


@pytest.mark.parametrize(
    "text", ["9100", "::1:9100", "a.example:9100", "127.0.0.1:65536", "127.0.0.1:", "1.2.3:4", "x"]
)
def test_place__that_is_none_is_refused(text: str) -> None:
    """With what to write instead."""
    assert metrics_complaint(text).startswith("write ADDRESS:PORT")


def answer(url: str, method: str = "GET") -> tuple[int, str]:
    """The status of an answer, and what is served."""
    parts = urlsplit(url)
    with closing(HTTPConnection(str(parts.hostname), parts.port, timeout=PATIENCE)) as connection:
        connection.request(method, parts.path)
        found = connection.getresponse()
        return found.status, found.read().decode()


def ask(url: str) -> str:
    """What is served."""
    status, text = answer(url)
    assert status == 200
    return text


def test_exporter__serves_what_prometheus_reads() -> None:
    """Every metric of the table, with its help and its type; the parser of prometheus-client takes all of it."""
    with Exporter(Place("127.0.0.1", 0), VirtualClock()) as exporter:
        exporter.begin(snapshot, pytest.fail)
        families = {family.name: family for family in text_string_to_metric_families(ask(exporter.url))}
        assert answer(exporter.url, "POST")[0] == 405
    for metric in METRICS:
        family = families.pop(metric.name.removesuffix("_total"))
        assert family.type == metric.kind
        assert family.documentation == metric.doc
        assert {name for sample in family.samples for name in sample.labels} <= set(metric.labels)
    assert families == {}
    with pytest.raises(ConnectionRefusedError):
        ask(exporter.url)


def test_exporter__looks_once_for_all_who_ask_within_a_second() -> None:
    """Whoever asks again and again costs a crawl no more than once a second."""
    looks: list[int] = []
    clock = VirtualClock(100.0)

    def look() -> Snapshot:
        looks.append(1)
        return snapshot(100 * len(looks))

    with Exporter(Place("127.0.0.1", 0), clock) as exporter:
        exporter.begin(look, pytest.fail)
        assert ask(exporter.url).count('weft_pages_total{worker="0"} 100.0') == 1
        assert 'weft_pages_total{worker="0"} 100.0' in ask(exporter.url)
        clock.advance(1.0)
        assert 'weft_pages_total{worker="0"} 200.0' in ask(exporter.url)
    assert len(looks) == 2


def test_exporter__looks_less_often_where_looking_takes_long() -> None:
    """A twentieth of the time at most goes into it, however often somebody asks."""
    looks: list[int] = []
    clock = VirtualClock(100.0)

    def look() -> Snapshot:
        looks.append(1)
        clock.advance(2.0)
        return snapshot()

    with Exporter(Place("127.0.0.1", 0), clock) as exporter:
        exporter.begin(look, pytest.fail)
        for _ in range(100):
            ask(exporter.url)
            clock.advance(1.0)
    assert len(looks) == 3, "in 106 seconds"


def test_exporter__says_that_the_frontier_is_away_and_goes_on() -> None:
    """An answer with a zero, one message, and figures again when it is back."""
    away, said = [True], list[str]()
    clock = VirtualClock(100.0)

    def look() -> Snapshot:
        if away[0]:
            raise FrontierAwayError("the global frontier does not answer")
        return snapshot()

    with Exporter(Place("127.0.0.1", 0), clock) as exporter:
        exporter.begin(look, said.append)
        for _ in range(2):
            text = ask(exporter.url)
            assert "weft_frontier_up 0.0" in text
            assert "weft_pages_total" not in text
            clock.advance(1.0)
        away[0] = False
        assert "weft_frontier_up 1.0" in ask(exporter.url)
    assert said == ["metrics cannot be served for now: the global frontier does not answer"]


def test_exporter__is_not_held_up_by_somebody_who_does_not_ask() -> None:
    """A connection on which nothing comes, and one that is dropped, keep nobody from an answer."""
    with Exporter(Place("127.0.0.1", 0), VirtualClock()) as exporter:
        exporter.begin(snapshot, pytest.fail)
        port = int(exporter.url.rpartition(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)) as dropped:
            dropped.sendall(b"GET /metr")
            dropped.close()
            assert "weft_frontier_up 1.0" in ask(exporter.url)


def test_exporter__names_the_port_that_is_taken() -> None:
    """And says what to do; it listens on IPv6 as well."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(WeftError) as caught:
            Exporter(Place("127.0.0.1", port), VirtualClock())
    assert caught.value.where == f"127.0.0.1:{port}"
    assert "port 0" in caught.value.todo
    if socket.has_ipv6:
        with Exporter(Place("::1", 0), VirtualClock()) as exporter:
            exporter.begin(snapshot, pytest.fail)
            assert exporter.url.startswith("http://[::1]:")
            assert "weft_frontier_up 1.0" in ask(exporter.url)


def test_nothing__is_loaded_that_nobody_asked_for() -> None:
    """A watchdog without --metrics and --report-to has none of what they need in memory."""
    program = (
        "import sys, weft.cli.crawl\n"
        "from weft.clock import SystemClock\n"
        "from weft.operations.options import Reporting\n"
        "from weft.operations.telling import telling\n"
        "with telling(Reporting(), SystemClock()): pass\n"
        "print(sorted({'prometheus_client', 'wsgiref', 'http.server', 'smtplib', 'http.client', 'pyarrow', 'numpy'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_snapshot__goes_into_json() -> None:
    """What tests are made of is what `weft status --json` prints."""
    assert msgspec.json.decode(msgspec.json.encode(snapshot().status), type=Status) == snapshot().status
