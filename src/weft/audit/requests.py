"""Every request beside what robots.txt, answers and the operator said before it. In: fetches by site and time. Out:
findings.

Of each request it is asked: did the robots.txt that held for its origin allow the path; did the crawl-delay in it leave
that much time since the visit before, and one page a visit; had an answer of the site asked to be left alone (429, or
503 with Retry-After) for longer, or had the server said that it answers no more on this connection (Keep-Alive); was it
on the blacklist? What was said is read from the volumes (`archive`): neither
the crawler's own reading of robots.txt nor the waits that it wrote down are asked.

One site is in memory at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.audit.archive import Archive, File
from weft.audit.checks import SLEW, TOLERANCE
from weft.audit.findings import Finding, Findings, Place, moment, place
from weft.audit.forbidden import Forbidden, Forbidding, names
from weft.audit.reading import Names
from weft.audit.robots import Library
from weft.audit.snapshot import Snapshot
from weft.audit.terms import Terms
from weft.fetch.headers import keep_alive, retry_after
from weft.urls import target_of

UNKNOWN_ANSWERS = "answers 429 and 503 whose Retry-After was not written down"
UNKNOWN_KEEP_ALIVE = "further requests on connections whose Keep-Alive was not written down"
UNKNOWN_ROBOTS = "requests whose robots.txt cannot be read from the volumes"
UNDATED_RULES = "rules of the blacklist of which it is not known when they were set"

_READ = """
select row, site, url, ip, kind, worker, visit, status, connected_at, fetched_at, closed_at, took, volume, "offset",
    length, retry_after, keep_alive
