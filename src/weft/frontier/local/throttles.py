"""Throttles of a worker's domains and addresses. In: names. Out: who has a place there, who waits for one.

Where there are several workers an address is lent to one of them at a time: what is lent to us, what we would like to
have, and what goes back is kept here. Domains need not be lent: all sites of one are with one worker.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.frontier.politeness import Politeness, Throttle
from weft.model import SiteNumber

_KEPT = 60.0  # seconds that an address is kept which is not in use
_TURN = 5.0  # seconds that a visit may take to begin at an address that was just lent


class Throttles:
    """The throttles of one schedule, which owns it. One that is not there is idle and may be opened at once."""

    def __init__(self, politeness: Politeness) -> None:
        self._politeness = politeness
        self._domains: dict[str, Throttle] = {}
        self._addresses: dict[str, Throttle] = {}
        self.alone = True  # addresses need not be lent to us

    def __repr__(self) -> str:
        return f"Throttles({len(self._domains)} domains, {len(self._addresses)} addresses)"

    def __iter__(self) -> Iterator[Throttle]:
        yield from self._domains.values()
        yield from self._addresses.values()

    def of_domain(self, name: str) -> Throttle:
        """The throttle of a registered domain."""
        throttle = self._domains.get(name)
        if throttle is None:
            throttle = self._domains[name] = Throttle(self._politeness.per_domain)
        return throttle

    def of_address(self, name: str, *, lent: bool | None = None) -> Throttle:
        """The throttle of an address; one that is new is lent to us if this says so, or if nobody else is there."""
        throttle = self._addresses.get(name)
        if throttle is None:
            lent = self.alone if lent is None else lent
            throttle = self._addresses[name] = Throttle(self._politeness.per_address, lent=lent)
        return throttle

    def not_opened_before(self, domain: str, address: str, at: float) -> None:
        """A domain, and an address, were visited before: the next opening is not before this."""
        for throttle in (self.of_domain(domain), *([self.of_address(address)] if address else [])):
            throttle.opens_at = max(throttle.opens_at, at)

    def forget(self, site: SiteNumber) -> None:
        """A site waits for no place any more."""
        for throttle in self:
            if site in throttle.parked:
                throttle.parked.remove(site)

    def put_away(self, gone: set[SiteNumber]) -> None:
        """Sites wait for no place any more."""
        for throttle in self:
            if throttle.parked and not gone.isdisjoint(throttle.parked):
                kept = [site for site in throttle.parked if site not in gone]
                throttle.parked.clear()
                throttle.parked.extend(kept)

    def tidy(self, now: float) -> None:
        """Forget throttles that are not in use."""
        for throttles in (self._domains, self._addresses) if self.alone else (self._domains,):
            for name in [name for name, throttle in throttles.items() if throttle.idle and throttle.opens_at <= now]:
                del throttles[name]

    # Addresses that are lent.

    def wanted(self) -> list[tuple[str, bool]]:
        """Addresses at which sites would be visited, and which are not lent to us; do we insist?"""
        if self.alone:
            return []
        return [
            (name, throttle.insists)
            for name, throttle in self._addresses.items()
            if not throttle.lent and throttle.parked
        ]

    def parked_at(self, address: str) -> list[SiteNumber]:
        """The sites that wait for a place at an address; it is insisted on unless all of them go elsewhere."""
        throttle = self._addresses.get(address)
        if throttle is None:
            return []
        throttle.insists = True
        return list(throttle.parked)

    def lend(self, address: str, not_before: float, now: float) -> Throttle:
        """An address is ours from now on, not to be visited before its time."""
        throttle = self.of_address(address, lent=True)
        throttle.lent = True
        throttle.recalled = throttle.insists = False
        wait = self._politeness.crawl_delay_most / 4
        throttle.opens_at = max(throttle.opens_at, min(not_before, now + wait))  # clocks may jump
        # Others may want it back at once. If it went back unused, it would go back and forth and nobody get on.
        throttle.kept_until = max(now, throttle.opens_at) + _TURN
        return throttle

    def recall(self, address: str) -> None:
        """An address is wanted back; it may have been lent to us before a restart, and be forgotten here."""
        throttle = self.of_address(address, lent=True)
        throttle.lent = throttle.recalled = True

    def release(self, now: float, wall_offset: float) -> list[tuple[str, float]]:
        """Give back addresses that others wait for or that we do not use; each with when it may be visited next."""
        if self.alone:
            return []
        given = []
        for name, throttle in list(self._addresses.items()):
            if not throttle.lent or throttle.open:
                continue
            recalled = throttle.recalled and now >= throttle.kept_until
            if recalled or (throttle.idle and throttle.opens_at + _KEPT <= now):
                given.append((name, max(now, throttle.opens_at) + wall_offset))
                throttle.lent = throttle.recalled = False
                if throttle.idle:
                    del self._addresses[name]
        return given
