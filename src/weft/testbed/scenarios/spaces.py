"""Spaces of addresses without an end, or many times as large as what is in them: traps that cost a crawler pages."""

from __future__ import annotations

import re

from weft.testbed.answers import HTML, Answer, plain_answer
from weft.testbed.scenarios.scenario import Ask, Place, Scenario, page, sheet

_MONTH = re.compile(rb"/calendar/([0-9]{1,9})/(0[1-9]|1[0-2])/(?:([0-9]{2})/)?\Z")
_SESSION = re.compile(rb"[?&]PHPSESSID=([0-9a-f]{16})\Z")
_HREF = re.compile(rb'href="([^"#]*)"')
_LISTED = re.compile(rb"/pub/((?:part-[0-4]/){0,2})(?:\?C=([NMSD]);O=([AD])|(notes-[0-7]\.txt))?\Z")
_COLUMNS = {"N": "Name", "M": "Last modified", "S": "Size", "D": "Description"}


def _calendar(ask: Ask) -> Answer:
    """A month with its neighbours and days, or a day with its neighbours."""
    found = _MONTH.match(ask.path)
    if found is None:
        return plain_answer(404, "calendar")
    year, month, day = int(found[1]), int(found[2]), int(found[3] or 0)
    place = ask.place
    after, before = _moved(year, month, 1), _moved(year, month, -1)
    links = [before, after, _moved(year, month, 12), place.base + "/"]
    here = f"/calendar/{year}/{month:02}/"
    title = f"{year}-{month:02}" + (f"-{day:02}" if day else "")
    links += [here] if day else [f"{here}{number:02}/" for number in range(1, 29)]
    return page("calendar", sheet(place, f"Events of {title}", links, draw=place.draw("calendar", title)))


def _moved(year: int, month: int, by: int) -> str:
    count = year * 12 + month - 1 + by
    return f"/calendar/{max(count // 12, 0)}/{count % 12 + 1:02}/"


def _session(ask: Ask) -> Answer | None:
    """A page of the site whose links carry a session, unless the client sends a cookie."""
    place, path, asked = ask.place, ask.path, ask.asked
    found = _SESSION.search(path)
    bare = path[: found.start()] if found else path
    if place.find(bare) < 0 or (asked.cookie and not found):
        return None
    answer = place.usual(bare, asked if asked.cookie else asked._replace(encodings=b""))
    if asked.cookie:
        return answer._replace(kind="session-ids")
    session = found[1].decode() if found else ""
    if not session or place.draw("ends", session, bare.decode()) % 8 == 0:  # sessions do not last
        session = f"{place.draw('session', path.decode(), asked.connection):016x}"
    headers = answer.headers + f"Set-Cookie: PHPSESSID={session}; Path=/\r\n".encode()
    kind = "session-ids" if found else "page"
    return answer._replace(kind=kind, headers=headers, body=_with_session(answer.body, place, session.encode()))


def _with_session(body: bytes, place: Place, session: bytes) -> bytes:
    """A page's links to its own site, each with a session."""
    base = place.base.encode()

    def rewrite(match: re.Match[bytes]) -> bytes:
        address = match[1]
        if b"://" in address and not address.startswith(base):
            return match[0]
        return b'href="%b%bPHPSESSID=%b"' % (address, b"&amp;" if b"?" in address else b"?", session)

    return _HREF.sub(rewrite, body)


def _session_page(ask: Ask) -> int:
    found = _SESSION.search(ask.path)
    return ask.place.find(ask.path[: found.start()]) if found else -1


