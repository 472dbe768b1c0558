"""How logs are to be read. In: what the user says. Out: settings, checked once.

>>> Reading(zone="Europe/Amsterdam").check()
>>> Reading(zone="Europe/Atlantis").check()
Traceback (most recent call last):
    ...
weft.errors.UsageError: there is no time zone called 'Europe/Atlantis': write one like Europe/Amsterdam, or UTC
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal
from zoneinfo import ZoneInfo

from weft.errors import UsageError
from weft.settings import setting

Form = Literal["auto", "squid", "combined", "csv", "jsonl", "parquet"]
LEAST_MEMORY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How logs are to be read."""

    form: Form = setting("auto", "what the logs are; auto finds it out for each of them")
    user: str = setting("user", "column that names the user")
    address: str = setting("", "column with the user's network address, where no column names the user")
    agent: str = setting("", "column with the user's browser; address and agent together are the user")
    ts: str = setting("ts", "column with the time: a timestamp, ISO 8601, Unix time, YYYYMMDD or YYYYMMDDhh")
    url: str = setting("url", "column with the page")
    views: str = setting("", "column with ready-made daily counts; then no user is needed")
    ids: bool = setting(False, "pages have ids instead of URLs; all of them belong to one site, called by host")
    host: str = setting("", "host of a log that does not name it, perhaps with its scheme (https://example.org)")
    zone: str = setting("UTC", "time zone that decides where a calendar day begins; times without a zone are UTC")
    first: str = setting("", "first day of the window (YYYY-MM-DD); else it ends with the last day of the logs")
    days: int = setting(60, "days in the window, at most", at_least=1)
    floor: int = setting(60, "pages with fewer views in the window are dropped", at_least=0)
    drop_parameters: tuple[str, ...] = setting((), "more parameters to take out of URLs; ref_* is all that begin so")
    memory: int = setting(
        1000, "megabytes that counting may take; what does not fit goes to the disk", at_least=LEAST_MEMORY
    )
    threads: int = setting(2, "threads that count", at_least=1)

    def check(self) -> None:
        """Say what is wrong, if something is."""
        _zone(self.zone)
        self.first_day()
        if self.days < 1:
            raise UsageError(f"a window of {self.days} days is none", todo="give at least 1")
        if self.memory < LEAST_MEMORY:
            raise UsageError(f"{self.memory} MB are too few to count with", todo=f"give at least {LEAST_MEMORY}")
        if self.threads < 1:
            raise UsageError(f"nothing can be counted by {self.threads} threads", todo="give at least 1")
        if self.agent and not self.address:
            raise UsageError("an agent alone is no user", todo="name the column with the address, too")

    def first_day(self) -> date | None:
        """The first day of the window, where the user said it."""
        if not self.first:
            return None
        try:
            return date.fromisoformat(self.first)
        except ValueError as error:
            raise UsageError(f"'{self.first}' is no day", todo="write it as 2026-03-02") from error

    def who(self) -> tuple[str, ...]:
        """The columns that together are the user; none where days are counted already."""
        if self.views:
            return ()
        return tuple(filter(None, (self.address, self.agent))) if self.address else (self.user,)

    def columns(self) -> tuple[str, ...]:
        """The columns that must be there."""
        return (*self.who(), self.ts, self.url, *filter(None, (self.views,)))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:  # its own error is a KeyError
        raise UsageError(
            f"there is no time zone called '{name}'", todo="write one like Europe/Amsterdam, or UTC"
        ) from error
