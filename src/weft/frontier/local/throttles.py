"""Throttles of a worker's domains, addresses and networks. In: names. Out: who has a place there, who waits for one.

Where there are several workers an address is lent to one of them at a time, or its network where networks have limits:
what is lent to us, what we would like to have, and what goes back is kept here. Domains need not be lent: all sites of
one are with one worker. Nor do the addresses of a network that is: nobody else visits them.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.frontier.politeness import Politeness, Throttle
from weft.model import SiteNumber
from weft.urls import network_of

_KEPT = 60.0  # seconds that an address is kept which is not in use
_TURN = 5.0  # seconds that a visit may take to begin at an address that was just lent
_NO_LIMIT = 1 << 30  # connections at once


class Throttles:
    """The throttles of one schedule, which owns it. One that is not there is idle and may be opened at once."""

    def __init__(self, politeness: Politeness) -> None:
        self._politeness = politeness
        self._by_network = politeness.by_network
        self._domains: dict[str, Throttle] = {}
        self._addresses: dict[str, Throttle] = {}
        self._networks: dict[str, Throttle] = {}  # none where they have no limits
        self._lendable = self._networks if self._by_network else self._addresses
        self.alone = True  # addresses need not be lent to us
        self.held_until = 0.0  # any of them may have been opened shortly before this run, by one that noted nothing

    def __repr__(self) -> str:
        return (
            f"Throttles({len(self._domains)} domains, {len(self._addresses)} addresses, {len(self._networks)} networks)"
        )

    def __iter__(self) -> Iterator[Throttle]:
        yield from self._domains.values()
        yield from self._addresses.values()
        yield from self._networks.values()

    def of_domain(self, name: str) -> Throttle:
        """The throttle of a registered domain."""
        throttle = self._domains.get(name)
        if throttle is None:
            throttle = self._domains[name] = Throttle(self._politeness.per_domain)
        return throttle

    def of_address(self, name: str) -> Throttle:
        """The throttle of an address; one that is new is lent to us if nobody else is there, or if its network is."""
        throttle = self._addresses.get(name)
        if throttle is None:
            network = self._of_network(network_of(name)) if self._by_network else None
            lent = self.alone or self._by_network
            throttle = Throttle(self._politeness.per_address, lent=lent, within=network)
            self._addresses[name] = throttle
        return throttle

    def _of_network(self, name: str) -> Throttle:
        throttle = self._networks.get(name)
        if throttle is None:
            throttle = Throttle(self._politeness.per_network or _NO_LIMIT, lent=self.alone)
            throttle.spaced = self._politeness.network_gap > 0
            self._networks[name] = throttle
        return throttle

    def not_opened_before(self, domain: str, address: str, at: float) -> None:
        """A domain, and an address, were visited before: the next opening is not before this."""
        self.of_domain(domain).not_before(at)
        if address:
            self.of_address(address).not_before(at)

    def network_not_opened_before(self, address: str, at: float) -> None:
        """The same of the network of an address, where networks have limits."""
        network = self.of_address(address).within if address else None
        if network is not None:
            network.not_before(at)

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
        for throttles in (self._domains, self._addresses) if self.alone or self._by_network else (self._domains,):
            for name in [name for name, throttle in throttles.items() if throttle.idle and throttle.opens_at <= now]:
                del throttles[name]
        if self._networks:
            self._tidy_networks(now)

    def _tidy_networks(self, now: float) -> None:
        """Forget networks that are not in use, and of which no address is known by now that would lead there."""
        led_to = {id(throttle.within) for throttle in self._addresses.values()}
        for name, throttle in list(self._networks.items()):
            over = throttle.idle and max(throttle.opens_at, throttle.rests_until) <= now
            if over and id(throttle) not in led_to and (self.alone or not throttle.lent):
                del self._networks[name]

    # Addresses that are lent; or networks, where these have limits.

    def _to_lend(self, name: str) -> Throttle:
        return self._of_network(name) if self._by_network else self.of_address(name)

    def wanted(self) -> list[tuple[str, bool]]:
        """Addresses at which sites would be visited, and which are not lent to us; do we insist?"""
        if self.alone:
            return []
        return [
            (name, throttle.insists)
            for name, throttle in self._lendable.items()
            if not throttle.lent and throttle.parked
        ]

    def parked_at(self, address: str) -> list[SiteNumber]:
        """The sites that wait for a place at an address; it is insisted on unless all of them go elsewhere."""
        throttle = self._lendable.get(address)
        if throttle is None:
            return []
        throttle.insists = True
        return list(throttle.parked)

    def lend(self, address: str, not_before: float, now: float) -> Throttle:
        """An address is ours from now on, not to be visited before its time."""
        throttle = self._to_lend(address)
        throttle.lent = True
        throttle.recalled = throttle.insists = False
        wait = max(self._politeness.crawl_delay_most / 4, self._politeness.network_gap) + self._politeness.margin
        throttle.opens_at = max(throttle.opens_at, min(not_before, now + wait))  # clocks may jump
        # Others may want it back at once. If it went back unused, it would go back and forth and nobody get on.
        throttle.kept_until = max(now, throttle.opens_at) + _TURN
        return throttle

    def recall(self, address: str) -> None:
        """An address is wanted back; it may have been lent to us before a restart, and be forgotten here."""
        throttle = self._to_lend(address)
        throttle.lent = throttle.recalled = True

    def release(self, now: float, wall_offset: float) -> list[tuple[str, float]]:
        """Give back addresses that others wait for or that we do not use; each with when it may be visited next. Who
        gets a network knows nothing of the gaps of its addresses: it waits until all of them are over.
        """
        if self.alone:
            return []
        given = []
        for name, throttle in list(self._lendable.items()):
            if not throttle.lent or throttle.open:
                continue
            opens_at = max(throttle.opens_at, throttle.rests_until, self.held_until)
            recalled = throttle.recalled and now >= throttle.kept_until
            if recalled or (throttle.idle and opens_at + _KEPT <= now):
                given.append((name, max(now, opens_at) + wall_offset))
                throttle.opens_at = opens_at
                throttle.lent = throttle.recalled = False
                if throttle.idle and not self._by_network:  # addresses may lead to a network
                    del self._addresses[name]
        return given
