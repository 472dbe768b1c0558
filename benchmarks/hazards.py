"""What hazards cost: the standard mixed web, a fifth of whose sites are hazardous, against the same web without.

    python -m benchmarks.hazards [SEED …]
    python -m benchmarks.hazards --floods successors.txt.gz

Each web is crawled to its end three times, in turn: without hazards, with them, and with them but without the rules
against them. Counted are processor time of the crawl for each good page that it had (user and system, all processes);
the good pages of harmless and of hazardous sites that it had, of those that can be had without hazards; the requests
that went into each hazard, all by the servers' log (`weft.testbed.purpose`); and how many of the pages with status 200
had the content of an earlier one, by the columns.

Defences were tuned on the standard seed alone; the other seeds were chosen before, and are used for nothing but this.
Sites have no waits here, and at most 2,000 pages, twice as many as the largest site that means no harm: what has no end
then costs so much where no rule ends it before.

With `--floods`: what would be lost on a real graph, a line of successors for each page, if one page could lead to so
many new ones only; a rule that was not chosen (decision 0068).
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.machine import description
from weft.testbed.bed import Bed, serving
from weft.testbed.purpose import Sort, purpose_of_entry
from weft.testbed.serve import ServerSettings
from weft.testbed.standards import STANDARD_MIXED

TUNED = STANDARD_MIXED.seed
UNSEEN = (31, 1871, 90210)
"""Seeds on which nothing was tuned."""
GOAL_CPU, GOAL_HAZARDOUS, GOAL_DUPLICATES = 1.3, 0.995, 0.07
MOST_PAGES = 2_000

_SETTINGS: dict[str, Any] = {
    "scope": "all",
    "wait": 0,
    "per_visit": 10,
    "connections": 256,
    "workers": 1,
    "timeout": 5,
    "retry_pauses": [0.1, 0.2],
    "too_often_pause": 0.1,
    "crawl_delay_most": 0.05,
    "retry_after_most": 0.2,
    "max_site_pages": MOST_PAGES,
    "allow_address": ["127.0.0.0/8", "::1/128"],
}
_RULES_OFF: dict[str, Any] = {
    "drop_sessions": False,
    "drop_orders": False,
    "max_repeats": 1_000,
    "max_years_ahead": 1_000,
    "max_duplicate_share": 1.0,
    "max_barren": 0,
    "max_doorways": 1_000_000,
    "soft_404": False,
}
KINDS: dict[str, tuple[bool, dict[str, Any]]] = {
    "without hazards": (False, {}),
    "with hazards": (True, {}),
    "rules off": (True, _RULES_OFF),
}


def flags(values: dict[str, Any]) -> list[str]:
    """Settings as they are written on a command line."""
    found = []
    for name, value in values.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            found.append(f"--{option}" if value else f"--no-{option}")
        else:
            found += [
                part for each in (value if isinstance(value, list) else [value]) for part in (f"--{option}", str(each))
            ]
    return found


def crawl(bed: Bed, folder: Path, changes: dict[str, Any], reachable: set[int]) -> dict[str, Any]:
    """One crawl, to its end; `reachable` are the good pages that the crawl without hazards had, which comes first and
    fills it: robots.txt, depths and dead links keep others from everybody.
    """
    seeds, out = folder / "seeds.txt", folder / "crawl"
    seeds.write_text("\n".join(bed.seeds()) + "\n", encoding="utf-8")
    values = _SETTINGS | {"dns": [bed.dns], "ca_file": str(bed.ca_file)} | changes
    command = [sys.executable, "-m", "weft", "crawl", "--seeds", str(seeds), "--out", str(out), "--json"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with (folder / "said").open("w", encoding="utf-8") as said:
        subprocess.run([*command, *flags(values)], check=True, stdout=said, stderr=subprocess.STDOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
        "seconds": round(time.monotonic() - began, 1),
        **counted(bed, reachable),
        **repeated(out),
    }


def counted(bed: Bed, reachable: set[int]) -> dict[str, Any]:
    """What was had, and what it took, by the servers' log."""
    web = bed.web
    good: set[int] = set()
    requests: Counter[str] = Counter()
    for entry in bed.log():
        if entry.event != "request":
            continue
        purpose = purpose_of_entry(web, entry)
        if purpose.sort is Sort.HAZARD:
            requests[purpose.scenario] += 1
        requests[f"all {purpose.sort.value}"] += 1
        if entry.status == 200 and purpose.page >= 0:
            good.add(purpose.page)
    reachable |= set() if web.played else good
    had: Counter[str] = Counter()
    there: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for site in range(web.graph.sites):
        kind = "hazardous" if site in web.played else "harmless"
        for page in reachable.intersection(web.graph.pages_of(site)):
            there[kind] += 1
            had[kind] += page in good
            if page not in good:
                missed[web.played[site].scenario.name if site in web.played else "harmless"] += 1
    return {
        "good": len(good),
        "there": dict(there),
        "had": dict(had),
        "missed": dict(missed.most_common()),
        "requests": dict(requests.most_common()),
    }


