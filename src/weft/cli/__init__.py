"""The command line: one file per verb, each of which parses, calls the library and prints.

Exit codes: 0 done, 1 failed, 2 misuse. Every reading command takes `--json`. Commands are imported only when they
are called, so that `weft url normalize` in a pipe does not pay for the crawler; what `--help` says of each stands here,
and is the first sentence of its docstring (a test compares them).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from enum import Enum

import cyclopts

from weft.errors import WeftError
from weft.version import __version__


def _default(value: object) -> str | None:
    """A default as `--help` shows it; None: not at all."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return value.name.lower()
    return None if value is None else str(value)


app = cyclopts.App(
    name="weft",
    help="Collect a web politely and fast, in the order that matters.",
    version=f"weft {__version__}",
    version_flags=["--version", "-V"],
    default_parameter=cyclopts.Parameter(show_default=_default),
)

# Every command: the group it is in, its name, where it is, and what it does.
_COMMANDS = (
    ("", "init", "init:init", "Write a settings file that explains itself."),
    ("", "crawl", "crawl:crawl", "Crawl a web politely, in the order that matters."),
    (
        "",
        "status",
        "status:status",
        "Show how a crawl stands: pages, speed, sites, errors, where the time goes, and every worker.",
    ),
    ("", "console", "console:console", "Show a crawl in a browser, live, and manage it there."),
    ("", "pause", "manage:pause", "Have a crawl fetch nothing more until `weft resume`."),
    ("", "resume", "manage:resume", "Let a crawl go on that was paused."),
    ("", "speed", "manage:speed", "Set how fast a crawl goes at most, over all its workers."),
    ("", "workers", "workers:workers", "Add workers to a running crawl, or take some away."),
    ("", "blacklist", "manage:blacklist", "Leave URLs, sites, domains or addresses alone from now on."),
    ("", "add", "manage:add", "Add seeds to a crawl."),
    ("", "stop", "manage:stop", "End a crawl's run: pages under way are finished, everything is written."),
    ("", "clean", "clean:clean", "Tidy up after a crawl that does not run."),
    ("", "repair", "repair:repair", "Look for damaged files of a crawl, say what is lost, and mend the rest."),
    ("", "explain", "explain:explain", "Say why a URL was crawled or not."),
    ("", "sites", "sites:sites", "List the sites of a crawl and what each waits for, or say everything about one."),
    ("", "show", "show:show", "Write a page as it was fetched to standard output."),
    (
        "",
        "log",
        "log:log",
        "Show the log of a crawl: time, result, bytes, seconds, kind, depth, attempt, URL, type, address, digest, via.",
    ),
    ("", "query", "query:query", "Ask the columns of a crawl in SQL."),
    (
        "",
        "export",
        "export:export",
        "Write a crawl for other programs: as WACZ to be replayed, as JSON lines or CSV to be computed with.",
    ),
    ("", "report", "report:report", "Characterise a crawl: one HTML page with plots, or JSON."),
    (
        "",
        "webmasters",
        "webmasters:webmasters",
        "Write a page for webmasters: who crawls, why, and how to be left alone.",
    ),
    (
        "",
        "text",
        "text:text",
        "Make texts of what a crawl has stored, in the formats that can be read, and say what came of each.",
    ),
    ("", "duplicates", "duplicates:duplicates", "List clusters of pages that are the same, or almost so."),
    ("", "duphosts", "duphosts:duphosts", "Find sites that are copies of one another."),
    ("", "audit", "audit:audit", "Hold every request against the rules of politeness, and list where one was broken."),
    ("", "simulate", "simulate:simulate", "Simulate crawls of a graph, one for each ordering, and compare them."),
    ("", "doctor", "doctor:doctor", "Look at what a crawl needs of this machine."),
    (
        "",
        "reproduce",
        "reproduce:reproduce",
        "Repeat the experiments of the papers on ordering, and say what comes out and what does not.",
    ),
    ("", "completion", "completion:completion", "Print a script that has a shell complete commands and options."),
    ("cluster", "init", "cluster:init", "Make the tables of a global frontier in PostgreSQL."),
    ("cluster", "upgrade", "cluster:upgrade", "Have a crawl in a database go on with this version of weft."),
    ("node", "start", "node:start", "Join a crawl as one more machine, and crawl until it is over."),
    (
        "node",
        "stop",
        "node:stop",
        "Have a node finish its pages, hand over what it holds, and leave the crawl; the others go on.",
    ),
    ("seeds", "check", "seeds:check", "Say what is known of seeds before a crawl."),
    ("seeds", "from-domains", "seeds:domains", "Make seeds of a registry's listing of domain names."),
    ("seeds", "from-crawl", "seeds:crawl", "Make seeds of the sites of an earlier crawl that answered."),
    ("seeds", "from-cdx", "seeds:cdx", "Make seeds of the hosts in an archive's index."),
    ("seeds", "report", "seeds:report", "Say what became of each seed of a crawl."),
    ("focus", "train", "focus:train", "Learn from texts what those of a topic have in common."),
    ("focus", "test", "focus:check", "Hold a topic model against texts whose labels are known."),
    ("url", "normalize", "url:normalize", "Print the normal form of each URL."),
    ("robots", "check", "robots:check", "Say for each URL on standard input whether a robots.txt allows it."),
    ("testbed", "serve", "testbed:serve", "Serve a synthetic web on loopback addresses until interrupted."),
    (
        "testbed",
        "delays",
        "changing:delays",
        "Say how well a crawler kept up with a web that changes, by the servers' log.",
    ),
    ("testbed", "list", "testbed:list_pages", "List the URLs of the web that `weft testbed serve` serves."),
    ("testbed", "judge", "testbed_judge:judge", "Judge crawlers by the servers' log alone: one HTML page, or JSON."),
    ("graph", "import", "graph:import_files", "Import a graph from text files, which may be packed by gzip or zstd."),
    ("graph", "build", "graph:build", "Build a graph from what a crawl has fetched."),
    ("graph", "generate", "graph:generate", "Generate a country-like graph, with its PageRank."),
    ("graph", "rank", "graph:rank", "Compute PageRank by the papers' formula, and keep it with the graph."),
    ("graph", "describe", "graph:describe", "Describe a graph: sizes of sites, degrees, depths, and PageRank."),
    ("graph", "snapshot", "changing:snapshot", "Cut the graph of one time out of a world, with its PageRank."),
    (
        "graph",
        "happenings",
        "changing:happenings",
        "List what happened in a world from one time to another: births, real edits and deaths of pages.",
    ),
    ("temporal", "analyse", "temporal:analyse", "Find temporal pages, and the sites that publish them, in logs."),
    ("temporal", "update", "temporal:update", "Add a day of logs, or some days, to an analysis."),
    ("temporal", "generate", "temporal:generate", "Generate a log of page views whose truth is known."),
)
_GROUPS = {
    "": app,
    "cluster": cyclopts.App(name="cluster", help="The global frontier in a database, for more than one file can do."),
    "node": cyclopts.App(name="node", help="One machine of a crawl that several share."),
    "seeds": cyclopts.App(name="seeds", help="Where seeds come from, and what became of them."),
    "focus": cyclopts.App(name="focus", help="Topic models for focused crawls."),
    "url": cyclopts.App(name="url", help="URLs as weft sees them."),
    "robots": cyclopts.App(name="robots", help="robots.txt as weft reads it."),
    "testbed": cyclopts.App(name="testbed", help="A synthetic web, served on loopback to any crawler."),
    "graph": cyclopts.App(name="graph", help="Web graphs: made, read, ranked and described."),
    "temporal": cyclopts.App(name="temporal", help="Temporal pages and sites, found in logs of page views."),
}
for _group, _name, _place, _help in _COMMANDS:
    _GROUPS[_group].command(f"weft.cli.{_place}", name=_name, help=_help)
for _group, _app in _GROUPS.items():
    if _group:
        app.command(_app)


def commands() -> Iterator[cyclopts.App]:
    """Every command, imported."""
    for group, name, _place, _help in _COMMANDS:
        yield _GROUPS[group][name]


def with_whole_help(command: cyclopts.App) -> None:
    """Have a command's own `--help` say all that its docstring says, once it is imported."""
    if getattr(command.default_command, "__module__", "").startswith("weft."):
        command.help = None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a path need not be UTF-8
    try:
        for command in app.parse_commands(arguments)[1]:
            with_whole_help(command)
        result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        if sys.stdout is not None:  # closed by who started us
            sys.stdout.flush()
    except WeftError as error:
        print(f"weft: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except cyclopts.CycloptsError as error:
        from weft.cli.mistakes import mistake

        print(f"weft: {mistake(error)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output went away: nothing more to say to it, also not when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(result if isinstance(result, int) else 0)
