"""Where a crawl may go at all. In: the address a name stands for. Out: nothing, or the reason why it is not
visited.

A crawl of public seeds is not led by a link, a redirect or a name server to loopback, private or other special
addresses. Without a contact nothing but this machine is crawled: a webmaster must be able to complain to somebody.

`ADDRESS` has the rules, in the order in which they are asked.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weft.frontier.rules import Moment, Rule, first_refusal
from weft.model import Reason
from weft.settings import header_complaint, setting
from weft.urls import Allowed, Unusable, is_loopback, literal_address, normal_form, refused_range, special_range
from weft.version import __version__

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_REMEMBERED = 100_000  # addresses
_is_mail_address = re.compile(r"(?:mailto:)?[^\s@<>(),;:]+@[^\s@<>(),;:]+", re.ASCII).fullmatch


def contact_complaint(contact: str) -> str:
    """What is wrong with a text by which a webmaster should reach somebody; nothing: it is good.

    >>> contact_complaint("me@example.org"), contact_complaint("https://me.example/crawler")
    ('', '')
    >>> contact_complaint("notacontact")
    'give a URL (https://…) or a mail address (you@example.org)'
    """
    url = contact.lower().startswith(("http://", "https://")) and not isinstance(normal_form(contact), Unusable)
    if contact and not url and _is_mail_address(contact) is None:
        return "give a URL (https://…) or a mail address (you@example.org)"
    return "give it without blanks" if " " in contact else header_complaint(contact)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who crawls, and where it may go."""

    contact: str = setting(
        "",
        "a URL or mail address where webmasters reach you; without it nothing but loopback is crawled",
        check=contact_complaint,
    )
    agent: str = setting("", "the whole User-Agent; weft/VERSION (+contact) when empty", check=header_complaint)
    operator: str = setting("", "who crawls, for the warcinfo of the archive; the contact when empty")
    description: str = setting("", "what the crawl is for, for the warcinfo of the archive")
    collection: str = setting("", "what the crawl is part of, for the warcinfo; the name of its directory when empty")
    skip_nobody: bool = setting(
        True, "visit no public address that any name leads to under the top-level domain, be it ever so absurd"
    )
    allow_address: tuple[str, ...] = setting((), "special address ranges that may be visited, such as 10.0.0.0/8")

    @property
    def user_agent(self) -> str:
        """What goes into the User-Agent header."""
        if self.agent:
            return self.agent
        return f"weft/{__version__} (+{self.contact})" if self.contact else f"weft/{__version__}"

    @property
    def product(self) -> str:
        """The name by which robots.txt addresses us."""
        return self.user_agent.partition("/")[0].partition(" ")[0]


class Gate:
    """Refuses addresses that a crawl may not visit. One for a worker; it never changes: settings and seeds decide.

    What has a reason here is not connected to, whoever led to it.
    """

    def __init__(self, identity: Identity, seed_hosts: Iterable[str]) -> None:
        allowed = Allowed.parse(identity.allow_address, where="--allow-address")
        for host in seed_hosts:
            # A seed that is itself a special literal says that its range is meant.
            literal = literal_address(host)
            special = special_range(literal) if literal else None
            if special is not None:
                allowed = allowed.with_range(special)
        self.allowed = allowed
        self.anonymous = not (identity.contact or identity.agent)
        self.forbidden: tuple[Network, ...] = ()
        self.asks = identity.skip_nobody  # are top-level domains asked for absurd names?
        self.of_nobody: frozenset[str] = frozenset()  # addresses that these lead to
        self._known: dict[str, Reason | None] = {}  # a site is visited again and again, and its address with it

    def forbid(self, ranges: tuple[Network, ...]) -> None:
        """Visit no address of these ranges any more."""
        if ranges != self.forbidden:
            self.forbidden = ranges
            self._known.clear()

    def note_nobody(self, addresses: Iterable[str]) -> None:
        """An absurd name under a top-level domain leads to these. Special addresses are a test's, or an intranet's."""
        self.of_nobody |= frozenset(each for each in addresses if special_range(each) is None)
        self._known.clear()

    def forbids(self, address: str) -> bool:
        """Was an address forbidden while it is being visited?"""
        return bool(self.forbidden) and self.refusal(address) is not None

    def refusal(self, address: str) -> Reason | None:
        """Why an address is not visited."""
        if address not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[address] = first_refusal(ADDRESS, self, address)
        return self._known[address]

    def choose(self, addresses: Sequence[str]) -> tuple[str, Reason | None]:
        """Which of a name's addresses to visit, or why none of them is visited."""
        refusals = [self.refusal(address) for address in addresses]
        if None in refusals:
            return addresses[refusals.index(None)], None
        return addresses[0], Reason.DNS_SPECIAL if refusals[0] is Reason.ADDRESS else refusals[0]


def _on_blacklist(gate: Gate, address: str) -> bool:
    return bool(gate.forbidden) and any(ipaddress.ip_address(address) in network for network in gate.forbidden)


def _special(gate: Gate, address: str) -> bool:
    return refused_range(address, gate.allowed) is not None


def _nobody(gate: Gate, address: str) -> bool:
    return address in gate.of_nobody


def _unasked(gate: Gate, address: str) -> bool:
    return gate.anonymous and not is_loopback(address)


ADDRESS: tuple[Rule[Gate, str], ...] = (
    Rule(Reason.BLACKLISTED, Moment.ADDRESS, "the address: ranges of `weft blacklist`", _on_blacklist),
    Rule(
        Reason.ADDRESS,
        Moment.ADDRESS,
        "the address: `allow_address`, and the ranges of seeds that are addresses themselves",
        _special,
    ),
    Rule(
        Reason.NOBODY,
        Moment.ADDRESS,
        "the address, which absurd names under a top-level domain lead to: `skip_nobody`",
        _nobody,
    ),
    Rule(Reason.CONTACT, Moment.ADDRESS, "the address, where there is neither `contact` nor `agent`", _unasked),
)
