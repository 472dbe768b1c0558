"""`weft testbed serve` and `weft testbed list`: a synthetic web for any crawler, and what is in it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from weft.cli.bounds import within
from weft.cli.options import flags_of, given_of
from weft.errors import UsageError, WeftError
from weft.graph import Recipe, generate
from weft.graph.changing.files import load_world
from weft.graph.files import load
from weft.testbed import serve as serving
from weft.testbed import standards
from weft.testbed.options import PLAIN, Options
from weft.testbed.scenarios import SCENARIOS
from weft.testbed.scenarios.dealing import chosen
from weft.testbed.serve import ServerSettings, Status
from weft.testbed.truth import expected
from weft.testbed.web import Web
from weft.units import span

_PORTS = {"port": 8080, "tls_port": 8443, "dns_port": 8053, "proxy_port": 8118}
"""Ports of the command, which people must be able to remember; tests take free ones."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a web comes from; what it is like is said by the options of its graph and its pages."""

    standard: Annotated[
        str | None,
        Parameter(
            help="A web that never changes, by its name (`weft testbed list --standards`); of options that say what a "
            "web is like only --naming goes with it."
        ),
    ] = None
    seed: Annotated[
        int | None,
        Parameter(
            help="Number that decides about everything that is left to chance. [default: 1, or that of --graph]",
            validator=within(at_least=0),
        ),
    ] = None
    graph: Annotated[
        Path | None,
        Parameter(
            help="Directory of a graph that `weft graph generate` made: the web has just its sites, pages and links."
        ),
    ] = None
    world: Annotated[
        Path | None,
        Parameter(help="Directory of a world that `weft graph generate --changing` made: a web that changes."),
    ] = None
    plain: Annotated[
        bool,
        Parameter(help="A web without anything unusual: it equals its graph. Other options still count.", negative=()),
    ] = False


AnySource = Annotated[Source, Parameter(name="*")]
USUAL = Source()
WEB_SECTIONS: dict[str, tuple[type, tuple[str, ...]]] = {
    "The graph": (Recipe, ()),
    "The sites and pages": (Options, ()),
}
"""What says what a web is like."""
_NOT_LISTED = tuple(known.name for known in dataclasses.fields(ServerSettings) if known.name not in _PORTS | {"tls": 0})
ServeFlags = flags_of("ServeFlags", {**WEB_SECTIONS, "Serving": (ServerSettings, ())}, _PORTS)
ListFlags = flags_of(
    "ListFlags", {**WEB_SECTIONS, "Serving": (ServerSettings, (*_NOT_LISTED, "dns_port", "proxy_port"))}, _PORTS
)


def serve(
    *,
    source: AnySource = USUAL,
    seeds_out: Annotated[Path | None, Parameter(help="File to write the sites' home pages to, one URL a line.")] = None,
    json: Annotated[bool, Parameter(help="Say as JSON, in one line, where the web is.", negative=())] = False,
    flags: Any = ServeFlags(),  # noqa: B008  every field is None
) -> int:
    """Serve a synthetic web on loopback addresses until interrupted.

    The web follows from its numbers and the seed: the same command serves the same pages, on any machine. Names are
    known to its own DNS server only; --naming literals makes one that needs no DNS, and --proxy serves names to
    crawlers that can use a proxy (docs/testbed.md).

    For example:

        weft testbed serve --standard polite-100 --proxy --log requests.tsv --seeds-out seeds.txt

        weft testbed serve --sites 200 --pages 10000 --naming literals --seeds-out seeds.txt

        weft testbed serve --plain --log requests.tsv

        weft testbed serve --plain --graph graphs/country

        weft testbed serve --hazardous 0.2 --scenarios "calendar=2 mirrors"

        weft testbed serve --plain --world worlds/country --speed-up 3600 --log requests.tsv
    """
    web = web_of(flags, source)
    settings = _settings(flags, source)
    if settings.tls and settings.ca_out is None:
        settings = dataclasses.replace(settings, ca_out=Path("testbed-ca.pem"))

    def ready(status: Status) -> None:
        if seeds_out is not None:
            _write_seeds(status.web, seeds_out)
        print(_as_json(status, settings) if json else _as_text(status, settings, seeds_out), flush=True)

    serving.serve(web, settings, ready)
    return 0


