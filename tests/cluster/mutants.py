"""Bugs put back on purpose. In: a function of weft, and what is changed in its text. Out: the function is another one
in this process as long as a `with` lasts; no file is touched.

What a simulation is worth shows by what it finds. The first three are the bugs that such a system is built to exclude,
those that begin with "found" are what the simulation found in weft; each of the others is one condition that is not
looked at.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change."""

    where: str  # module:Class.function
    old: str
    new: str
    what: str = ""


MUTANTS = {
    "message applied twice": Mutant(
        "shared.sqlite_exchange:_deliver",
        "in inbox(base, report.worker, report.taken)",
        "in inbox(base, report.worker, report.taken - 1)",
        "the last message that was taken in is given again, and taken in again",
    ),
    "wait forgotten at a hand-over": Mutant(
        "local.arrivals:Arrivals._remember",
        "if memory or not content.clean:",
        "if not content.clean:",
        "a site that comes in a parcel is ready at once",
    ),
    "settled page lost at a restart": Mutant(
        "local.pages:Pages.pack",
        "commit.settled, self._settled = self._settled.tobytes(), ",
        "commit.settled, self._settled = self._settled[1:].tobytes(), ",
        "one page of each commit is done in memory only",
    ),
    "message let go at once": Mutant(
        "local.correspondence:Correspondence.report",
        "self._history[0] if len(self._history) > SETTLED else 0",
        "self._taken",
        "a message is not kept until the commit that took it in is settled",
    ),
    "batch sent before its commit is on disk": Mutant(
        "local.correspondence:Correspondence.report",
        "if batch.number <= self._written",
        "if batch.number <= self._number",
        "",
    ),
    "idle with a batch that is not sent": Mutant(
        "local.exchanges:Exchanges.report",
        "idle=self.idle and not self.mail.unwritten",
        "idle=self.idle",
        "",
    ),
    "idle with links that are not packed": Mutant(
        "local.exchanges:Exchanges.idle",
        "and not parts.holdings.unsent",
        "",
        "",
    ),
    "end with messages that are not read": Mutant(
        "shared.sqlite_exchange:_end_of",
        "if unread or free or starved or leaving",
        "if free or starved or leaving",
        "",
    ),
    "end with groups of who leaves": Mutant(
        "shared.sqlite_exchange:_end_of",
        "if unread or free or starved or leaving",
        "if unread or free or starved",
        "",
    ),
    "nothing held back after a crash": Mutant(
        "local.schedule:Schedule.hold_back",
        "if wait:",
        "if not wait:",
        "a site whose visit was never written down is visited at once",
    ),
    "no wait from the restart on": Mutant(
        "local.schedule:Schedule.resume_all",
        "until = max(until, now + wait + margin)",
        "until = max(until, now + margin)",
        "",
    ),
    "address lent twice": Mutant(
        "shared.sqlite_exchange:_lend",
        "if row is None or row[0] is None or row[0] == me:",
        "if row is None or row[0] is None or row[0] is not None:",
        "",
    ),
    "address given back in a visit": Mutant(
        "local.throttles:Throttles.release",
        "if not throttle.lent or throttle.open:",
        "if not throttle.lent:",
        "",
    ),
    "gap of a lent address forgotten": Mutant(
        "local.throttles:Throttles.lend",
        "throttle.opens_at = max(throttle.opens_at, min(not_before, now + wait))",
        "throttle.opens_at = max(throttle.opens_at, min(now, now + wait))",
        "",
    ),
    "gaps of addresses forgotten in a network": Mutant(
        "local.throttles:Throttles.release",
        "opens_at = max(throttle.opens_at, throttle.rests_until)",
        "opens_at = throttle.opens_at",
        "who gets a network visits an address in it too early",
    ),
    "network not looked at": Mutant(
        "local.schedule:Schedule.enter",
        "(network is not None and not network.free(now))",
        "False",
        "",
    ),
    "network lent as its addresses": Mutant(
        "local.throttles:Throttles._of_network",
        "lent=self.alone",
        "lent=True",
        "each worker keeps the limits of networks for itself",
    ),
    "gap of a network forgotten at a restart": Mutant(
        "politeness:quiet_time",
        "max(shortest_wait(settings), settings.network_gap)",
        "shortest_wait(settings)",
        "",
    ),
    "one connection too many": Mutant(
        "politeness:Throttle.free", "self.open < self.limit", "self.open <= self.limit", ""
    ),
    "parcel taken in twice": Mutant(
        "local.exchanges:Exchanges._take",
        "if holdings.check_out(group) and group in parcels:",
        "if (holdings.check_out(group) or True) and group in parcels:",
        "",
    ),
    "parcel of a group that is known": Mutant(
        "local.arrivals:Arrivals._load_pages",
        "if not anew:",
        "if False:",
        "pages that an errand made known get a second number",
    ),
    "unread message not handed over": Mutant(
        "shared.sqlite_handover:hand_over",
        "inbox(base, worker, left.taken)",
        "inbox(base, worker, left.taken + 1)",
        "",
    ),
    "batch not handed over": Mutant(
        "shared.sqlite_handover:hand_over",
        "if batch.number > applied:",
        "if batch.number > applied + 1:",
        "",
    ),
    "lost groups kept": Mutant(
        "local.departures:Departures.keep",
        "for group in self._holdings.groups - groups:",
        "for group in self._holdings.groups - self._holdings.groups:",
        "what was given away in commits that are lost is visited by two",
    ),
    "pauses of one file forgotten": Mutant(
        "durable.pauses:noted", "for suffix in _FILES:", "for suffix in _FILES[:1]:", ""
    ),
    "pause noted and emptied": Mutant(
        "durable.pauses:Pauses.turn",
        "os.ftruncate(self._file(), 0)",
        "[os.ftruncate(each, 0) for each in self._opened if each is not None]",
        "a commit that is packed forgets pauses which it has, before it is on disk",
    ),
    "retries lost in a parcel": Mutant(
        "local.arrivals:Arrivals._load_states",
        "for place, tries, wall in content.retries:",
        "for place, tries, wall in content.retries[1:]:",
        "",
    ),
    "found: address for who is gone": Mutant(
        "shared.sqlite_handover:hand_over",
        "where holder = ?1 or wanted = ?1 + 1",
        "where holder = ?1",
        "mended: the crawl did not end",
    ),
    "found: first visit without a wait": Mutant(
        "local.commits:Commits._restore_sites",
        "chain(resting, first)",
        "resting",
        "mended: visited too early",
    ),
    "found: robots.txt from the future": Mutant(
        "local.robots:RobotsFiles.learn",
        "min(fetched_at, now)",
        "fetched_at",
        "mended: the crawl did not end",
    ),
    "found: robots.txt in a log that is gone": Mutant(
        "local.robots:RobotsFiles.moved",
        "if scheme in files and _age(files[scheme].extent) < _age(extent):",
        "if False:",
        "mended: a visit failed inside, and the crawl did not end",
    ),
    "found: group that was given away": Mutant(
        "shared.sqlite_exchange:_deliver",
        "of_holder(message, _held(base, report.worker, message.groups))",
        "message",
        "mended: two workers held a group, and a page was lost",
    ),
    "found: unread messages of who left": Mutant(
        "shared.sqlite:SqliteFrontier.surplus",
        "where worker = workers.number",
        "where worker = number",
        "mended: the crawl did not end",
    ),
    "found: a pause that was rounded": Mutant(
        "durable.pauses:Pauses.note",
        "math.ceil(each * 1000) / 1000",
        "each",
        "mended: visited a fraction of a millisecond too early",
    ),
    "found: a rest as long as a clock was set back": Mutant(
        "durable.memory:SiteMemory.left",
        "if self.rest is not None and self.rest < seconds:",
        "if False:",
        "mended: a site rested for hours",
    ),
    "found: an empty log holds nothing back": Mutant(
        "local.commits:Commits.recover",
        "if begun is not None and begun.incarnation > 1:",
        "if False:",
        "mended: visited too early",
    ),
    "found: held back by the receiver's clock": Mutant(
        "local.arrivals:Arrivals.load",
        "if not content.clean and content.made_at not in self._waited:",
        "if not content.clean and wall < content.made_at + 1.2:",
        "mended: visited too early",
    ),
    "found: address of who left": Mutant(
        "shared.sqlite:SqliteFrontier.surplus",
        "where holder = workers.number or wanted = workers.number + 1",
        "where holder = -1",
        "mended: the crawl did not end",
    ),
    "found: alone before another has handed over": Mutant(
        "shared.sqlite_groups:leaving",
        "return base.execute(held).fetchone() is not None",
        "return False",
        "mended: 24 pages were fetched again",
    ),
    "found: mail that was read twice": Mutant(
        "local.shelving:Shelving._take_back",
        "if piece.checkpoint > before else ()",
        "",
        "mended: a page that was wanted again was fetched twice more",
    ),
}


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """Have one bug in this process."""
    mutant = MUTANTS[name]
    module_name, _, path = mutant.where.partition(":")
    module = importlib.import_module(f"weft.frontier.{module_name}")
    *holders, last = path.split(".")
    owner: Any = module
    for holder in holders:
        owner = getattr(owner, holder)
    before = inspect.getattr_static(owner, last)
    function: Any = before.fget if isinstance(before, property) else before
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(mutant.old) == 1, f"{name}: {mutant.where} has changed: {source}"
    changed: dict[str, Any] = {}
    source = source[source.index("def ") :].replace(mutant.old, mutant.new)
    exec(compile(f"from __future__ import annotations\n{source}", mutant.where, "exec"), vars(module), changed)  # noqa: S102
    made = changed[last]
    setattr(owner, last, property(made) if isinstance(before, property) else made)
    try:
        yield
    finally:
        setattr(owner, last, before)
