"""A crawl from Python. In: seeds, a directory, settings by name, perhaps an application. Out: what came of it.

`crawl` works wherever it is called: in a program, in a thread, in a notebook. `crawl_async` is for programs that have
an event loop of their own, which it does not block. Either way a crawl has one thread to itself, in which the
application's methods and `watch` are called: the caller's own thread if no event loop runs there, else a new one.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Unpack

from weft.app import Summary, run, usable_seeds, with_credentials
from weft.config import APPLICATION, Settings
from weft.directory import Plan
from weft.engine.application import Application, Together
from weft.engine.hosting import check_application
from weft.engine.stopping import Stopping
from weft.keywords import Keywords, SiteKeywords
from weft.work import Watch


def crawl(
    seeds: str | Iterable[str],
    out: str | Path,
    *,
    application: Application | Together | str | None = None,
    watch: Watch | None = None,
    sites: Mapping[str, SiteKeywords] | None = None,
    fresh: bool = False,
    **settings: Unpack[Keywords],
) -> Summary:
    """Crawl, or go on with the crawl in a directory, until it is done or stopped.

    It is what `weft crawl` does, with each setting by its name (`max_pages=100`); the reference of settings lists
    them. In addition:

    - `seeds`: URLs to begin with; one text is one seed. A seed may carry a user name and password
      (`https://user:password@example.org/`): they are sent to that site alone, and kept with the secrets.
    - `out`: the directory of the crawl. The same again: the crawl goes on; where nothing is left, nothing is done.
    - `fresh`: remove the crawl that is in `out` first. Only a crawl of weft's is removed, and none that is running.
    - `sites`: settings of single sites, by name (`www.example.org`, `*.example.org`).
    - `application`: chooses what to request. Then the scope is `all`, and no depth is too large, unless they are
      given: what is crawled is the application's choice. An object is called in this process, by one worker; a name
      (`"module:Class"`) is made into one by each worker, in its process or, with `application_apart`, in another.
    - `watch`: called a few times a second with how things stand.

    It works in a notebook and in any thread. Where an event loop runs in the caller's thread, as in a notebook, the
    crawl has a thread of its own, in which the application and `watch` are called, and the caller waits for it.

    Ctrl-C (in a notebook: interrupt) ends the crawl, it does not raise: pages under way are finished, everything is
    committed, and the summary says `interrupted`. A second one does not wait for pages.
    """
    plan = _plan(seeds, out, application, sites, settings, fresh=fresh)
    if not _loop_runs():
        return run(plan, watch=watch)
    crawling = _Crawling(plan, watch)
    crawling.start(lambda: None)
    while True:
        try:
            crawling.wait()
        except KeyboardInterrupt:
            crawling.stopping.tell("interrupted")
        else:
            return crawling.result()


async def crawl_async(
    seeds: str | Iterable[str],
    out: str | Path,
    *,
    application: Application | Together | str | None = None,
    watch: Watch | None = None,
    sites: Mapping[str, SiteKeywords] | None = None,
    fresh: bool = False,
    **settings: Unpack[Keywords],
) -> Summary:
    """Crawl without blocking the event loop: the same as `crawl`, in a thread of its own.

    When the task that awaits it is cancelled, the crawl stops as by Ctrl-C: pages under way are finished and
    everything is committed before `CancelledError` goes on. A second cancellation does not wait for pages.

    The application and `watch` are called in the crawl's thread, not in the event loop's: use
    `loop.call_soon_threadsafe` to hand something over.
    """
    crawling = _Crawling(_plan(seeds, out, application, sites, settings, fresh=fresh), watch)
    events = asyncio.get_running_loop()
    over = asyncio.Event()
    crawling.start(lambda: events.call_soon_threadsafe(over.set))
    cancelled: asyncio.CancelledError | None = None
    while not over.is_set():
        try:
            await over.wait()
        except asyncio.CancelledError as error:
            cancelled = error
            crawling.stopping.tell("cancelled")
    if cancelled is not None:
        raise cancelled
    return crawling.result()


def _plan(
    seeds: str | Iterable[str],
    out: str | Path,
    application: Application | Together | str | None,
    sites: Mapping[str, SiteKeywords] | None,
    settings: Keywords,
    *,
    fresh: bool,
) -> Plan:
    """What is to be run; everything that can be wrong with it by itself is found out here."""
    found: dict[str, str] = {}
    texts = [seeds] if isinstance(seeds, str) else seeds
    usable, _ = usable_seeds(texts, where="the seeds", strict=True, credentials=found)
    values: dict[str, Any] = dict(settings)
    name = application if isinstance(application, str) else ""
    if name:
        values["application"], application = name, None
    if application is not None:
        check_application(application)
    if application is not None or values.get("application"):
        values = APPLICATION | values
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    chosen = Settings().with_values(plain, where="weft.crawl").with_sites(sites or {}, where="weft.crawl")
    chosen = with_credentials(chosen, found)
    watched = bool(chosen.running.application)  # user code in a worker may end it, and another is started then
    return Plan(
        seeds=usable,
        out=Path(out),
        settings=chosen,
        application=None if isinstance(application, str) else application,
        fresh=fresh,
        watched=watched,
    )


def _loop_runs() -> bool:
    """Does an event loop run in this thread?"""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _Crawling:
    """A crawl in a thread of its own, for one call of `crawl_async`; the thread ends with the crawl."""

    def __init__(self, plan: Plan, watch: Watch | None) -> None:
        self._plan = plan
        self._watch = watch
        self._over = threading.Event()
        self._summary: Summary | None = None
        self._error: BaseException | None = None
        self.stopping = Stopping()

    def __repr__(self) -> str:
        return f"_Crawling({self._plan.out})"

    def start(self, over: Callable[[], object]) -> None:
        """Begin; `over` is called in the thread when the crawl has ended."""
        context = (
            contextvars.copy_context()
        )  # what the caller has set, such as where a notebook prints, holds there too
        threading.Thread(target=context.run, args=(self._run, over), name=f"crawl {self._plan.out.name}").start()

    def wait(self) -> None:
        """Wait for the end. Who is interrupted may wait again: a thread's own `join` takes it for ended then."""
        self._over.wait()

    def result(self) -> Summary:
        """What came of it, or what went wrong."""
        if self._error is not None:
            raise self._error
        assert self._summary is not None
        return self._summary

    def _run(self, over: Callable[[], object]) -> None:
        try:
            self._summary = run(self._plan, watch=self._watch, stopping=self.stopping)
        except BaseException as error:  # noqa: BLE001  it is raised where the caller waits
            self._error = error
        finally:
            self._over.set()
            over()
