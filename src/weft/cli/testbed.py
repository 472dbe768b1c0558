"""`weft testbed serve` and `weft testbed list`: a synthetic web for any crawler, and what is in it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from weft.cli.bounds import within
from weft.cli.options import flags_of, given_of
from weft.errors import UsageError, WeftError
from weft.graph import Recipe, generate
from weft.graph.files import load
from weft.testbed import serve as serving
from weft.testbed.options import PLAIN, Options
from weft.testbed.scenarios import SCENARIOS
from weft.testbed.scenarios.dealing import chosen
from weft.testbed.serve import ServerSettings, Status
from weft.testbed.truth import expected
from weft.testbed.web import Web

_PORTS = {"port": 8080, "tls_port": 8443, "dns_port": 8053}
"""Ports of the command, which people must be able to remember; tests take free ones."""


_SEED = "Number that decides about everything that is left to chance. [default: 1, or that of --graph]"
_STORED = "Directory of a graph that `weft graph generate` made: the web has just its sites, pages and links."
_GRAPH = {"The graph": (Recipe, ())}
_WEB = {"The sites and pages": (Options, ())}
_NOT_LISTED = tuple(known.name for known in dataclasses.fields(ServerSettings) if known.name not in _PORTS | {"tls": 0})
ServeFlags = flags_of("ServeFlags", {**_GRAPH, **_WEB, "Serving": (ServerSettings, ())}, _PORTS)
ListFlags = flags_of("ListFlags", {**_GRAPH, **_WEB, "Serving": (ServerSettings, (*_NOT_LISTED, "dns_port"))}, _PORTS)


def serve(
    *,
    seed: Annotated[int | None, Parameter(help=_SEED, validator=within(at_least=0))] = None,
    graph: Annotated[Path | None, Parameter(help=_STORED)] = None,
    plain: Annotated[
        bool,
        Parameter(help="A web without anything unusual: it equals its graph. Other options still count.", negative=()),
    ] = False,
    seeds_out: Annotated[Path | None, Parameter(help="File to write the sites' home pages to, one URL a line.")] = None,
    json: Annotated[bool, Parameter(help="Say as JSON, in one line, where the web is.", negative=())] = False,
    flags: Any = ServeFlags(),  # noqa: B008  every field is None
) -> int:
    """Serve a synthetic web on loopback addresses until interrupted.

    The web follows from its numbers and the seed: the same command serves the same pages, on any machine. Names are
    known to its own DNS server only; --naming literals makes one that needs no DNS.

    For example:

        weft testbed serve --sites 200 --pages 10000 --naming literals --seeds-out seeds.txt

        weft testbed serve --plain --log requests.tsv

        weft testbed serve --plain --graph graphs/country

        weft testbed serve --hazardous 0.2 --scenarios "calendar=2 mirrors"
    """
    web = _web(flags, seed, graph, plain=plain)
    settings = _settings(flags)
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
    seed: Annotated[int | None, Parameter(help=_SEED, validator=within(at_least=0))] = None,
    graph: Annotated[Path | None, Parameter(help=_STORED)] = None,
    plain: Annotated[bool, Parameter(help="The web without anything unusual.", negative=())] = False,
    all_pages: Annotated[bool, Parameter(name="--all", help="All pages, not only the seeds.", negative=())] = False,
    truth: Annotated[
        bool, Parameter(help="Every URL a crawl should meet, failing ones too, with status and kind.", negative=())
    ] = False,
    hazards: Annotated[
        bool, Parameter(help="The scenarios that --hazardous mixes in, with a line about each.", negative=())
    ] = False,
    json: Annotated[bool, Parameter(help="As JSON, one object a line.", negative=())] = False,
    flags: Any = ListFlags(),  # noqa: B008  every field is None
) -> int:
    """List the URLs of the web that `weft testbed serve` serves.

    Give the same options to both. With --hazards it lists what sites can play to harm a crawler.

    For example:

        weft testbed list --sites 200 --pages 10000 --all

        weft testbed list --truth --json

        weft testbed list --hazards
    """
    if hazards:
        _list_hazards(json=json)
        return 0
    web = _web(flags, seed, graph, plain=plain)
    settings = _settings(flags)
    web = web.at(settings.port, settings.tls_port if settings.tls else None)
    columns: tuple[str, ...]
    rows: Iterable[tuple[str, ...]]
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


def _web(flags: Any, seed: int | None, graph: Path | None, *, plain: bool) -> Web:
    options = dataclasses.replace(PLAIN if plain else Options(), **given_of(flags, Options))
    options.check()  # before the graph is made, which takes longer
    chosen(options)
    recipe = given_of(flags, Recipe)
    if graph is None:
        seed = 1 if seed is None else seed
        return Web(generate(Recipe(**recipe), seed), options, seed)
    if recipe:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in recipe)
        raise UsageError(f"{names} cannot be given with --graph", todo="the graph is as it was generated")
    stored = load(graph)
    if stored.about.get("source") != "generate":
        raise UsageError(
            "this graph was not generated", where=str(graph), todo="only what `weft graph generate` made can be served"
        )
    return Web(stored.graph, options, int(stored.about["seed"]) if seed is None else seed)


def _list_hazards(*, json: bool) -> None:
    """One line for each scenario."""
    widest = max(len(scenario.name) for scenario in SCENARIOS)
    for scenario in SCENARIOS:
        told = {
            "name": scenario.name,
            "family": scenario.family,
            "about": scenario.about,
            "source": scenario.source,
            "needs_names": scenario.needs_names,
        }
        line = f"{scenario.name:<{widest}}  {scenario.about}"
        sys.stdout.write((msgspec.json.encode(told).decode() if json else line) + "\n")


def _settings(flags: Any) -> ServerSettings:
    return ServerSettings(**(_PORTS | given_of(flags, ServerSettings)))


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
    if web.played:
        lines.append(
            f"  {len(web.played):,} of the sites play a scenario: `weft testbed list --hazards` says what each is"
        )
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
        "ca": None if settings.ca_out is None else str(settings.ca_out),
        "log": None if settings.log is None else str(settings.log),
        "first_url": web.url(0),
    }
    return msgspec.json.encode(told).decode()
