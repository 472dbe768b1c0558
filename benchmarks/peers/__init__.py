"""Crawlers that are pointed at a standard web, a small file each: what it needs, how it is started, and what is set.

A driver has a `PEER`. To add a crawler is to write one, and to name it in `PEERS` of `benchmarks/judged.py`. Settings
are those that the crawler's own documentation advises for a crawl of many sites; where they differ from its defaults
the file says why. All are given the same seeds and the same wait between requests to a site, in the way each has.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from weft.testbed.bed import Bed


class Task(NamedTuple):
    """What a crawler is to do."""

    bed: Bed
    folder: Path
    """Where it may leave what it likes."""
    seeds: Path
    """One URL a line."""
    wait: float
    """Seconds between two requests to a site; 0: as fast as it likes."""


class Peer(NamedTuple):
    """A crawler."""

    name: str
    reaches: str
    """How it comes to the web: by the testbed's DNS server, or through its proxy."""
    missing: Callable[[], str]
    """What is not installed that it needs; empty if it can be run."""
    command: Callable[[Task], list[str]]
