"""When a crawl ends early, and how often it commits: settings alone, so that who only starts a crawl need not load what
reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a crawl ends before it has everything."""

    max_pages: int | None = setting(None, "stop after so many pages", at_least=1)
    max_time: float | None = setting(None, "stop after so many seconds", above=0, unit="seconds")
    max_bytes: int | None = setting(None, "stop after so many bytes of content", at_least=1, unit="bytes")
    grace: float = setting(
        10.0, "seconds that pages under way have to finish when the crawl is told to stop", at_least=0, unit="seconds"
    )
    commit_every: float = setting(1.0, "seconds between two commits", above=0, unit="seconds")
    checkpoint_bytes: int = setting(
        64 << 20,
        "a checkpoint of a worker's frontier is made when its log has grown by so many bytes, or by more where a "
        "checkpoint is larger",
        at_least=1000,
        unit="bytes",
    )
