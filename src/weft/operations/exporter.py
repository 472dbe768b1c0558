"""Metrics served to Prometheus, by the process that runs a crawl. In: a place to listen at, and how to look at the
crawl. Out: what is in the table of metrics, to whoever asks by HTTP.

It listens before the crawl begins, so that a port that is taken is told before anything is written. Whoever asks is
answered in a thread of its own, which reads the global frontier beside the workers and holds up none of them; several
who ask within a second, or longer where looking takes long, get the same answer. Only this module imports
prometheus-client, and only where a crawl is asked to serve metrics.
"""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Callable, Iterator
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from weft.clock import Clock
from weft.errors import UsageError, WeftError
from weft.operations.metrics import FRONTIER_UP, METRICS
from weft.operations.options import Place
from weft.operations.samples import Metric, Sample
from weft.operations.status import Snapshot

try:
    from prometheus_client import CollectorRegistry, make_wsgi_app
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.registry import Collector
except ImportError as error:
    raise UsageError(
        f"metrics cannot be served: {error}", todo="install what that needs: pip install 'weft[metrics]'"
    ) from error

_FRESH = 1.0  # seconds for which a look at the crawl is good: workers report once a second
_SPARING = 20.0  # and so many times what it took: a database of ten million sites counts them for a second or two
_LONGEST = 10.0  # seconds that somebody who is connected may take to ask
_LOOK = 0.1  # seconds between two looks at whether to end

Look = Callable[[], Snapshot]
Family = CounterMetricFamily | GaugeMetricFamily


class Exporter:
    """Serves the metrics of one crawl, from `begin` until it is closed; its port is taken from the first moment on."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self._clock = clock
        try:
            self._server = _Server(place)
        except OSError as error:
            raise WeftError(
                f"cannot serve metrics: {error.strerror or error}",
                where=_shown(place),
                todo="give --metrics another port, or port 0 for one that is free",
            ) from error
        self._thread: threading.Thread | None = None
        self.url = f"http://{_shown(Place(place.address, self._server.server_port))}/metrics"

    def __repr__(self) -> str:
        return f"Exporter({self.url})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, look: Look, say: Callable[[str], None]) -> None:
        """Answer from now on; `look` is called in other threads, one at a time."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Crawl(look, self._clock, say))
        self._server.set_app(make_wsgi_app(registry))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_LOOK,), name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._thread = None
        self._server.server_close()


class _Crawl(Collector):
    """A crawl as prometheus-client asks it."""

    def __init__(self, look: Look, clock: Clock, say: Callable[[str], None]) -> None:
        self._look = look
        self._clock = clock
        self._say = say
        self._one = threading.Lock()
        self._stale_at = -math.inf
        self._seen: Snapshot | None = None
        self._failed = False

    def collect(self) -> Iterator[Family]:
        """Every metric with its samples; only that the global frontier is away, where it is."""
        snapshot = self._snapshot()
        if snapshot is None:
            yield _family(FRONTIER_UP, [((), 0.0)])
            return
        for metric in METRICS:
            yield _family(metric, list(metric.read(snapshot)))

    def _snapshot(self) -> Snapshot | None:
        """A look at the crawl that is fresh; None where there is none. That it fails is said once."""
        with self._one:
            began = self._clock.now()
            if began >= self._stale_at:
                try:
                    self._seen = self._look()
                except Exception as error:  # noqa: BLE001  whatever it is, neither this thread nor the crawl ends
                    self._seen = None
                    if not self._failed:
                        self._say(f"metrics cannot be served for now: {error}")
                self._failed = self._seen is None
                now = self._clock.now()
                self._stale_at = now + max(_FRESH, _SPARING * (now - began))
            return self._seen


def _family(metric: Metric, samples: list[Sample]) -> Family:
    make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family: Family = make(metric.name, metric.doc, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _shown(place: Place) -> str:
    return f"[{place.address}]:{place.port}" if ":" in place.address else f"{place.address}:{place.port}"


class _Server(ThreadingMixIn, WSGIServer):
    """An HTTP server that asks no name server who it is."""

    daemon_threads = True

    def __init__(self, place: Place) -> None:
        self.address_family = socket.AF_INET6 if ":" in place.address else socket.AF_INET
        super().__init__((place.address, place.port), _Handler)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked is gone, or never asked: nobody's failure."""


class _Handler(WSGIRequestHandler):
    """Writes nothing about who asked, and waits for nobody for long."""

    timeout = _LONGEST

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nobody wants to know."""