def list_pages(
    *,
    source: AnySource = USUAL,
    all_pages: Annotated[bool, Parameter(name="--all", help="All pages, not only the seeds.", negative=())] = False,
    truth: Annotated[
        bool, Parameter(help="Every URL a crawl should meet, failing ones too, with status and kind.", negative=())
    ] = False,
    hazards: Annotated[
        bool, Parameter(help="The scenarios that --hazardous mixes in, with a line about each.", negative=())
    ] = False,
    all_standards: Annotated[
        bool,
        Parameter(
            name="--standards", help="The webs that never change, with a line about each, for --standard.", negative=()
        ),
    ] = False,
    json: Annotated[bool, Parameter(help="As JSON, one object a line.", negative=())] = False,
    flags: Any = ListFlags(),  # noqa: B008  every field is None
) -> int:
    """List the URLs of the web that `weft testbed serve` serves.

    Give the same options to both. With --standards it lists the webs that never change, with --hazards what sites can
    play to harm a crawler.

    For example:

        weft testbed list --sites 200 --pages 10000 --all

        weft testbed list --truth --json

        weft testbed list --standards

        weft testbed list --hazards
    """
    if hazards or all_standards:
        _list(_hazards() if hazards else _standards(), json=json)
        return 0
    web = web_of(flags, source)
    settings = _settings(flags, source)
    web = web.at(settings.port, settings.tls_port if settings.tls else None)
    columns: tuple[str, ...]
    rows: Iterable[tuple[str, ...]]
    if truth and web.world is not None:
        raise UsageError("what a crawl meets in a world depends on the time", todo="see `weft graph happenings`")
    if truth:
        columns, rows = ("url", "status", "kind"), ((row.url, str(row.status), row.kind) for row in expected(web))
    else:
        columns, rows = ("url",), ((url,) for url in (web.urls() if all_pages else web.seeds()))
    for row in rows:
        line = msgspec.json.encode(dict(zip(columns, row, strict=True))).decode() if json else "\t".join(row)
        sys.stdout.write(line + "\n")
    return 0


serve.__annotations__["flags"] = Annotated[ServeFlags, Parameter(name="*")]
list_pages.__annotations__["flags"] = Annotated[ListFlags, Parameter(name="*")]


def web_of(flags: Any, source: Source) -> Web:
    """The web that the options ask for."""
    recipe, given = given_of(flags, Recipe), given_of(flags, Options)
    if source.standard is not None:
        others = [name for name in ("seed", "graph", "world", "plain") if getattr(source, name) not in (None, False)]
        others = [*recipe, *(name for name in given if name != "naming"), *others]
        _refuse(others, "--standard", "a standard never changes, or it would be none")
        return standards.standard(source.standard).web(naming=given.get("naming"))
    options = dataclasses.replace(PLAIN if source.plain else Options(), **given)
    options.check()  # before the graph is made, which takes longer
    chosen(options)
    if source.world is not None:
        _refuse([*recipe, *(["graph"] if source.graph else [])], "--world", "a world is as it was generated")
        world = load_world(source.world)
        return Web(world, options, world.seed if source.seed is None else source.seed)
    if source.graph is None:
        seed = 1 if source.seed is None else source.seed
        return Web(generate(Recipe(**recipe), seed), options, seed)
    _refuse(recipe, "--graph", "the graph is as it was generated")
    stored = load(source.graph)
    if stored.about.get("source") != "generate":
        raise UsageError(
            "this graph was not generated",
            where=str(source.graph),
            todo="only what `weft graph generate` made can be served, and a time of a world by "
            "--world, --begin-s and --speed-up 0",
        )
    return Web(stored.graph, options, int(stored.about["seed"]) if source.seed is None else source.seed)


def _refuse(names: Iterable[str], option: str, why: str) -> None:
    """Refuse options that cannot be given with another one."""
    given = ", ".join(f"--{name.replace('_', '-')}" for name in names)
    if given:
        raise UsageError(f"{given} cannot be given with {option}", todo=why)