def repeated(out: Path) -> dict[str, Any]:
    """Pages with status 200, and those among them whose content an earlier one had."""
    with duckdb.connect() as database:
        pages, contents = database.execute(
            f"select count(*), count(distinct digest) from '{out}/pages/*.parquet' where status = 200 "  # noqa: S608
            "and kind <> 'robots' and digest is not null"
        ).fetchall()[0]
    return {"pages": pages, "duplicates": round(1 - contents / max(1, pages), 4)}


def measure(seed: int, kinds: tuple[str, ...] = tuple(KINDS)) -> dict[str, Any]:
    """All crawls of one web."""
    found, reachable = {}, set[int]()
    for kind in kinds:
        hazards, changes = KINDS[kind]
        web = STANDARD_MIXED.web(seed, hazards=hazards)
        with tempfile.TemporaryDirectory() as name, serving(web, ServerSettings(tls=True)) as bed:
            found[kind] = crawl(bed, Path(name), changes, reachable)
        print(f"  seed {seed}, {kind}: {found[kind]['cpu_s']} s of CPU, {found[kind]['seconds']} s", flush=True)
    return found


def run(seeds: tuple[int, ...] = (TUNED, *UNSEEN)) -> dict[str, Any]:
    """The standard web, and others of its kind."""
    goals = {"cpu": GOAL_CPU, "hazardous": GOAL_HAZARDOUS, "duplicates": GOAL_DUPLICATES}
    machine, found = description(), {str(seed): measure(seed) for seed in seeds}
    return {"machine": machine, "goals": goals, "tuned_on": TUNED, "seeds": found}


def floods(path: Path) -> dict[int, int]:
    """Pages that a walk in breadth comes to, from all that nobody links to and every 500th, by how many new ones a page
    may lead to.
    """
    with gzip.open(path, "rt", encoding="ascii") as file:
        leads = [list(map(int, line.split())) for line in file]
    linked = {page for each in leads for page in each}
    first = dict.fromkeys([*(page for page in range(len(leads)) if page not in linked), *range(0, len(leads), 500)])
    found = {}
    for most in (len(leads), 5_000, 2_000, 1_000, 500, 100):
        known, queue = set(first), list(first)
        for page in queue:  # it grows
            new = [each for each in dict.fromkeys(leads[page]) if each not in known][:most]
            known.update(new)
            queue += new
        found[most] = len(known)
    return found


def show(result: dict[str, Any]) -> None:
    """As a table."""
    print(f"{'seed':<8}{'':<17}{'CPU s':>8}{'ms/good':>9}{'ratio':>7}{'harmless':>16}{'hazardous':>18}{'copies':>8}")
    for seed, kinds in result["seeds"].items():
        plain = kinds["without hazards"]
        for kind, found in kinds.items():
            each = 1000 * found["cpu_s"] / found["good"]
            ratio = each / (1000 * plain["cpu_s"] / plain["good"])
            harmless = f"{found['had']['harmless']:,}/{found['there']['harmless']:,}"
            there = found["there"].get("hazardous", 0)
            hazardous = f"{found['had']['hazardous'] / there:.2%}" if there else ""
            print(
                f"{seed:<8}{kind:<17}{found['cpu_s']:>8.1f}{each:>9.3f}{ratio:>7.2f}{harmless:>16}{hazardous:>18}"
                f"{found['duplicates']:>8.1%}"
            )
    for seed, kinds in result["seeds"].items():
        costs = kinds.get("with hazards", {}).get("requests", {})
        most = ", ".join(f"{name} {many:,}" for name, many in list(costs.items())[:16])
        print(f"seed {seed}: {most}; missed: {kinds.get('with hazards', {}).get('missed')}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floods"]:
        for most, pages in floods(Path(sys.argv[2])).items():
            print(f"{most:>8,} new pages a page: {pages:,} pages")
        sys.exit()
    chosen = tuple(map(int, sys.argv[1:])) or (TUNED,)
    made = run(chosen)
    show(made)
    sys.stdout.write(json.dumps(made) + "\n")
