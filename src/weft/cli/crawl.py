"""`weft crawl`: begin a crawl, or go on with the one in its directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from weft.app import Summary, run, with_credentials
from weft.cli.beside import Beside
from weft.cli.display import Display, print_summary
from weft.cli.lines import given_seeds
from weft.cli.options import CrawlOptions, given
from weft.config import APPLICATION, Settings, profile
from weft.directory import Plan, stored_plan
from weft.engine.progress import Statistics
from weft.errors import UsageError
from weft.fetch.headers import named_header
from weft.frontier.shared.address import without_password
from weft.settings import flag_of


def crawl(  # noqa: PLR0913  flags that are no settings
    *seed: Annotated[str, Parameter(help="URL to begin with; a host name alone is its home page.")],
    out: Annotated[Path, Parameter(help="Directory of the crawl. The same again: the crawl goes on.")],
    seeds: Annotated[Path | None, Parameter(help="File with seeds, one URL a line; - is standard input.")] = None,
    config: Annotated[Path | None, Parameter(help="Settings file (TOML).")] = None,
    profile_name: Annotated[
        str | None, Parameter(name="--profile", help="Ready-made settings: wire, country or vn.")
    ] = None,
    header: Annotated[
        tuple[str, ...],
        Parameter(
            help="Header of every request, as 'Name: value'; a value env:NAME is taken from the environment.",
            negative=(),
        ),
    ] = (),
    strict: Annotated[bool, Parameter(help="Refuse a seed list with an unusable line.", negative=())] = False,
    json: Annotated[bool, Parameter(help="Print the summary as JSON, and nothing else.", negative=())] = False,
    console: Annotated[
        bool, Parameter(help="Show the crawl in a browser, too, as weft console does, as long as it runs.", negative=())
    ] = False,
    options: Any = CrawlOptions(),  # noqa: B008  every field is None
) -> int:
    """Crawl a web politely, in the order that matters.

    The seeds say where to begin and, with --scope, how far to go. What is collected lies in the directory
    afterwards: pages as WARC in volumes/, everything known of them as Parquet in pages/, links/ and urls/, and a
    line per fetch in log/.

    Bytes may be written as 500 kB, 2 GB or 1 GiB, and seconds as 10 min, 2 h or 1 d.

    For example:

        weft crawl https://example.org/ --out example --contact https://me.example/crawler

        weft crawl --seeds sites.txt --out country --profile country --contact me@example.org
    """
    flags = given(options)
    without_password(flags.get("frontier", ""), where="--frontier")
    if header:
        flags["headers"] = headers_of(header)
    plan = plan_of(list(seed), seeds, out, config, profile_name, flags, strict=strict)
    display = Display(quiet=json)
    with display, Beside(plan.out, display.say, wanted=console) as beside:

        def watch(now: Statistics) -> None:
            beside.look()
            display.show(now)

        summary = run(plan, watch=watch, show=display.say)
    if json:
        print(msgspec.json.encode(_as_json(summary)).decode())
    else:
        print_summary(summary)
    return int(summary.failed)


crawl.__annotations__["options"] = Annotated[CrawlOptions, Parameter(name="*")]


def plan_of(
    seed: list[str],
    file: Path | None,
    out: Path,
    config: Path | None,
    profile_name: str | None,
    flags: dict[str, Any],
    *,
    strict: bool,
) -> Plan:
    """What a command says is to be crawled."""
    settings = settings_of(Settings(), config, profile_name, flags)
    if settings.running.application:
        usual = Settings().with_values(APPLICATION, where="")
        settings = settings_of(usual, config, profile_name, flags)
    if not seed and file is None:
        stored = stored_plan(out)
        return Plan(
            seeds=stored.seeds,
            out=out,
            settings=stored.settings.with_values(flags, where="", spell=flag_of),
            watched=True,
        )
    found: dict[str, str] = {}
    usable = given_seeds(seed, file, strict=strict, credentials=found)
    settings = with_credentials(settings, found)
    return Plan(seeds=usable, out=out, settings=settings, watched=True)


def settings_of(base: Settings, config: Path | None, profile_name: str | None, flags: dict[str, Any]) -> Settings:
    """What is given, on top of what is usual."""
    settings = base if profile_name is None else profile(profile_name, base)
    if config is not None:
        settings = settings.with_file(config)
    return settings.with_values(flags, where="", spell=flag_of)


def headers_of(lines: tuple[str, ...]) -> dict[str, str]:
    """Headers as they are given on a command line."""
    try:
        return dict(map(named_header, lines))
    except ValueError as error:
        raise UsageError(str(error), where="--header", todo="write such as --header 'Accept-Language: de'") from error


def _as_json(summary: Summary) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(summary, enc_hook=str)
    return plain
