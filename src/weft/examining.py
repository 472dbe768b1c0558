"""Can a crawl be run as it is planned? In: a plan. Out: its ordering and what a rule refuses of its seeds; or an error
that says what is wrong, before anything is written.
"""

from __future__ import annotations

from pathlib import Path

from weft.clock import Clock
from weft.directory import Plan
from weft.errors import UsageError
from weft.frontier.pace import Speed
from weft.frontier.scope import Scope
from weft.model import Kind
from weft.ordering import Ordering
from weft.parts import check_parts
from weft.urls import host_of, is_loopback, is_loopback_name, literal_address, site_of


def examined(plan: Plan, clock: Clock) -> tuple[Ordering, dict[str, str]]:
    """The ordering of a plan, and the seeds that a rule refuses, with the reason."""
    plan.settings.check()
    ordering = check_parts(plan)
    Speed.parse(plan.settings.running.speed)
    _check_known(plan)
    refused = _refused_seeds(plan)
    plan.settings.revealed()
    _check_network(plan, clock)
    return ordering, refused


def _check_known(plan: Plan) -> None:
    """Can the earlier crawls be read whose contents are to be known?"""
    for name in plan.settings.storing.known:
        path = Path(name)
        if not path.is_file() and not (path / "crawl.toml").exists():
            raise UsageError(
                "there is neither a crawl nor an index of one",
                where=f"known: {name}",
                todo="give the directory of a crawl, or a file in the form CDXJ (a.cdxj, a.cdxj.gz)",
            )


def _refused_seeds(plan: Plan) -> dict[str, str]:
    """The seeds that a rule refuses, with the reason; that all of them are is an error."""
    scope = Scope(plan.settings.selection, plan.settings.overrides)
    meant = {seed: scope.original(seed) for seed in plan.seeds}
    answers = {seed: scope.refusal(url, site_of(url), Kind.SEED, 0) for seed, url in meant.items()}
    refused = {seed: reason.value for seed, reason in answers.items() if reason is not None}
    if len(refused) == len(plan.seeds):
        first, reason = next(iter(refused.items()))
        raise UsageError(
            f"every seed is refused by a rule, the first ({first}): {reason}", todo="change the rules or the seeds"
        )
    return refused


def _check_network(plan: Plan, clock: Clock) -> None:
    """Can the name servers be used? And without a contact nothing but this machine may be crawled: say so first."""
    identity = plan.settings.identity
    hosts: set[str] = set()
    if not (identity.contact or identity.agent):
        for host in {host_of(site_of(url)) for url in plan.seeds}:
            literal = literal_address(host)
            if literal is None and not is_loopback_name(host):
                hosts.add(host)
            elif literal is not None and not is_loopback(literal):
                raise _no_contact(host, known=True)
    if hosts or plan.settings.naming.dns:
        import asyncio

        asyncio.run(_check_names(plan, clock, hosts))


async def _check_names(plan: Plan, clock: Clock, hosts: set[str]) -> None:
    """Do all of these names lead to this machine?"""
    import asyncio

    from weft.fetch.dns import Answer, Resolver

    resolver = Resolver(asyncio.get_running_loop(), clock, plan.settings.naming)
    try:
        for host in hosts:
            future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            resolver.resolve(host, future.set_result)
            answer = await future
            if not answer.addresses or not all(map(is_loopback, answer.addresses)):
                raise _no_contact(host, known=bool(answer.addresses))
    finally:
        await resolver.stop()


def _no_contact(host: str, *, known: bool) -> UsageError:
    return UsageError(
        f"no contact is given, and {host} {'is not on this machine' if known else 'cannot be resolved'}",
        todo="give --contact with a URL or mail address where webmasters can reach you",
    )
