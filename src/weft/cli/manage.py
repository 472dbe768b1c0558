"""The small verbs that manage a crawl: pause, resume, speed, blacklist, add, stop.

All work on a running crawl, within seconds, and on one that is not running; then they hold for its next run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from weft.cli.bounds import within
from weft.cli.lines import given_seeds, lines_of
from weft.errors import UsageError, WeftError
from weft.frontier.blacklist import usable_rule
from weft.manage import managing

_MOST_SHOWN = 20

Crawl = Annotated[str, Parameter(help="Directory of the crawl, or the address of its database.")]
Json = Annotated[bool, Parameter(help="As JSON.", negative=())]


def pause(crawl: Crawl, /) -> None:
    """Have a crawl fetch nothing more until `weft resume`. Pages under way come to their end."""
    with managing(crawl) as managed:
        managed.pause()
        print(f"Paused. {managed.in_force()}")


def resume(crawl: Crawl, /) -> None:
    """Let a crawl go on that was paused."""
    with managing(crawl) as managed:
        managed.resume()
        print(f"Resumed. {managed.in_force()}")


def speed(
    crawl: Crawl,
    target: Annotated[
        str | None, Parameter(help="Pages and bytes a second, all day or in some hours; or none.")
    ] = None,
    /,
    *,
    json: Json = False,
) -> None:
    """Set how fast a crawl goes at most, over all its workers. Without a target, show the one in force.

    Of several targets, separated by semicolons, the last that is in force counts. Hours are those of this machine.

    For example:

        weft speed example "200 pages/s"

        weft speed example "5000000 bytes/s; 08:00-18:00 50 pages/s"

        weft speed example none
    """
    with managing(crawl) as managed:
        if target is not None:
            managed.set_speed(target)
        pages, amount = managed.target()
        if json:
            found = {"speed": managed.speed, "pages_target": pages, "bytes_target": amount, "running": managed.running}
            print(msgspec.json.encode(found).decode())
        elif target is not None:
            print(f"The target is {managed.speed}. {managed.in_force()}")
        else:
            print(managed.speed)


def blacklist(
    crawl: Crawl,
    /,
    *rule: Annotated[str, Parameter(help="A URL, URL prefix ending in *, site, *.domain, or address range.")],
    remove: Annotated[
        list[str] | None, Parameter(help="Rules to take off the list.", consume_multiple=True, negative=())
    ] = None,
    file: Annotated[
        Path | None, Parameter(name="--from", help="File with rules to add, one a line; - is standard input.")
    ] = None,
    json: Json = False,
) -> None:
    """Leave URLs, sites, domains or addresses alone from now on. Without a rule, show the list.

    All rules of a command are taken, or none. Pages that were refused by a rule stay refused when it is removed;
    what is found afterwards is crawled.

    For example (the quotes keep the shell from reading the asterisk):

        weft blacklist example shop.example.org "*.example.com" 192.0.2.0/24 "https://example.net/calendar/*"

        weft blacklist example --remove shop.example.org
    """
    given = [*rule, *(_rules(file) if file is not None else ())]
    with managing(crawl) as managed:
        added, removed = managed.change_blacklist(add=given, remove=remove or ())
        rules = managed.blacklist()
        changing = bool(given or remove)
        if json:
            found = {"rules": rules, "added": added, "removed": removed, "running": managed.running}
            print(msgspec.json.encode(found).decode())
        elif changing:
            print(f"{_count(added)} added, {_count(removed)} removed, {len(rules):,} in all. {managed.in_force()}")
        else:
            for known in rules:
                print(known)


def add(
    crawl: Crawl,
    /,
    *seed: Annotated[str, Parameter(help="URL to begin with.")],
    seeds: Annotated[Path | None, Parameter(help="File with seeds, one URL a line; - is standard input.")] = None,
    strict: Annotated[bool, Parameter(help="Refuse a seed list with an unusable line.", negative=())] = False,
) -> None:
    """Add seeds to a crawl. One that was done goes on with them when it is run again.

    What a seed stands for is let into the scope, as for the seeds that the crawl was begun with.

    For example:

        weft add example https://www.example.org/
    """
    with managing(crawl) as managed:
        usable = given_seeds(seed, seeds, strict=strict)
        managed.add(usable)
        print(f"{len(usable):,} {'seed' if len(usable) == 1 else 'seeds'} added. {managed.in_force()}")


def stop(
    crawl: Crawl,
    /,
    *,
    wait: Annotated[
        float | None, Parameter(help="Wait so many seconds for it to end.", validator=within(at_least=0))
    ] = None,
) -> None:
    """End a crawl's run: pages under way are finished, everything is written. `weft crawl` goes on with it later."""
    with managing(crawl) as managed:
        if not managed.running:
            print("The crawl is not running.")
            return
        managed.stop()
        if wait is None:
            print("Told to stop.")
        elif managed.wait(wait):
            print("Stopped.")
        else:
            raise WeftError(
                f"the crawl was told to stop, and still runs after {wait:g} s",
                where=str(crawl),
                todo="wait longer: pages under way have --grace seconds to finish; or look with weft status",
            )


def _rules(file: Path) -> Iterator[str]:
    """The rules of a file; one that cannot be used is refused with its line."""
    for number, line in enumerate(lines_of(file, "the rules", "one rule a line"), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                yield usable_rule(text)
            except UsageError as error:
                raise UsageError(error.what, where=f"{file}, line {number}", todo=error.todo) from error


def _count(rules: Iterable[str]) -> str:
    number = len(list(rules))
    return f"{number:,} {'rule' if number == 1 else 'rules'}"
