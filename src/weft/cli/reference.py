"""Writes the generated pages of the documentation: commands, settings, rules, reasons, columns, kinds, metrics, what
Python has; and the module of typed keywords.

`make docs` runs it; a test fails when a page is not what it would write.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from pathlib import Path
from typing import Any

import pyarrow as pa

import weft
from weft.cli import app, commands, with_whole_help
from weft.cli.options import TITLES
from weft.cli.reference_api import api_page, keywords
from weft.config import PROFILES, SECTIONS, Settings
from weft.engine.gate import ADDRESS
from weft.frontier.overrides import SiteSettings
from weft.frontier.rules import FOUND, TURN, Rule
from weft.model import Kind, Reason
from weft.operations.metrics import METRICS
from weft.settings import rule_of
from weft.stages import STAGES
from weft.store.columns import LINKS, PAGES, URLS

_NOTE = "<!-- Written by `make docs`. Change the code it is made from, not this page. -->\n\n"

_HEAD = ("| key | type | allowed | default | meaning |", "| --- | --- | --- | --- | --- |")


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {
        "commands.md": _commands(),
        "settings.md": _settings(),
        "rules.md": _rules(),
        "reasons.md": _reasons(),
        "columns.md": _columns(),
        "metrics.md": _metrics(),
        "api.md": api_page(_NOTE),
    }


def _commands() -> str:
    for command in commands():
        with_whole_help(command)
    text = app.generate_docs(output_format="markdown", recursive=True)
    return f"{_NOTE}{text.strip()}\n"


def _settings() -> str:
    lines = [
        f"{_NOTE}# Settings",
        "",
        (
            "Every setting is a flag of `weft crawl` (`per_visit` is `--per-visit`), a key under its section in a "
            "settings file (`--config FILE`, TOML) and a keyword of `weft.crawl`. What is given later wins: defaults, "
            "`--profile`, `--config`, flags. A crawl writes what came of it to `crawl.toml` in its directory."
        ),
        "",
        (
            "A setting in bytes may also be written as a text with a unit: `500 kB`, `2 GB` (powers of 1,000), `2 MiB` "
            "(of 1,024); one in seconds as `90 s`, `10 min`, `2 h`, `1 d`. A speed is `200 pages/s`, `50 pages/min` or "
            "`1 MB/s`. What is not allowed is refused by name, before anything is written."
        ),
        "",
    ]
    for section, names in SECTIONS.items():
        held = type(getattr(Settings(), section))
        lines += [
            f"## [{section}]",
            "",
            f"{TITLES[section]}.",
            "",
            *_HEAD,
        ]
        lines += [_setting_row(held, known) for known in dataclasses.fields(held) if known.name in names]
        lines.append("")
    lines += [
        '## [sites."NAME"]',
        "",
        (
            "For one site (`www.example.org`, with its port where that is not the default one) or for a domain and all "
            "below it (`*.example.org`). The most specific one holds."
        ),
        "",
        *_HEAD,
    ]
    lines += [_setting_row(SiteSettings, known) for known in dataclasses.fields(SiteSettings)]
    lines += ["", "## Profiles", "", "| profile | settings |", "| --- | --- |"]
    lines += [
        f"| `{name}` | {', '.join(f'{key} = {value}' for key, value in values.items())} |"
        for name, values in PROFILES.items()
    ]
    return "\n".join(lines) + "\n"


def _setting_row(held: Any, known: dataclasses.Field[Any]) -> str:
    kind = typing.get_type_hints(held)[known.name]
    rule = rule_of(known)
    shown = getattr(kind, "__name__", str(kind)) if isinstance(kind, type) else str(kind).replace("typing.", "")
    default = "" if known.default in (None, (), "") else f"`{known.default}`"
    allowed = " ".join(filter(None, (rule.bounds, rule.unit)))
    row = f"| `{known.name}` | `{shown}` | {allowed} | {default} | {known.metadata['doc']} |"
    return row.replace(" | None", " or none")


_FOUND = (
    "Asked of every link, redirect, sitemap and seed, in normal form, before it gets a place in the frontier. What is "
    "refused here is counted, and may be found again. `weft explain` asks the same rules anew."
)
_MOMENTS: tuple[tuple[str, str, tuple[Rule[Any, Any], ...]], ...] = (
    (
        "When a URL is found",
        _FOUND,
        FOUND,
    ),
    (
        "When its turn has come",
        "Asked of a page of the frontier before it is fetched. The reason is kept with the page.",
        TURN,
    ),
    (
        "When the address is known",
        "Asked of each address of the site's name. What is refused has a row in `pages`.",
        ADDRESS,
    ),
)


def _rules() -> str:
    lines = [
        f"{_NOTE}# Rules",
        "",
        (
            "What is not crawled, rule by rule. The rules of a moment are asked in this order, and the first that says "
            "no decides; its [reason](reasons.md) is counted. Beside them, a site that was given up has its pages "
            f"refused (`{Reason.SITE_FAILED}`), links beyond the limit of a page are left out (`{Reason.PAGE_LINKS}`), "
            f"and what cannot be read as a URL is none (`{Reason.NOT_A_URL}`)."
        ),
    ]
    for title, when, rules in _MOMENTS:
        lines += ["", f"## {title}", "", when, "", "| | reason | looks at |", "| --- | --- | --- |"]
        lines += [f"| {place} | `{rule.reason}` | {rule.looks_at} |" for place, rule in enumerate(rules, 1)]
    return "\n".join(lines) + "\n"


def _reasons() -> str:
    lines = [
        f"{_NOTE}# Reasons",
        "",
        (
            "Why a page failed or a URL was refused: in the `reason` column of `pages`, in the log, in the summary and "
            "from `weft explain`. *Retried* ones are tried again after the pauses of `retry_pauses`. Which rule "
            "refuses for which reason, and in which order they are asked, is said [with the rules](rules.md)."
        ),
        "",
        "| reason | retried | meaning |",
        "| --- | --- | --- |",
    ]
    lines += [f"| `{reason.value}` | {'yes' if reason.retry else ''} | {reason.doc} |" for reason in Reason]
    return "\n".join(lines) + "\n"


def _columns() -> str:
    lines = [
        f"{_NOTE}# Columns",
        "",
        (
            "Parquet files under `pages/`, `links/` and `urls/` of a crawl's directory. Sealed parts (`*.parquet`) can "
            "be read while the crawl runs; the open part (`*.arrow.open`) is an Arrow stream. `weft query` reads both. "
            "Ids are signed 64-bit numbers, 0 for none and never null; in the log they are the same, in JSON text."
        ),
        "",
    ]
    for name, what, schema in (
        ("pages", "One row per fetch that was tried, robots.txt included. `final` marks the last try of a URL.", PAGES),
        ("links", "One row per link found on a page, those marked `nofollow` behind the others.", LINKS),
        ("urls", "The text of every id, each once when the crawl has stopped.", URLS),
    ):
        lines += [f"## {name}", "", what, "", "| column | type | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{field.name}` | {_type(field.type)} | {field.metadata[b'doc'].decode()} |" for field in schema]
        lines.append("")
    lines += [
        "## Stages",
        "",
        (
            "What is found out about pages, each by itself. A stage of your own (`--stage module:NAME`) fills further "
            "columns of `pages`, or a table of its own, `stage-NAME/`, whose rows begin with the `id` of their page; "
            "[how-to](../how-to.md) shows one."
        ),
        "",
        "| stage | apart | fills |",
        "| --- | --- | --- |",
    ]
    for stage in STAGES:
        filled = [f"`{column.name}` ({column.type}): {column.doc}" for column in (*stage.columns, *stage.table)]
        said = "; ".join([stage.doc, *filled])
        lines.append(f"| `{stage.name}` | {'yes' if stage.apart else ''} | {said} |")
    lines.append("")
    lines += ["## Kinds", "", f"{', '.join(kind.name.lower() for kind in Kind)}. The glossary says what they are."]
    return "\n".join(lines) + "\n"


def _metrics() -> str:
    lines = [
        f"{_NOTE}# Metrics",
        "",
        (
            "What `weft crawl --metrics 127.0.0.1:9100` serves to Prometheus, at any path. What only grows is counted "
            "over all runs of a crawl. A worker reports about once a second; counters of a worker of an earlier run "
            "stay. Reasons are those of [one list](reasons.md). [deploy.md](../deploy.md) has a "
            "scrape configuration, alerts and a dashboard, and says how to read where the time goes."
        ),
        "",
        "| metric | type | labels | meaning |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{label}`' for label in metric.labels)} | {metric.doc} |"
        for metric in METRICS
    ]
    return "\n".join(lines) + "\n"


def _type(kind: pa.DataType) -> str:
    return f"{kind.value_type} (dictionary)" if pa.types.is_dictionary(kind) else str(kind)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(folder / name)
    module = Path(weft.__file__).parent / "keywords.py"
    module.write_text(keywords(), encoding="utf-8")
    print(module)
