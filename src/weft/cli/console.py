"""`weft console`: a crawl in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from weft.clock import SystemClock
from weft.errors import UsageError
from weft.operations.options import place_of


def console(
    crawl: Annotated[str, Parameter(help="Directory of the crawl, or the address of its database.")],
    /,
    *,
    at: Annotated[
        str, Parameter(help="ADDRESS:PORT to serve it at; without an address this machine alone, port 0 picks one.")
    ] = "127.0.0.1:8737",
    name: Annotated[
        list[str] | None,
        Parameter(help="A name by which it is reached beyond this machine.", consume_multiple=True, negative=()),
    ] = None,
    certificate: Annotated[Path | None, Parameter(help="File with the certificate for TLS, in PEM.")] = None,
    key: Annotated[Path | None, Parameter(help="File with its key, in PEM.")] = None,
    behind_proxy: Annotated[
        bool, Parameter(help="A proxy with TLS stands before it, and passes the Host header on.", negative=())
    ] = False,
    report: Annotated[
        list[Path] | None,
        Parameter(
            help="A report to show beside others: a file of weft report --json, or the folder of a simulation.",
            negative=(),
        ),
    ] = None,
) -> None:
    """Show a crawl in a browser, live, and manage it there.

    Prints a link that is good for one browser, and another one whenever somebody has come in. Works beside a running
    crawl and afterwards; it does what the commands do, by the same functions. Ends with Ctrl-C; the crawl goes on.

    Only this machine reaches it, unless it has a certificate or a proxy that has one. From elsewhere ssh is enough:
    ssh -L 8737:127.0.0.1:8737 machine.

    For example:

        weft console crawls/first

        weft console crawls/first --at 0.0.0.0:8737 --name crawl.example.org --certificate crawl.pem --key crawl.key
    """
    try:
        place = place_of(at)
    except ValueError as error:
        raise UsageError(f"--at cannot be {at!r}", todo=str(error)) from error
    try:
        from weft.console.serving import Server, Wanted  # who does without needs no extra
    except ImportError as error:
        raise UsageError(
            "the console needs Starlette, Jinja and uvicorn", todo="pip install 'weft[console]'"
        ) from error
    wanted = Wanted(
        place=place,
        names=tuple(name or ()),
        certificate=certificate,
        key=key,
        behind_proxy=behind_proxy,
        reports=tuple(report or ()),
    )
    server = Server(crawl, wanted, SystemClock(), _say)
    _say(f"the console of {crawl} is at {server.link}")
    _say("this link is good for one browser; Ctrl-C ends the console, and the crawl goes on")
    server.run()


def _say(text: str) -> None:
    print(f"weft: {text}", flush=True)
