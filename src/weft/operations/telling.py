"""Who is told how a crawl goes, for the time of a run. In: the settings, the directory. Out: metrics that are served,
and reports that are sent.

What cannot work is refused before the crawl begins. Both look at the crawl by a connection to the global frontier of
their own, in threads beside what runs it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from weft.clock import Clock
from weft.errors import UsageError
from weft.frontier.shared.opening import open_frontier
from weft.operations.options import Reporting, place_of
from weft.operations.status import Snapshot, look_at

if TYPE_CHECKING:
    from weft.operations.delivery import Target
    from weft.operations.exporter import Exporter
    from weft.operations.reporter import Reporter

Say = Callable[[str], None]
_PATIENCE = 5.0  # seconds that the global frontier may take to answer
_LOOK = 1.0  # seconds between two looks at whether a report is due
_LAST = 45.0  # seconds that the reports on the end may take


class Telling:
    """What tells of one run."""

    def __init__(self, every: float, targets: list[Target], exporter: Exporter | None, clock: Clock) -> None:
        self._every = every
        self._targets = targets
        self._exporter = exporter
        self._clock = clock

    def __repr__(self) -> str:
        return f"Telling({self._exporter}, {self._targets})"

    @contextmanager
    def of(self, out: Path, say: Say) -> Iterator[None]:
        """Tell of the run in a directory, until it has ended, however that comes about."""

        def look() -> Snapshot:
            return look_from_outside(out, self._clock)

        if self._exporter is not None:
            self._exporter.begin(look, say)
            say(f"metrics are served at {self._exporter.url}")
        if not self._targets:
            yield
            return
        from weft.operations.reporter import Reporter

        reporter = Reporter(self._targets, self._every, look=look, clock=self._clock, say=say, folder=out / "log")
        with _reporting(reporter, say, lambda: look().status.over):
            yield


@contextmanager
def _reporting(reporter: Reporter, say: Say, over: Callable[[], str]) -> Iterator[None]:
    """Send reports in a thread: a mail server may take its time, and nobody waits for it but the last report does."""
    ended = threading.Event()
    failure: list[str] = []

    def work() -> None:
        while not ended.wait(_LOOK):
            reporter.step()
        try:
            reporter.end(failure[0] if failure else over())
        except Exception as error:  # noqa: BLE001  the crawl has ended, and nothing changes that
            say(f"the last report was not sent: {error}")

    thread = threading.Thread(target=work, name="reports", daemon=True)
    thread.start()
    try:
        yield
    except BaseException as error:
        failure.append(f"by an error: {str(error) or type(error).__name__}")
        raise
    finally:
        ended.set()
        thread.join(_LAST)
        if thread.is_alive():
            say(f"the last reports were not sent within {_LAST:.0f} s")


@contextmanager
def telling(settings: Reporting, clock: Clock, contact: str = "") -> Iterator[Telling]:
    """Get ready to tell of a run: what is missing, or taken, is told now. What is not asked for is not loaded."""
    if settings.report_every and not settings.report_to:
        raise UsageError("reports are asked for, and nobody to send them to", todo="give --report-to as well")
    with ExitStack() as left:
        exporter = None
        if settings.metrics:
            from weft.operations.exporter import Exporter

            exporter = left.enter_context(Exporter(place_of(settings.metrics), clock))
        targets = []
        if settings.report_to:
            from weft.operations.delivery import targets_of

            targets = targets_of(settings, contact)
        yield Telling(settings.report_every, targets, exporter, clock)


def look_from_outside(out: Path, clock: Clock) -> Snapshot:
    """Look at a crawl that this process runs, by a connection of its own."""
    shared = open_frontier(out, clock, patience=_PATIENCE, read_only=True)
    try:
        return look_at(out, shared, clock, running=True)
    finally:
        shared.close()