def _listing(ask: Ask) -> Answer:
    """A directory as Apache lists it, in one of eight orders, or a file in it."""
    found = _LISTED.match(ask.path)
    if found is None:
        return plain_answer(404, "listing")
    folder = "/pub/" + found[1].decode()
    place = ask.place
    if found[4]:
        text = place.words(place.draw("file", folder, found[4].decode()), 30)
        return Answer(200, "listing", b"Content-Type: text/plain\r\n", text)
    column, order = (found[2] or b"N").decode(), (found[3] or b"A").decode()
    names = [f"part-{number}/" for number in range(5)] if folder.count("/") < 4 else []
    names += [f"notes-{number}.txt" for number in range(8)]
    rows = [(name, place.draw("listing", folder, name)) for name in names]
    rows.sort(key=lambda row: _sort_key(column, *row), reverse=order == "D")
    heads = "".join(
        f'<th><a href="?C={each};O={"D" if each == column and order == "A" else "A"}">{title}</a></th>'
        for each, title in _COLUMNS.items()
    )
    lines = "".join(
        f'<tr><td><a href="{name}">{name}</a></td><td>{_date(draw)}</td><td>{draw % 90}K</td><td></td></tr>\n'
        for name, draw in rows
    )
    other = "".join(f'<a href="?C={each};O=D">{title}</a> ' for each, title in _COLUMNS.items())
    listed = (
        f"<!DOCTYPE html>\n<html><head><title>Index of {folder}</title></head><body><h1>Index of {folder}</h1>\n"
        f"<table>\n<tr>{heads}</tr>\n{lines}</table>\n<p>Descending: {other}</p></body></html>\n"
    )
    return page("listing", listed.encode())


def _sort_key(column: str, name: str, draw: int) -> tuple[object, ...]:
    return {"N": (name,), "M": (_date(draw), name), "S": (draw % 90, name), "D": ("", name)}[column]


def _date(draw: int) -> str:
    return f"{2015 + (draw >> 8) % 10}-{1 + (draw >> 16) % 12:02}-{1 + (draw >> 24) % 28:02}"


def _growing(ask: Ask) -> Answer:
    """A folder that holds itself: the same pages one level down, and so on."""
    rest = ask.path
    while rest.startswith(b"/spider/"):
        rest = rest[len(b"/spider") :]
    if rest not in {b"/", b"/about.html", b"/news.html"}:
        return plain_answer(404, "growing-urls")
    links = ["spider/", "about.html", "news.html"] if rest == b"/" else ["./"]
    return page("growing-urls", sheet(ask.place, rest.decode(), links, draw=ask.place.draw("spider", rest.decode())))


def _history(ask: Ask) -> Answer:
    """A page whose links carry all that was seen before, in a query that grows."""
    query = ask.path.partition(b"?")[2].decode("latin-1")
    seen = [word for word in query.split("&") if word.startswith("seen=")]
    last = seen[-1][5:] if seen else "0"
    here = int(last) % 20 if last.isdigit() and len(last) < 9 else 0
    links = ["/tour/?" + "&".join([*seen, f"seen={(here * 3 + step) % 20}"]) for step in range(1, 4)]
    return page("growing-queries", sheet(ask.place, f"Stop {here}", links, draw=ask.place.draw("tour", here)))


def _dead_backend(ask: Ask) -> Answer:
    """Catalogues of a hundred things each, all of which are one error page, and the server says it is well."""
    for number in range(20):
        if ask.path == b"/shop/catalogue-%d.html" % number:
            links = [f"/shop/item.php?id={number * 100 + each}" for each in range(100)]
            links += [f"/shop/catalogue-{number + 1}.html"] if number < 19 else []
            return page("dead-backend", sheet(ask.place, f"Catalogue {number}", links, draw=ask.place.draw(number)))
    if not ask.path.startswith(b"/shop/item.php?id="):
        return plain_answer(404, "dead-backend")
    body = b"<p><b>Warning</b>: could not connect to the database server in /srv/shop/item.php on line 12</p>\n"
    menu = b'<a href="/shop/catalogue-0.html">catalogue</a>'
    return page("dead-backend", b"<html><head><title>Error</title></head><body>%b%b</body></html>\n" % (body, menu))


def _soft_404(ask: Ask) -> Answer:
    """An apology for whatever is asked for, with status 200, and suggestions that do not exist either."""
    place, path = ask.place, ask.path.decode("latin-1")
    links = [f"/articles/{place.draw('suggestion', path, number):016x}.html" for number in range(5)]
    body = sheet(place, f"Sorry, there is no {path.replace('<', '')}", links, draw=place.draw("sorry"))
    return page("soft-404", body)