from fetches where connected_at is not null order by site, fetched_at, row
"""


class Request(NamedTuple):
    """A row of `pages/`, as far as it is looked at. Times are in microseconds."""

    row: int
    site: str
    url: str
    ip: str | None
    kind: str | None
    worker: int | None
    visit: int | None
    status: int | None
    connected_at: int
    fetched_at: int
    closed_at: int | None
    took: float | None
    volume: str | None
    offset: int | None
    length: int | None
    retry_after: str | None
    keep_alive: str | None

    @property
    def end(self) -> int:
        """When it was over."""
        return max(self.fetched_at + int((self.took or 0.0) * 1e6), self.closed_at or 0)


class _Held(NamedTuple):
    """A robots.txt that held for an origin."""

    asked_at: int
    had: int  # -1 where redirects lead nowhere
    file: int


class _Pause(NamedTuple):
    """An answer asked that the site be left alone."""

    until: int
    since: int
    says: str
    said: Place | None


class Judge:
    """Looks at requests one by one, in the order of sites and times."""

    def __init__(
        self,
        findings: Findings,
        *,
        terms: Terms,
        library: Library,
        archive: Archive,
        forbidden: Forbidden,
        sites: Names,
    ) -> None:
        self._findings = findings
        self._terms = terms
        self._library = library
        self._archive = archive
        self._forbidden = forbidden
        self._sites = sites
        findings.unjudged[UNDATED_RULES] += forbidden.undated

    def look(self, snapshot: Snapshot) -> None:
        """Look at all of them."""
        site: _Site | None = None
        for values in snapshot.rows_of(_READ):
            request = Request._make(values)
            if site is None or site.name != request.site:
                site = _Site(self, request.site)
            site.take(request)

    # What sites ask.

    @property
    def findings(self) -> Findings:
        """Where violations go."""
        return self._findings

    @property
    def terms(self) -> Terms:
        """What was asked of the crawl."""
        return self._terms

    def files_of(self, site: str, scheme: str) -> list[_Held]:
        """The robots.txt files that held for an origin, the oldest first."""
        code = self._sites.codes[site]
        return [_Held(*each) for each in self._library.of(code * 2 + (scheme == "https"))]

    def file(self, number: int, agent: str) -> tuple[File | None, dict[str, Any]]:
        """What a robots.txt says, and its row."""
        row = self._library.record(number)
        return self._archive.robots(row, agent), row

    def rules_of(self, site: str) -> list[Forbidding]:
        """What is forbidden of a site."""
        return self._forbidden.of(site)

    def rules_at(self, address: str | None) -> list[Forbidding]:
        """What is forbidden at an address."""
        return self._forbidden.at(address)

    def asked_for(self, request: Request) -> str | None:
        """The Retry-After of an answer, "" for none; None where that is not known."""
        if request.retry_after is not None:
            return request.retry_after
        headers = self._archive.headers(request._asdict())
        return None if headers is None else headers.get("retry-after", "")


class _Site:
    """What has been said by, and asked of, one site so far."""

    def __init__(self, judge: Judge, name: str) -> None:
        self.name = name
        self._judge = judge
        self._files: dict[str, list[_Held]] = {scheme: judge.files_of(name, scheme) for scheme in ("http", "https")}
        self._read: dict[tuple[int, str], tuple[File | None, dict[str, Any]]] = {}
        self._rules = judge.rules_of(name)
        self._obeyed: dict[int, bool] = {}  # by the number of settings
        self._pause: _Pause | None = None
        self._visit: tuple[Any, ...] | None = None  # the one under way
        self._ended = 0  # the last answer
        self._pages = 0  # in the visit
        self._last: Request | None = None

    def take(self, request: Request) -> None:
        """The next request."""
        is_page = request.kind != "robots"
        self._blacklist(request)
        self._left_alone(request)
        obeys = self._obeys(request.fetched_at)
        if is_page and obeys:
            self._disallow(request)
        visit = (request.worker, request.visit, request.connected_at)
        new = visit != self._visit
        if self._ended and obeys and (new or (is_page and self._pages)):
            self._delay(request)
        if not new:
            self._kept_open(request)
        self._pages = is_page + (0 if new else self._pages)
        self._visit, self._last = visit, request
        self._ended = max(self._ended, request.end)
        if request.status in (429, 503):
            self._note_pause(request)

    def _obeys(self, time: int) -> bool:
        """Was robots.txt to be obeyed?"""
        terms = self._judge.terms
        number = terms.number(time)
        if number not in self._obeyed:
            self._obeyed[number] = terms.obeys(self.name, time)
        return self._obeyed[number]

    def _in_force(self, scheme: str, time: int) -> _Held | None:
        """The newest file that was asked for before a time."""
        found = None
        for held in self._files[scheme]:
            if held.asked_at > time:
                break
            found = held
        return found

    def _says(self, held: _Held, time: int) -> tuple[File | None, dict[str, Any]]:
        key = (held.file, self._judge.terms.agent(time))
        if key not in self._read:
            self._read[key] = self._judge.file(*key)
        return self._read[key]

    def _disallow(self, request: Request) -> None:
        """Was the path allowed?"""
        findings = self._judge.findings
        held = self._in_force("https" if request.url.startswith("https:") else "http", request.fetched_at)
        if held is None or held.file < 0:
            return  # that there was none is a finding of its own
        file, row = self._says(held, request.fetched_at)
        if file is None:
            findings.unjudged[UNKNOWN_ROBOTS] += 1
            return
        findings.judged["disallowed"] += 1
        path = target_of(request.url)
        if file.robots.allows(path):
            return
        verdict = file.robots.verdict(path)
        finding = Finding(
            rule="disallowed",
            who=self.name,
            figure=None,
            limit=None,
            when=moment(request.fetched_at),
            since=moment(held.had),
            says=f"{verdict.rule} (line {verdict.line} of {row['url']})",
            said=place(row["volume"], row["offset"]),
        )
        findings.add_one(finding, request.row)

    def _delay(self, request: Request) -> None:
        """Was the crawl-delay kept since the visit before, or since the page before on the same connection?"""
        ended = self._ended
        politeness = self._judge.terms.at(ended).politeness
        asked: list[tuple[float, File, dict[str, Any]]] = []
        for scheme in self._files:
            held = self._in_force(scheme, ended)
            if held is None or held.file < 0 or held.had > ended or ended - held.had > politeness.robots_age * 1e6:
                continue
            file, row = self._says(held, ended)
            if file is not None and file.robots.crawl_delay:
                asked.append((file.robots.crawl_delay, file, row))
        if not asked:
            return
        delay, file, row = max(asked, key=lambda each: each[0])
        self._judge.findings.judged["crawl-delay"] += 1
        limit, gap = min(delay, politeness.crawl_delay_most), (request.fetched_at - ended) / 1e6
        if gap >= limit * (1 - SLEW) - TOLERANCE:
            return
        finding = Finding(
            rule="crawl-delay",
            who=self.name,
            figure=gap,
            limit=limit,
            when=moment(request.fetched_at),
            since=moment(ended),
            says=f"{file.delay_line} of {row['url']}",
            said=place(row["volume"], row["offset"]),
        )
        self._judge.findings.add_one(finding, request.row)

    def _left_alone(self, request: Request) -> None:
        """Had an answer asked that the site be left alone until now?"""
        pause = self._pause
        if pause is None:
            return
        self._judge.findings.judged["retry-after"] += 1
        asked, gap = (pause.until - pause.since) / 1e6, (request.fetched_at - pause.since) / 1e6
        if gap >= asked * (1 - SLEW) - TOLERANCE:
            return
        finding = Finding(
            rule="retry-after",
            who=self.name,
            figure=gap,
            limit=round(asked, 6),
            when=moment(request.fetched_at),
            since=moment(pause.since),
            says=pause.says,
            said=pause.said,
        )
        self._judge.findings.add_one(finding, request.row)

    def _kept_open(self, request: Request) -> None:
        """Had the server said that it answers no more on this connection?"""
        before = self._last
        if before is None or before.keep_alive == "":
            return
        if before.keep_alive is None:
            self._judge.findings.unjudged[UNKNOWN_KEEP_ALIVE] += 1
            return
        self._judge.findings.judged["keep-alive"] += 1
        if 0 in keep_alive({"keep-alive": before.keep_alive}):
            finding = Finding(
                rule="keep-alive",
                who=self.name,
                figure=None,
                limit=None,
                when=moment(request.fetched_at),
                since=moment(before.end),
                says=f"Keep-Alive: {before.keep_alive} of {before.url}",
                said=place(before.volume, before.offset),
            )
            self._judge.findings.add_one(finding, request.row)

    def _note_pause(self, request: Request) -> None:
        """An answer says that the server is asked too often, or is out of service."""
        said = self._judge.asked_for(request)
        if said is None:
            self._judge.findings.unjudged[UNKNOWN_ANSWERS] += 1
            return
        since = request.fetched_at + int((request.took or 0.0) * 1e6)
        politeness = self._judge.terms.at(since).politeness
        asked = retry_after(said, since / 1e6)
        if asked is not None:
            asked, says = min(asked, politeness.retry_after_most), f"Retry-After: {said}"
        elif request.status == 429:
            asked, says = politeness.too_often_pause, f"without Retry-After: {politeness.too_often_pause:g} s"
        else:
            return
        until = since + int(asked * 1e6)
        if self._pause is None or until > self._pause.until:
            says = f"status {request.status} of {request.url}, {says}"
            self._pause = _Pause(until, since, says, place(request.volume, request.offset))

    def _blacklist(self, request: Request) -> None:
        """Was it forbidden?"""
        judge = self._judge
        rules = [held for held in self._rules if names(held.rule, request.url)] + judge.rules_at(request.ip)
        for held in rules:
            # A worker hears of a rule with its next exchange; one that did not hear for so long begins no visits.
            heard = held.since + int(judge.terms.at(held.since).watching.hung_after * 1e6)
            if heard < request.fetched_at < held.until:
                finding = Finding(
                    rule="blacklist",
                    who=self.name,
                    figure=None,
                    limit=None,
                    when=moment(request.fetched_at),
                    since=moment(held.since),
                    says=f"{held.rule} is on the blacklist",
                )
                judge.findings.add_one(finding, request.row)
                break
        judge.findings.judged["blacklist"] += bool(rules)