def _hazards() -> list[dict[str, Any]]:
    return [
        {
            "name": scenario.name,
            "family": scenario.family,
            "about": scenario.about,
            "source": scenario.source,
            "needs_names": scenario.needs_names,
        }
        for scenario in SCENARIOS
    ]


def _standards() -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "about": each.about,
            "sites": each.recipe.sites,
            "pages": each.recipe.pages,
            "seed": each.seed,
            "tls": each.tls,
        }
        for each in standards.STANDARDS
    ]


def _list(told: list[dict[str, Any]], *, json: bool) -> None:
    """One line for each."""
    widest = max(len(each["name"]) for each in told)
    for each in told:
        line = f"{each['name']:<{widest}}  {each['about']}"
        sys.stdout.write((msgspec.json.encode(each).decode() if json else line) + "\n")


def _settings(flags: Any, source: Source) -> ServerSettings:
    settings = ServerSettings(**(_PORTS | given_of(flags, ServerSettings)))
    secure = settings.tls or (source.standard is not None and standards.standard(source.standard).tls)
    return dataclasses.replace(settings, tls=secure)


def _write_seeds(web: Web, path: Path) -> None:
    try:
        path.write_text("".join(f"{url}\n" for url in web.seeds()), encoding="ascii")
    except OSError as error:
        raise WeftError(f"cannot write the seeds: {error.strerror}", where=str(path)) from error


def _as_text(status: Status, settings: ServerSettings, seeds: Path | None) -> str:
    web = status.web
    literals = web.options.naming == "literals"
    lines = [
        f"A web of {web.graph.sites:,} sites and {web.graph.pages:,} pages (seed {web.seed})",
        f"  on port {web.port} of {web.names.addresses:,} loopback addresses, for example {web.url(0)}",
    ]
    if web.tls_port is not None:
        lines.append(f"  https on port {web.tls_port}; its certificate authority is in {settings.ca_out}")
    if not literals:
        lines.append(f"  DNS server: 127.0.0.1:{status.dns_port}")
    if status.proxy_port is not None:
        lines.append(f"  HTTP proxy: http://127.0.0.1:{status.proxy_port}")
    if web.played:
        lines.append(
            f"  {len(web.played):,} of the sites play a scenario: `weft testbed list --hazards` says what each is"
        )
    if status.web_time is not None:
        passing = f"passes {settings.speed_up:g} times as fast" if settings.speed_up else "stands still"
        lines.append(f"  it changes: its time is {span(status.web_time)}, and {passing}")
    if settings.log is not None:
        lines.append(f"  requests are logged to {settings.log}")
    file = seeds or "seeds.txt"
    names = "" if literals else f" --dns 127.0.0.1:{status.dns_port} --allow-address 127.0.0.0/8"
    lines += ["", "Crawl it with", f"  weft crawl --seeds {file} --out crawl{names}"]
    if seeds is None:
        lines.append("where the seeds come from --seeds-out, or from `weft testbed list` with the same options.")
    return "\n".join([*lines, "Ctrl-C ends it."])


def _as_json(status: Status, settings: ServerSettings) -> str:
    web = status.web
    told = {
        "sites": web.graph.sites,
        "pages": web.graph.pages,
        "links": len(web.graph.links),
        "seed": web.seed,
        "hazardous": {site: played.scenario.name for site, played in sorted(web.played.items())},
        "port": web.port,
        "tls_port": web.tls_port,
        "dns": f"127.0.0.1:{status.dns_port}",
        "proxy": None if status.proxy_port is None else f"http://127.0.0.1:{status.proxy_port}",
        "ca": None if settings.ca_out is None else str(settings.ca_out),
        "log": None if settings.log is None else str(settings.log),
        "web_time": status.web_time,
        "speed_up": None if web.world is None else settings.speed_up,
        "epoch": None if web.world is None else web.world.epoch,
        "first_url": web.url(0),
    }
    return msgspec.json.encode(told).decode()
