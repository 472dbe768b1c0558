"""What can be said of seeds before a crawl (P3 3.1, 3.4). In: texts, and the settings of a crawl. Out: of each whether
it can be used, or why not.

In this order: has it a normal form; was it given before, also with the other scheme or with or without www.; do the
rules of the crawl refuse it; does its name exist; may its address be visited. The rules and the gate are the crawl's
own. Names are asked for in bulk, each once.

A duplicate is no fault of a seed: it is left out where seeds are written. A twin (another scheme, www. or not) may be
another site, and is only told, unless somebody wants twins left out.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from weft.clock import Clock
from weft.config import Settings
from weft.engine.gate import Gate
from weft.fetch.dns import Answer
from weft.frontier.rules import FOUND, candidate, first_refusal
from weft.frontier.scope import Scope, twins
from weft.model import Kind, Reason
from weft.seeding.asking import Asking, name_servers
from weft.seeding.given import Given
from weft.urls import (
    Unusable,
    completed,
    credentials_of,
    host_of,
    literal_address,
    normal_form,
    site_of,
    target_of,
    without_credentials,
)

Verdict = Literal["usable", "duplicate", "twin", "unusable"]
Tell = Callable[[str, int, int], None]
"""Told of a step, how much of it is done, and how much there is."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A seed, and what can be said of it."""

    where: str  # it was given
    written: str  # as it was given, without a password
    url: str | None = None  # its normal form
    verdict: Verdict = "usable"
    reason: str | None = None  # why it is not usable, from the list of reasons
    because: str = ""  # the same in words
    same_as: str | None = None  # where the seed was given that it duplicates, or the URL that it is a twin of
    addresses: list[str] = []
    status: int | None = None  # of one request, where that was asked for
    redirect: str | None = None  # where that was sent to
    secret: bool = False  # it carries a user name or a password, which is not written anywhere


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said of a list of seeds."""

    seeds: int
    verdicts: dict[str, int]
    reasons: dict[str, int]  # of those that are not usable
    twins: int  # that are usable, but for another scheme or www. the same as another
    all: list[Checked]

    @property
    def ok(self) -> bool:
        """Is every seed usable, those apart that were given before?"""
        return "unusable" not in self.verdicts

    def usable(self) -> list[str]:
        """The seeds that can be used, in normal form, in the order in which they were given."""
        return [each.url for each in self.all if each.verdict == "usable" and each.url is not None]


def check_seeds(
    given: Iterable[Given],
    settings: Settings,
    asking: Asking,
    clock: Clock,
    *,
    names: bool = True,
    drop_twins: bool = False,
    tell: Tell = lambda _step, _done, _whole: None,
) -> Report:
    """Look at seeds without asking any of their servers; with `names` the name servers are asked."""
    seeds = judged(spelled(given, drop_twins=drop_twins), settings)
    if names and not settings.fetching.proxy:  # which would resolve them itself
        answers = asyncio.run(_answers(_hosts(seeds), settings, asking, clock, tell))
        seeds = reached(seeds, answers, settings)
    return report_of(seeds)


def report_of(seeds: list[Checked]) -> Report:
    """The same seeds with their counts."""
    verdicts: dict[str, int] = {}
    reasons: dict[str, int] = {}
    for each in seeds:
        verdicts[each.verdict] = verdicts.get(each.verdict, 0) + 1
        if each.reason is not None:
            reasons[each.reason] = reasons.get(each.reason, 0) + 1
    alike = sum(1 for each in seeds if each.verdict == "usable" and each.same_as is not None)
    ordered = dict(sorted(reasons.items(), key=lambda each: (-each[1], each[0])))
    return Report(seeds=len(seeds), verdicts=verdicts, reasons=ordered, twins=alike, all=seeds)


def spelled(given: Iterable[Given], *, drop_twins: bool = False) -> list[Checked]:
    """Seeds in normal form, with those marked that were given before. Pure.

    >>> texts = ["example.org", "HTTP://example.org:80/#top", "https://www.example.org", "mailto:x"]
    >>> [(each.verdict, each.same_as) for each in spelled(Given("here", text) for text in texts)]
    [('usable', None), ('duplicate', 'here'), ('usable', 'http://example.org/'), ('unusable', None)]
    """
    first: dict[str, str] = {}  # by URL: where it was given
    alike: dict[tuple[str, str], str] = {}  # by what twins have in common: the first of them
    found = []
    for where, written in given:
        bare, secret = credentials_of(completed(written))
        url = normal_form(bare)
        seed = Checked(where=where, written=without_credentials(written), secret=secret is not None)
        if isinstance(url, Unusable):
            found.append(_unusable(seed, Reason.NOT_A_URL, f"{url.sentence}."))
            continue
        seed = msgspec.structs.replace(seed, url=url)
        twin = alike.setdefault(common_form(url), url)
        if url in first:
            seed = msgspec.structs.replace(seed, verdict="duplicate", same_as=first[url])
        elif twin != url:
            seed = msgspec.structs.replace(seed, verdict="twin" if drop_twins else "usable", same_as=twin)
        first.setdefault(url, where)
        found.append(seed)
    return found


def common_form(url: str) -> tuple[str, str]:
    """What a URL has in common with its twins: the name without www., and what is asked of it.

    >>> common_form("https://www.example.org/a?b") == common_form("http://example.org/a?b")
    True
    """
    return min(twins(site_of(url)), key=len), target_of(url)


def judged(seeds: list[Checked], settings: Settings) -> list[Checked]:
    """The same with those marked that the rules of a crawl refuse. Pure."""
    scope = Scope(settings.selection, settings.overrides)
    found = []
    for each in seeds:
        refused = None
        if each.verdict == "usable" and each.url is not None:
            refused = first_refusal(FOUND, scope, candidate(each.url, Kind.SEED, 0))
        found.append(each if refused is None else _unusable(each, refused))
    return found


def reached(seeds: list[Checked], answers: dict[str, Answer], settings: Settings) -> list[Checked]:
    """The same with those marked whose names do not exist, or whose addresses may not be visited. Pure."""
    hosts = [host_of(site_of(each.url)) for each in seeds if each.url is not None]
    gate = Gate(dataclasses.replace(settings.identity, agent=settings.identity.agent or "-"), hosts)
    return [each if each.verdict != "usable" else _reached(each, answers, gate) for each in seeds]


def _reached(seed: Checked, answers: dict[str, Answer], gate: Gate) -> Checked:
    assert seed.url is not None
    host = host_of(site_of(seed.url))
    literal = literal_address(host)
    if literal is not None:
        seed = msgspec.structs.replace(seed, addresses=[literal])
        refused = gate.refusal(literal)
        return seed if refused is None else _unusable(seed, refused)
    answer = answers[host]
    seed = msgspec.structs.replace(seed, addresses=list(answer.addresses))
    if answer.reason is not None:
        return _unusable(seed, answer.reason, "There is no such name." if answer.unregistered else "")
    refused = gate.choose(answer.addresses)[1]
    return seed if refused is None else _unusable(seed, refused)


def _unusable(seed: Checked, reason: Reason, because: str = "") -> Checked:
    because = because or f"{reason.doc[:1].upper()}{reason.doc[1:]}."
    return msgspec.structs.replace(seed, verdict="unusable", reason=reason.value, because=because)


def _hosts(seeds: list[Checked]) -> list[str]:
    """The names to be asked for, each once."""
    hosts = (host_of(site_of(each.url)) for each in seeds if each.url is not None and each.verdict == "usable")
    return list(dict.fromkeys(host for host in hosts if literal_address(host) is None))


async def _answers(hosts: list[str], settings: Settings, asking: Asking, clock: Clock, tell: Tell) -> dict[str, Answer]:
    found: dict[str, Answer] = {}

    def take(host: str, answer: Answer) -> None:
        found[host] = answer
        tell("names", len(found), len(hosts))

    async with name_servers(settings.naming, asking, clock) as names:
        await names.each(hosts, names.answer, take)
    return found
