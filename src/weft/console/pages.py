"""The pages of a console. In: requests that the door let in. Out: HTML made of templates, streams of events, plots.

Templates escape everything; where a page shows something of a crawled page, it is text between tags or in a quoted
attribute that no browser runs. Static files are read once, when the console opens: a request chooses among them by
name.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from weft.console.actions import ACTIONS
from weft.console.door import ENTRANCE, STATIC, Where, form_of, session_of
from weft.console.facts import Facts
from weft.console.figures import FIGURES, as_csv, as_svg
from weft.console.reports import side_by_side
from weft.console.sessions import Session, Sessions
from weft.errors import UsageError, WeftError
from weft.manage import managing
from weft.operations.words import short
from weft.printing.page import PALETTE
from weft.sites.survey import WAITS
from weft.units import size
from weft.version import __version__

_ROWS = 50  # sites of a page
_MOST_STREAMS = 32
_LONGEST_TEXT = 4096  # characters of a URL or a name that is asked for
_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "events": "text/event-stream; charset=utf-8",
}
_TABS = {
    "/": "Overview",
    "/sites": "Sites",
    "/url": "URL",
    "/plots": "Plots",
    "/reports": "Reports",
    "/manage": "Manage",
}


class Pages:
    """Those of one console."""

    def __init__(
        self,
        crawl: str,
        facts: Facts,
        where: Where,
        sessions: Sessions,
        *,
        entered: Callable[[str], None] = lambda _whence: None,
        acted: Callable[[str], None] = lambda _what: None,
        ending: Callable[[], bool] = lambda: False,
    ) -> None:
        """`entered` is told who came in, `acted` what was done; once `ending` says so, no stream of events goes on."""
        self._crawl = crawl
        self._facts = facts
        self._where = where
        self._sessions = sessions
        self._entered = entered
        self._acted = acted
        self._ending = ending
        self._static = _static()
        self._stamps = {name: hashlib.sha256(body).hexdigest()[:12] for name, (body, _type) in self._static.items()}
        self._templates = Environment(
            loader=PackageLoader("weft.console"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._templates.filters |= {"when": _when, "size": size, "short": short, "query": _query}

    def __repr__(self) -> str:
        return f"Pages({self._facts})"

    def app(self) -> Starlette:
        """Everything that is answered, behind the door."""
        root = self._where.root
        routes = [
            Route(ENTRANCE, self._enter, methods=["GET"]),
            Route(ENTRANCE, self._come_in, methods=["POST"]),
            Route(f"{STATIC}{{name}}", self._file, methods=["GET"]),
            Route(f"{root}/", self._overview, methods=["GET"]),
            Route(f"{root}/live", self._live, methods=["GET"]),
            Route(f"{root}/sites", self._sites, methods=["GET"]),
            Route(f"{root}/site", self._site, methods=["GET"]),
            Route(f"{root}/url", self._url, methods=["GET"]),
            Route(f"{root}/plots", self._plots, methods=["GET"]),
            Route(f"{root}/plots/{{name}}.{{form}}", self._plot, methods=["GET"]),
            Route(f"{root}/reports", self._reports, methods=["GET"]),
            Route(f"{root}/manage", self._manage, methods=["GET"]),
            Route(f"{root}/leave", self._leave, methods=["POST"]),
            Route(f"{root}/act/{{name}}", self._act, methods=["POST"]),
        ]
        handlers: Any = {WeftError: self._told, HTTPException: self._unknown}
        app = Starlette(routes=routes, exception_handlers=handlers)
        app.router.redirect_slashes = False  # a path is one of these, or none
        return app

    # Coming in and leaving.

    def _enter(self, request: Request) -> Response:
        """A form with the token of the link. Looking at it uses up nothing: programs that look at links do that."""
        token = request.query_params.get("token", "")[:_LONGEST_TEXT]
        return self._html("enter.html", request, token=token, failed=False)

    def _come_in(self, request: Request) -> Response:
        value = self._sessions.enter(form_of(request.scope["state"]).get("token", ""))
        if value is None:
            return self._html("enter.html", request, status=HTTPStatus.FORBIDDEN, token="", failed=True)
        self._entered(request.client.host if request.client else "")
        answer = RedirectResponse(f"{self._where.root}/", HTTPStatus.SEE_OTHER)
        answer.headers["set-cookie"] = self._where.cookie_for(value)
        return answer

    def _leave(self, request: Request) -> Response:
        self._sessions.leave(session_of(request.scope["state"]))
        return RedirectResponse(ENTRANCE, HTTPStatus.SEE_OTHER)

    def _file(self, request: Request) -> Response:
        found = self._static.get(request.path_params["name"])
        if found is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        body, kind = found
        return Response(body, media_type=kind, headers={"cache-control": "max-age=3600"})

    # What there is to see.

    def _overview(self, request: Request) -> Response:
        return self._html("overview.html", request, tab="/", now=self._facts.watching.now())

    async def _live(self, request: Request) -> Response:
        watching, session = self._facts.watching, session_of(request.scope["state"])
        if watching.watchers >= _MOST_STREAMS:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE)
        if request.method == "HEAD":  # it has no end, and nobody would read it
            return Response(media_type=_TYPES["events"])

        async def events() -> AsyncIterator[bytes]:
            yield b"retry: 3000\n\n"
            try:
                async for overview in watching.stream(lambda: not session.ended and not self._ending()):
                    yield b"data: " + msgspec.json.encode(overview) + b"\n\n"
            except WeftError as error:
                yield b"event: trouble\ndata: " + msgspec.json.encode(str(error)) + b"\n\n"

        return StreamingResponse(events(), media_type=_TYPES["events"])

    def _sites(self, request: Request) -> Response:
        asked = request.query_params
        every = self._facts.survey()
        waits_for, text = asked.get("waits_for", ""), asked.get("text", "")[:_LONGEST_TEXT]
        by, rising = asked.get("by", "pending"), asked.get("rising") == "yes"
        first = _number(asked.get("first", "0")) // _ROWS * _ROWS
        page = every.page(waits_for=waits_for, text=text, by=by, rising=rising, first=first, most=_ROWS)
        shown = {"waits_for": waits_for, "text": text, "by": by, "rising": "yes" if rising else "", "first": first}
        return self._html(
            "sites.html",
            request,
            tab="/sites",
            page=page,
            asked=shown,
            rows=_ROWS,
            sites=len(every),
            waiting=every.waiting(),
            meanings=WAITS,
            at=every.at,
        )

    def _site(self, request: Request) -> Response:
        site = self._facts.site(_text(request, "name"))
        stopped = self._facts.status().stopped
        why = stopped.get(site.site) or stopped.get(site.domain, "")
        return self._html("site.html", request, tab="/sites", site=site, stopped=why, meanings=WAITS)

    def _url(self, request: Request) -> Response:
        if not request.query_params.get("url"):
            return self._html("url.html", request, tab="/url", url="", found=None, version=None, source=False)
        url, version = _text(request, "url"), None
        found = self._facts.explain(url)
        source = request.query_params.get("as") == "source"
        if "version" in request.query_params:
            version = self._facts.version(found.fetches, _number(request.query_params["version"]), source=source)
        return self._html("url.html", request, tab="/url", url=url, found=found, version=version, source=source)

    def _plots(self, request: Request) -> Response:
        return self._html(
            "plots.html", request, tab="/plots", figures=FIGURES, there=self._facts.measured() is not None
        )

    def _plot(self, request: Request) -> Response:
        figure, form = FIGURES.get(request.path_params["name"]), request.path_params["form"]
        measured = self._facts.measured()
        if figure is None or measured is None or form not in ("svg", "csv"):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        if form == "csv":
            return Response(as_csv(figure, measured), media_type="text/csv; charset=utf-8")
        tone = "dark" if request.query_params.get("tone") == "dark" else "light"
        return Response(as_svg(figure, measured, tone), media_type=_TYPES["svg"])

    def _reports(self, request: Request) -> Response:
        text = request.query_params.get("text", "")[:_LONGEST_TEXT]
        found = side_by_side(self._facts.reports(), text)
        return self._html("reports.html", request, tab="/reports", found=found, text=text)

    # What can be done.

    def _manage(self, request: Request) -> Response:
        found = self._facts.status()
        return self._html("manage.html", request, tab="/manage", found=found, rules=self._facts.blacklist())

    def _act(self, request: Request) -> Response:
        action = ACTIONS.get(request.path_params["name"])
        if action is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        form, session = form_of(request.scope["state"]), session_of(request.scope["state"])
        try:
            with managing(self._crawl) as managed:
                session.said = [action(managed, form)]
            self._acted(f"{request.path_params['name']}: {session.said[0]}")
        except UsageError as error:
            session.said = [str(error)]
        back = "/" if form.get("back") == "overview" else "/manage"
        return RedirectResponse(f"{self._where.root}{back}", HTTPStatus.SEE_OTHER)

    # What goes wrong.

    def _told(self, request: Request, error: Exception) -> Response:
        """A message for people, as a page."""
        misuse = isinstance(error, UsageError)
        status = HTTPStatus.BAD_REQUEST if misuse else HTTPStatus.INTERNAL_SERVER_ERROR
        return self._html("error.html", request, status=status, tab="", said=str(error))

    def _unknown(self, request: Request, error: Exception) -> Response:
        status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
        if not isinstance(request.scope["state"]["session"], Session):
            return Response(f"{status.phrase}\n", status, media_type="text/plain")
        return self._html("error.html", request, status=status, tab="", said=f"{status.phrase}.")

    def _html(
        self, template: str, request: Request, *, status: HTTPStatus = HTTPStatus.OK, tab: str = "", **values: Any
    ) -> Response:
        session = request.scope["state"]["session"]
        said: list[str] = []
        if isinstance(session, Session):
            said, session.said = session.said, []
        whole = self._templates.get_template(template).render(
            root=self._where.root,
            crawl=self._facts.name,
            weft=__version__,
            csrf=session.csrf if isinstance(session, Session) else "",
            said_before=said,
            tabs=_TABS,
            tab=tab,
            stamps=self._stamps,
            **values,
        )
        return HTMLResponse(whole, status)


def _static() -> dict[str, tuple[bytes, str]]:
    """The static files, by name, with their types."""
    folder = files("weft.console") / "static"
    found = {each.name: (each.read_bytes(), _TYPES[each.name.rpartition(".")[2]]) for each in folder.iterdir()}
    style, kind = found["console.css"]
    return found | {"console.css": (PALETTE.encode() + b"\n" + style, kind)}


def _text(request: Request, name: str) -> str:
    text = request.query_params.get(name, "").strip()
    if not text or len(text) > _LONGEST_TEXT:
        raise UsageError(f"which {name}?", todo=f"give one, of {_LONGEST_TEXT:,} characters at most")
    return text


def _number(text: str) -> int:
    """A whole number of a query; 0 for anything else.

    >>> _number("50"), _number("-1"), _number("1e9"), _number("9" * 99)
    (50, 0, 0, 0)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _when(at: float | datetime | None) -> str:
    """A time for people; UTC."""
    if at is None:
        return ""
    moment = datetime.fromtimestamp(at, UTC) if isinstance(at, int | float) else at
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def _query(values: dict[str, Any], **changes: Any) -> str:
    """A query with some values changed; what is empty is left out.

    >>> _query({"by": "site", "text": "", "first": 50}, first=0)
    '?by=site'
    """
    return f"?{urlencode({name: value for name, value in (values | changes).items() if value})}"
