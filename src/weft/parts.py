"""What the names in a plan stand for: its ordering, its oracle, its gate. In: a plan. Out: objects.

Who starts a crawl checks them, and each worker uses them. What is large is loaded only where it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.directory import SECRET, Plan
from weft.engine.gate import Gate
from weft.engine.stages import Stages
from weft.errors import UsageError
from weft.ordering import Ordering, ordering_named
from weft.ordering.priority import Priority
from weft.parse.stage import Stage, stage_named
from weft.stages import STAGES, settings_of
from weft.urls import host_of, site_of

if TYPE_CHECKING:
    from weft.frontier.oracle import Oracle


def ordering_of(plan: Plan) -> Ordering:
    """The ordering of a crawl."""
    return Priority() if plan.chosen else ordering_named(plan.settings.running.ordering)


def oracle_of(plan: Plan, secret: bytes) -> Oracle:
    """What a crawl's ordering is told from outside, for frontiers with this secret."""
    from weft.frontier.keyed import Keyed
    from weft.frontier.oracle import Oracle

    running = plan.settings.running
    return Oracle.read(ordering_of(plan).needs, running.scores, running.oracle, Keyed(secret))


def gate_of(plan: Plan) -> Gate:
    """Where a crawl may go."""
    return Gate(plan.settings.identity, [host_of(site_of(url)) for url in plan.seeds])


def stages_of(plan: Plan) -> Stages:
    """The stages that look at the pages of a crawl, beside what weft does itself."""
    section = plan.settings.stages
    found: list[tuple[str, Stage, Any]] = []
    for stage in STAGES:
        own = settings_of(stage, section)
        if not stage.own and stage.wanted(own):
            found.append((f"weft.stages:BY_NAME.{stage.name}", stage, own))
    for name in section.stage:
        try:
            stage = stage_named(name)
        except TypeError as error:
            raise UsageError(str(error), where="stage", todo="give the name of a weft.Stage, as module:NAME") from error
        found.append((name, stage, settings_of(stage, section)))
    _check_names([stage for _, stage, _ in found])
    return Stages(found)


def _check_names(stages: list[Stage]) -> None:
    """No two stages may fill one column, or one table."""
    from weft.store.rows import PAGES  # Arrow: most crawls name no stage, and their watchdog needs none

    taken = set(PAGES.names)
    for stage in stages:
        if not stage.name.isidentifier() or [each.name for each in (*STAGES, *stages)].count(stage.name) > 1 + (
            stage in STAGES
        ):
            raise UsageError(f"two stages are called {stage.name!r}, or it is not a name", where="stage")
        for column in stage.columns:
            if column.name in taken or not column.name.isidentifier():
                raise UsageError(f"the stage {stage.name} cannot have a column {column.name!r}", where="stage")
            taken.add(column.name)


def check_parts(plan: Plan) -> Ordering:
    """Can all of them be had? An error says what is wrong with them; the ordering."""
    ordering = ordering_of(plan)
    if plan.settings.stages.stage:
        stages_of(plan)
    running = plan.settings.running
    if running.application:
        if plan.application is not None:
            raise UsageError("an application is given, and another is named", todo="give one of them")
        if not running.application_apart:  # else that is done where it is to run, and nowhere else
            from weft.engine.making import made

            made(running.application, running.application_options)
    gate_of(plan)
    if ordering.rerank is not None and (running.memory is not None or running.most_known is not None):
        raise UsageError(
            f"the ordering {ordering.name} computes scores from all links, and these are all in memory",
            where="memory",
            todo="choose another ordering, or leave --memory and --most-known out",
        )
    if ordering.needs:
        # The crawl has no secret yet, and nothing is looked up.
        oracle_of(plan, bytes(SECRET)).check(ordering.name, ordering.needs)
    return ordering
