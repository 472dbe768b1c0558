"""A crawl of a web that changes, by the servers' word. In: their log, and the web. Out: which page was fetched when.

A page counts as fetched when it was answered with 200 or 304, at the web's time for which that answer was made;
`weft.graph.changing.happenings` judges by it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from weft.testbed.log import Entry
from weft.testbed.purpose import Sort, purpose_of_entry
from weft.testbed.web import Web

_FETCHED = frozenset((200, 304))


def fetches_of(web: Web, entries: Iterable[Entry]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The pages that were fetched, and the web's time of each; in the order of the log."""
    pages, times = [], []
    for entry in entries:
        if entry.event != "request" or entry.method != "GET" or entry.status not in _FETCHED:
            continue
        purpose = purpose_of_entry(web, entry)
        if purpose.sort is Sort.GOOD:
            pages.append(purpose.page)
            times.append(entry.web_time)
    return np.array(pages, dtype=np.int64), np.array(times, dtype=np.float64)
