"""The command line: one file per verb, each of which parses, calls the library and prints.

Exit codes: 0 done, 1 failed, 2 misuse. Every reading command takes `--json`. Commands are imported only when they
are called, so that `weft url normalize` in a pipe does not pay for the crawler.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import cyclopts

from weft.errors import WeftError
from weft.version import __version__

app = cyclopts.App(
    name="weft",
    help="Collect a web politely and fast, in the order that matters.",
    version=f"weft {__version__}",
    version_flags=["--version"],
)

app.command("weft.cli.crawl:crawl", name="crawl")
app.command("weft.cli.status:status", name="status")
app.command("weft.cli.manage:pause", name="pause")
app.command("weft.cli.manage:resume", name="resume")
app.command("weft.cli.manage:speed", name="speed")
app.command("weft.cli.manage:blacklist", name="blacklist")
app.command("weft.cli.manage:add", name="add")
app.command("weft.cli.manage:stop", name="stop")
app.command("weft.cli.clean:clean", name="clean")
app.command("weft.cli.explain:explain", name="explain")
app.command("weft.cli.show:show", name="show")
app.command("weft.cli.log:log", name="log")
app.command("weft.cli.query:query", name="query")
app.command("weft.cli.audit:audit", name="audit")
app.command("weft.cli.simulate:simulate", name="simulate")
app.command("weft.cli.doctor:doctor", name="doctor")
app.command("weft.cli.reproduce:reproduce", name="reproduce")

url = cyclopts.App(name="url", help="URLs as weft sees them.")
url.command("weft.cli.url:normalize", name="normalize")
app.command(url)

robots = cyclopts.App(name="robots", help="robots.txt as weft reads it.")
robots.command("weft.cli.robots:check", name="check")
app.command(robots)

testbed = cyclopts.App(name="testbed", help="A synthetic web, served on loopback to any crawler.")
testbed.command("weft.cli.testbed:serve", name="serve")
testbed.command("weft.cli.testbed:list_pages", name="list")
app.command(testbed)

graph = cyclopts.App(name="graph", help="Web graphs: made, read, ranked and described.")
graph.command("weft.cli.graph:import_files", name="import")
graph.command("weft.cli.graph:build", name="build")
graph.command("weft.cli.graph:generate", name="generate")
graph.command("weft.cli.graph:rank", name="rank")
graph.command("weft.cli.graph:describe", name="describe")
app.command(graph)

temporal = cyclopts.App(name="temporal", help="Temporal pages and sites, found in logs of page views.")
temporal.command("weft.cli.temporal:analyse", name="analyse")
temporal.command("weft.cli.temporal:update", name="update")
temporal.command("weft.cli.temporal:generate", name="generate")
app.command(temporal)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    try:
        result = app(arguments, exit_on_error=True, result_action="return_value")
    except WeftError as error:
        print(f"weft: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away; nothing more to say to it
        sys.exit(0)
    sys.exit(result if isinstance(result, int) else 0)
