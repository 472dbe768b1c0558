"""What is tried again: settings alone, so that who only starts a crawl need not load
what reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Settings: how often, and after what pauses, a page or site that failed is tried again."""

    retry_pauses: tuple[float, ...] = setting(
        (60.0, 600.0),
        "seconds before the second, third … try of a page or site that failed; none: no retries",
        at_least=0,
        unit="seconds",
    )
    name_recheck: float = setting(
        86_400.0,
        "links to a name that does not exist are refused for so many seconds, then it is asked for again; 0: it is "
        "tried as a site that fails",
        at_least=0,
        unit="seconds",
    )

    def longest(self, tries: int) -> float:
        """Seconds for which a page that was tried so often waits at most.

        >>> Retries(retry_pauses=(60.0, 600.0)).longest(1), Retries(retry_pauses=(60.0, 600.0)).longest(7)
        (60.0, 600.0)
        """
        return max(self.retry_pauses[: max(tries, 1)], default=0.0)
