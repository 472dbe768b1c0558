"""What stages cost a crawl: processor time a page without any, with each of them, and with all.

    make bench PARTS=with-stages
    python -m benchmarks.with_stages --rounds 2 --pages 4000     # a quick trial

The same web is crawled to its end, once for each choice of stages, all at the same time on one core, as `against` does
it and for the same reason: what the machine does to one of them it does to all. What counts is the processor time of
all processes of a crawl from the page `SKIPPED` of `against` on; that of the process in which stages run apart is a
part of it. A stage's part is what its crawl takes more than the one without. All together take less than the sum, since
the language is looked for in the text that another stage has found. Medians over the rounds, ratios with a 95 %
bootstrap interval.

Beside it stands what each stage takes by itself, on the same kind of pages, in this process: the rest of its part is
that pages go to another process and what it found comes back, and that columns are written.
"""

from __future__ import annotations

import argparse
import os
import statistics
from dataclasses import asdict
from typing import Any

from benchmarks.against import ROOT, all_rounds, ratios, warmed
from benchmarks.machine import description
from benchmarks.ratios import Interval, interval
from benchmarks.stages import best, corpus
from weft.model import Page, Turn
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.parse.stage import ReadPage, filled
from weft.stages.language import LANGUAGE, Languages
from weft.stages.simhash import SIMHASH, Simhashing
from weft.stages.text import TEXT, Texts

PLAIN, ALL = "none", "all"
SIDES: dict[str, list[str]] = {
    PLAIN: [],
    "text": ["--text", "whole"],
    "language": ["--detect-language"],
    "near-duplicates": ["--simhash"],
    ALL: ["--text", "whole", "--detect-language", "--simhash"],
}


def run(*, rounds: int = 0, pages: int = 0) -> dict[str, Any]:
    """All rounds; what is not given is taken from the environment: ROUNDS, PAGES."""
    rounds, pages = rounds or int(os.environ.get("ROUNDS", "9")), pages or int(os.environ.get("PAGES", "20000"))
    machine = description()
    warmed(ROOT / "src")
    found = all_rounds({side: (ROOT / "src", options) for side, options in SIDES.items()}, rounds=rounds, pages=pages)
    return {
        "machine": machine,
        "pages": found[PLAIN][0].pages,
        "rounds": rounds,
        "options": SIDES,
        "ratios": {side: asdict(interval(ratios(found, side, PLAIN))) for side in SIDES if side != PLAIN},
        "alone": _alone(),
        "runs": {side: [asdict(each) for each in runs] for side, runs in found.items()},
    }


def _alone() -> dict[str, float]:
    """Milliseconds a page of each stage by itself; of the last one with the text that another has found."""
    pages, parser = corpus(), Parser(Reading(), "weft")
    parsed = {turn.page: parser.parse(page, turn.kind) for turn, page in pages}
    text, language, simhash = (
        TEXT.runner(Texts(text="whole")),
        LANGUAGE.runner(Languages()),
        SIMHASH.runner(Simhashing()),
    )
    texts = {turn.page: filled(text(ReadPage(turn, page, parsed[turn.page], parser))).values for turn, page in pages}

    def read(turn: Turn, page: Page, columns: dict[str, Any] | None = None) -> ReadPage:
        return ReadPage(turn, page, parsed[turn.page], parser, columns)

    micro = {
        "text": best(lambda turn, page: text(read(turn, page)), pages, 3),
        "language": best(lambda turn, page: language(read(turn, page)), pages, 3),
        "near-duplicates": best(lambda turn, page: simhash(read(turn, page)), pages, 3),
        "language of a text that is there": best(
            lambda turn, page: language(read(turn, page, texts[turn.page])), pages, 3
        ),
    }
    return {name: each / 1000 for name, each in micro.items()}


def show(result: dict[str, Any]) -> None:
    """Print the table: a line for each choice of stages."""
    took = {side: statistics.median(each["cpu_ms_per_page"] for each in runs) for side, runs in result["runs"].items()}
    print(f"\n{result['pages']:,} pages, {result['rounds']} rounds; CPU ms a page, all processes of a crawl")
    print(f"\n{'stages':<20}{'in a crawl':>12}{'its part':>10}{'times none':>12}{'95 %':>18}{'by itself':>11}")
    for side, each in took.items():
        line = f"{side:<20}{each:>12.3f}{each - took[PLAIN]:>10.3f}"
        if side != PLAIN:
            ratio = Interval(**result["ratios"][side])
            line += f"{ratio.median:>12.3f}{f'{ratio.low:.3f} to {ratio.high:.3f}':>18}"
        alone = result["alone"].get(side)
        print(line + (f"{alone:>11.3f}" if alone is not None else ""))
    print(f"\nlanguage of a text that is there: {result['alone']['language of a text that is there']:.3f} ms by itself")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.with_stages", description="What stages cost a crawl.")
    parser.add_argument("--rounds", type=int, default=0, help="[environment: ROUNDS, or 9]")
    parser.add_argument("--pages", type=int, default=0, help="of the web [environment: PAGES, or 20000]")
    asked = parser.parse_args()
    show(run(rounds=asked.rounds, pages=asked.pages))


if __name__ == "__main__":
    main()
