"""Why a URL was crawled or not, and when it will be. In: a crawl's directory and a URL. Out: the verdict and its
grounds.

Three sources are asked in turn: the rows of its fetches, the frontier's log (it waits, or was refused when its turn
came, for the reason that stands there), and the rules. What was refused when it was found is written down nowhere: each
link to it is judged again, by the same rules in the same order as the crawler's (`weft.frontier.rules`). What whoever
runs the crawl has said since it began, in its scope and on its blacklist, is in the global frontier.

`ways` judges links again, `explainer` has the answers and `words` what they say.

Rows and log are asked by the text of the URL. Where a page was found, and who links to it, is known by ids alone: where
several URLs have one id, which somebody may have arranged, all of them are named.
"""

from __future__ import annotations

from pathlib import Path

from weft.clock import SystemClock
from weft.config import Settings
from weft.directory import group_keys, laws_of, seeds_of
from weft.errors import UsageError
from weft.explain.explainer import Explainer, Explanation
from weft.frontier.durable.inspect import Ledger
from weft.frontier.shared.opening import frontier_exists, open_frontier
from weft.model import Reason
from weft.ordering import ordering_named
from weft.store.reading import CrawlFiles
from weft.urls import normal_form

__all__ = ["Explainer", "Explanation", "explain_url"]


def explain_url(out: Path, text: str, now: float | None = None) -> Explanation:
    """Say where a URL stands in a crawl, and why; `now` in wall time, if it is another than the clock's."""
    files = CrawlFiles(out)
    settings = Settings().with_file(out / "crawl.toml")
    url = normal_form(text, None, settings.urls)
    if type(url) is not str:
        verdict = f"It is never crawled: {Reason.NOT_A_URL.doc} ({url})."
        return Explanation(url=text, state="refused", verdict=verdict, reason=Reason.NOT_A_URL.value)
    by_size = _by_size(settings)
    key_of = group_keys(out)
    ledgers = [Ledger(path, by_size=by_size, key_of=key_of) for path in sorted(out.glob("workers/*/frontier.log"))]
    try:
        explainer = Explainer(
            files, settings, laws_of(out, settings), ledgers, seeds=seeds_of(out), now=now or SystemClock().wall()
        )
        answer = explainer.explain(url)
        if answer.rules and answer.reason is None and _waits(out, url):
            answer.state = "pending"
            answer.verdict = "It waits in the global frontier until a worker has room for its domain."
        return answer
    finally:
        for ledger in ledgers:
            ledger.close()


def _by_size(settings: Settings) -> bool:
    try:
        return ordering_named(settings.running.ordering).by_size
    except UsageError:  # it came from a package that is not installed here
        return False


def _waits(out: Path, url: str) -> bool:
    if not frontier_exists(out):
        return False
    shared = open_frontier(out)
    try:
        return shared.waits(url)
    finally:
        shared.close()