def _near(ask: Ask) -> Answer:
    """Twenty stories, each under twenty addresses, with another date, counter and advertisement."""
    place = ask.place
    if ask.path == b"/news/":
        links = [f"/news/{number}.html" for number in range(400)]
        return page("near-duplicates", sheet(place, "News", links, draw=place.draw("news")))
    name = ask.path[len(b"/news/") : -len(b".html")]
    if not (ask.path.endswith(b".html") and name.isdigit() and len(name) < 4 and int(name) < 400):
        return plain_answer(404, "near-duplicates")
    number = int(name)
    story, draw = number % 20, place.draw("variant", number)
    texts = b" ".join(place.words(place.draw("story", story, part), 40) for part in range(4))
    body = (
        b'<!DOCTYPE html>\n<html lang="es"><head><meta charset="utf-8"><title>Story %d</title></head><body>\n'
        b'<p class="date">%b</p><h1>Story %d</h1>\n<p>%b</p>\n<p class="ad">%b</p><p>%d readers</p>'
        b'<a href="/news/">news</a></body></html>\n'
    ) % (story, _date(draw).encode(), story, texts, place.words(draw, 1), draw >> 40)
    return page("near-duplicates", body, HTML)


SPACES = (
    Scenario(
        name="calendar",
        about="a calendar with a page for every month and day there will ever be",
        source="P3 5.4 (online calendars); Heritrix: TooManyHopsDecideRule",
        family="pages",
        prefix=b"/calendar/",
        links=lambda _: ["/calendar/2026/11/"],
        answer=_calendar,
    ),
    Scenario(
        name="session-ids",
        about="links carry a session id, a new one now and then, when the client sends no cookie",
        source="P3 4.1, 5.4 (27 % of the URLs of a crawl); Heritrix: StripSessionIDs",
        family="pages",
        everywhere=True,
        links=lambda _: [],
        answer=_session,
        copied=_session_page,
    ),
    Scenario(
        name="listing",
        about="directories as Apache lists them, each in eight orders (?C=N;O=D)",
        source="P3 4.1 figure 2, 5.4 (0.5 % of the URLs)",
        family="pages",
        prefix=b"/pub/",
        links=lambda _: ["/pub/"],
        answer=_listing,
    ),
    Scenario(
        name="growing-urls",
        about="a folder that holds itself: /spider/spider/spider/…",
        source="P3 4.1; Heritrix: PathologicalPathDecideRule; Nutch: regex-urlfilter",
        family="pages",
        prefix=b"/spider/",
        links=lambda _: ["/spider/"],
        answer=_growing,
    ),
    Scenario(
        name="growing-queries",
        about="links carry the history of the visit in a query that grows",
        source="P3 4.1 (advertisement sites)",
        family="pages",
        prefix=b"/tour/",
        links=lambda _: ["/tour/"],
        answer=_history,
    ),
    Scenario(
        name="dead-backend",
        about="one error page under two thousand addresses, with status 200",
        source="P3 4.1 (unavailable services)",
        family="pages",
        prefix=b"/shop/",
        links=lambda _: ["/shop/catalogue-0.html"],
        answer=_dead_backend,
    ),
    Scenario(
        name="soft-404",
        about="an apology with status 200 for any address, which suggests five more",
        source="Bar-Yossef et al. 2004; P1 3.2 (links that lead nowhere)",
        family="pages",
        prefix=b"/articles/",
        links=lambda _: ["/articles/old.html", "/articles/older.html", "/articles/oldest.html"],
        answer=_soft_404,
    ),
    Scenario(
        name="near-duplicates",
        about="twenty stories, each under twenty addresses with another date, counter and advertisement",
        source="Manku, Jain and Das Sarma 2007; P1 6",
        family="pages",
        prefix=b"/news/",
        links=lambda _: ["/news/"],
        answer=_near,
    ),
)
