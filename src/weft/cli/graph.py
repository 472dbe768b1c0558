"""`weft graph import`, `build`, `generate`, `rank` and `describe`: webs as graphs, in directories of their own."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from cyclopts import Parameter

from weft.cli.bounds import within
from weft.cli.options import flags_of, given_of
from weft.errors import UsageError
from weft.graph import Recipe
from weft.graph.ageing import old_scores
from weft.graph.changing import Changes, world_of
from weft.graph.changing.files import save_world
from weft.graph.describe import describe as draw
from weft.graph.files import Stored, check_replaceable, load, save, save_scores
from weft.graph.generate import generate_hosted
from weft.graph.importing import PER_SITE, import_edges, import_graph
from weft.graph.rank import EPSILON, TOLERANCE, pagerank
from weft.graph.scores import write_scores

Out = Annotated[Path, Parameter(help="Directory to write the graph to; a graph that is there is replaced.")]
Json = Annotated[bool, Parameter(help="Say as JSON what was made.", negative=())]
GenerateFlags = flags_of("GenerateFlags", {"The graph": (Recipe, ()), "How it changes": (Changes, ())})


def import_files(
    pages: Annotated[Path, Parameter(help="File of one URL a line, or `id<TAB>url`; leave it out for links alone.")],
    links: Annotated[
        Path | None, Parameter(help="File of two ids or two URLs a line; an id is a line number from 0, or as given.")
    ] = None,
    *,
    seeds: Annotated[Path | None, Parameter(help="File of ids or URLs that a crawl begins with.")] = None,
    pages_per_site: Annotated[
        int | None,
        Parameter(help=f"For links alone: so many pages, by their ids, are a site ({PER_SITE} if not given)."),
    ] = None,
    strict: Annotated[
        bool, Parameter(help="Refuse a page whose URL cannot be used, instead of leaving it out.", negative=())
    ] = False,
    out: Out,
    json: Json = False,
) -> int:
    """Import a graph from text files, which may be packed by gzip or zstd.

    Without --seeds a crawl begins with each site's page of the shortest path. Pages that no seed reaches are left out,
    and so are links of a page to itself or to the same page again. Lines of links that begin with # are comments.

    One file alone is an edge list, two ids a line, as in the SNAP collection. Nothing is known of the sites of its
    pages then: they are made up.

    For example:

        weft graph import pages.tsv.gz links.tsv.gz --seeds seeds.txt --out graphs/mine

        weft graph import web-Google.txt.gz --out graphs/google
    """
    check_replaceable(out)
    if links is None:
        return keep(
            import_edges(pages, seeds, per_site=PER_SITE if pages_per_site is None else pages_per_site), out, json=json
        )
    if pages_per_site is not None:
        raise UsageError("the sites are those of the pages file", todo="leave --pages-per-site out, or the pages file")
    return keep(import_graph(pages, links, seeds, strict=strict), out, json=json)


def build(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    out: Out,
    json: Json = False,
) -> int:
    """Build a graph from what a crawl has fetched.

    It has the crawl's pages, and the links between them.
    A link to an address that redirects counts as one to where that leads.

    For example:

        weft graph build crawls/first --out graphs/first
    """
    from weft import harvest

    check_replaceable(out)
    return keep(harvest.build(crawl), out, json=json)


def generate(
    *,
    out: Out,
    seed: Annotated[
        int,
        Parameter(help="Number that decides about everything that is left to chance.", validator=within(at_least=0)),
    ] = 1,
    snapshots: Annotated[
        bool, Parameter(help="Also say which pages were there earlier, and what their PageRank was then.")
    ] = True,
    changing: Annotated[
        bool,
        Parameter(help="Make a world: what is generated is its start, and pages come, change and go.", negative=()),
    ] = False,
    json: Json = False,
    flags: Any = GenerateFlags(),  # noqa: B008  every field is None
) -> int:
    """Generate a country-like graph, with its PageRank.

    `weft testbed serve --graph` serves it. The same command makes the same graph, on any machine. With --changing it is
    a world: `weft testbed serve --world` serves it, and `weft graph snapshot` makes the graph of one time of it.

    For example:

        weft graph generate --sites 50000 --pages 3500000 --out graphs/country

        weft graph generate --changing --days 60 --out worlds/country
    """
    check_replaceable(out)
    recipe, changes = Recipe(**given_of(flags, Recipe)), given_of(flags, Changes)
    if changing:
        return _keep_world(recipe, Changes(**changes), seed, out, json=json)
    if changes:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in changes)
        raise UsageError(f"{names} is for webs that change", todo="give --changing, or leave it out")
    graph, hosting = generate_hosted(recipe, seed)
    scores = pagerank(graph.offsets, graph.links)
    stored = Stored(
        graph=graph,
        scores=scores,
        hosting=hosting,
        old_scores=old_scores(graph, scores, seed) if snapshots else None,
        about={
            "source": "generate",
            "recipe": dataclasses.asdict(recipe),
            "seed": seed,
            "rank": {"epsilon": EPSILON, "tolerance": TOLERANCE, "every_step": False},
            "warnings": [],
        },
    )
    return keep(stored, out, json=json)


generate.__annotations__["flags"] = Annotated[GenerateFlags, Parameter(name="*")]


def rank(
    graph: Annotated[Path, Parameter(help="Directory of the graph.")],
    /,
    *,
    out: Annotated[Path | None, Parameter(help="Parquet file to write ids, URLs and scores to.")] = None,
    epsilon: Annotated[
        float,
        Parameter(help="Share of each page's PageRank that comes from nowhere.", validator=within(above=0, at_most=1)),
    ] = EPSILON,
    tolerance: Annotated[
        float, Parameter(help="Change, all pages together, below which it is done.", validator=within(above=0))
    ] = TOLERANCE,
    every_step: Annotated[
        bool, Parameter(help="Bring the sum to 1 after every step, not in the end: links count for more.", negative=())
    ] = False,
    port: Annotated[
        int,
        Parameter(
            help="Port of the testbed, in the URLs of a generated graph.", validator=within(at_least=1, at_most=65_535)
        ),
    ] = 80,
    json: Annotated[bool, Parameter(help="Say as JSON what came out.", negative=())] = False,
) -> int:
    """Compute PageRank by the papers' formula, and keep it with the graph.

    For example:

        weft graph rank graphs/mine --out scores.parquet
    """
    stored = load(graph)
    scores = pagerank(
        stored.graph.offsets, stored.graph.links, epsilon=epsilon, tolerance=tolerance, every_step=every_step
    )
    save_scores(graph, scores, {"epsilon": epsilon, "tolerance": tolerance, "every_step": every_step})
    if out is not None:
        write_scores(out, stored, scores, _generated_urls(stored, port))
    best = int(scores.argmax())
    told = {
        "pages": len(scores),
        "highest": float(scores[best]),
        "highest_id": int(stored.id_of(np.array([best]))[0]),
        "out": None if out is None else str(out),
    }
    if json:
        print(msgspec.json.encode(told).decode())
    else:
        print(f"{len(scores):,} pages ranked; the highest is {told['highest_id']} with {scores[best]:.3g}")
    return 0


def describe(
    graph: Annotated[Path, Parameter(help="Directory of the graph.")],
    /,
    *,
    json: Annotated[bool, Parameter(help="As JSON.", negative=())] = False,
) -> int:
    """Describe a graph: sizes of sites, degrees, depths, and PageRank.

    Depth is the number of links from the nearest seed; PageRank by depth is a multiple of the average page's.

    For example:

        weft graph describe graphs/mine
    """
    stored = load(graph)
    figures = draw(stored.graph, stored.scores)
    if json:
        print(msgspec.json.encode({"figures": _named(figures), "about": stored.about}).decode())
    else:
        print(figures)
    return 0


def _keep_world(recipe: Recipe, changes: Changes, seed: int, out: Path, *, json: bool) -> int:
    """Make a world, write it, and say what it is like."""
    changes.check()
    start, hosting = generate_hosted(recipe, seed)
    world = world_of(start, changes, seed)
    about = {"source": "world", "recipe": dataclasses.asdict(recipe), "seed": seed, "warnings": []}
    save_world(world, out, about, hosting=hosting)
    told = {
        "sites": world.graph.sites,
        "pages": start.pages,
        "days": changes.days,
        "born": int((world.birth > 0).sum()),
        "temporal": int(((world.birth > 0) & world.temporal).sum()),
        "died": int((world.death <= world.end).sum()),
        "edits": int((world.edit_times > 0).sum()),
        "hubs": len(world.hubs),
    }
    if json:
        print(msgspec.json.encode({**told, "about": about}).decode())
    else:
        print(
            f"{told['sites']:,} sites with {told['pages']:,} pages at the start; in {changes.days:g} days "
            f"{told['born']:,} are born ({told['temporal']:,} temporal), {told['died']:,} die, and there are "
            f"{told['edits']:,} real edits\nin {out}"
        )
    return 0


def keep(stored: Stored, out: Path, *, json: bool) -> int:
    """Write a graph, and say what it is like."""
    save(stored, out)
    for warning in stored.about["warnings"]:
        print(f"weft: {warning}", file=sys.stderr)
    summary = stored.graph.describe()
    if json:
        told = {**dataclasses.asdict(summary), "seeds": len(stored.graph.seeds), "about": stored.about}
        print(msgspec.json.encode(told).decode())
    else:
        print(f"{summary}\nin {out}")
    return 0


def _generated_urls(stored: Stored, port: int) -> Iterable[str] | None:
    """The URLs that the testbed gives a generated graph's pages."""
    if stored.about.get("source") != "generate":
        return None
    from weft.testbed.options import PLAIN
    from weft.testbed.web import Web

    return Web(stored.graph, PLAIN, int(stored.about["seed"]), port=port).urls()


def _named(value: Any) -> Any:
    """Rows as objects: JSON knows no named tuples."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {known.name: _named(getattr(value, known.name)) for known in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        return value._asdict()
    return [_named(each) for each in value] if isinstance(value, tuple) else value
