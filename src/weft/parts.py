"""What the names in a plan stand for: its ordering, its oracle, its gate. In: a plan. Out: objects.

Who starts a crawl checks them, and each worker uses them. What is large is loaded only where it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.directory import SECRET, Plan
from weft.engine.gate import Gate
from weft.ordering import Ordering, ordering_named
from weft.ordering.priority import Priority
from weft.urls import host_of, site_of

if TYPE_CHECKING:
    from weft.frontier.oracle import Oracle


def ordering_of(plan: Plan) -> Ordering:
    """The ordering of a crawl."""
    return Priority() if plan.application is not None else ordering_named(plan.settings.running.ordering)


def oracle_of(plan: Plan, secret: bytes) -> Oracle:
    """What a crawl's ordering is told from outside, for frontiers with this secret."""
    from weft.frontier.keyed import Keyed
    from weft.frontier.oracle import Oracle

    running = plan.settings.running
    return Oracle.read(getattr(ordering_of(plan), "needs", ()), running.scores, running.oracle, Keyed(secret))


def gate_of(plan: Plan) -> Gate:
    """Where a crawl may go."""
    return Gate(plan.settings.identity, [host_of(site_of(url)) for url in plan.seeds])


def check_parts(plan: Plan) -> Ordering:
    """Can all of them be had? An error says what is wrong with them; the ordering."""
    ordering = ordering_of(plan)
    gate_of(plan)
    needs = getattr(ordering, "needs", ())
    if needs:
        oracle_of(plan, bytes(SECRET)).check(ordering.name, needs)  # the crawl has none yet, and nothing is looked up
    return ordering
