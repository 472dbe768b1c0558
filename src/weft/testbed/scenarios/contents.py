"""Contents that are misread: types and charsets that are wrong or missing, links that no parser sees, other pages for
robots than for people, and pages and addresses of absurd size.
"""

from __future__ import annotations

from functools import cache

from weft.testbed.answers import HTML, Answer, plain_answer
from weft.testbed.scenarios.malformed import MALFORMED
from weft.testbed.scenarios.scenario import Ask, Place, Scenario, number_in, page, sheet

MANY = 100_000
"""Links on one page."""
LONG = 100_000
"""Letters of an address."""

_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89" + bytes(40)
_PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
_ZIP = b"PK\x03\x04\x14\0\0\0\x08\0" + bytes(60)

WRONG = (
    *((b"image/png", b""), (b"application/pdf", b""), (b"application/octet-stream", b""), (b"text/plain", b"")),
    *((b"application/json", b""), (b"video/mp4", b""), (b"x/y", b""), (b"text/html", _PNG), (b"text/html", _PDF)),
    *((b"text/html", _ZIP), (b"text/plain", _PDF), (b"application/xhtml+xml", b"")),
)
"""Media types that are said of a page, or of a file that is none."""

MISLEADING = (
    *((".jpg", b"Content-Type: text/html", b""), (".pdf", b"Content-Type: text/html; charset=utf-8", b"")),
    *((".html", b"Content-Type: application/pdf", _PDF), (".html", b"Content-Type: image/png", _PNG)),
    *((".exe", b"Content-Type: text/html", b""), (".html", b"Content-Type: text/html, image/png", b"")),
    *(
        (".html", b"Content-Type: image/png\r\nContent-Type: text/html", b""),
        (".css", b"Content-Type: TEXT/HTML ;", b""),
    ),
    *((".html", b"Content-Type: html", b""), (".html", b"Content-Type: text/html;;;charset", b"")),
)
"""Names that promise something else than the header says, and headers that say two things."""

_TEXT = "El niño comió piñas. Съешь ещё этих мягких булок. 日本語の文章です。"
CHARSETS = {
    "charset-wrong": (
        *((b"utf-8", "windows-1251"), (b"iso-8859-1", "utf-8"), (b"utf-8", "shift_jis"), (b"us-ascii", "utf-8")),
        *((b"windows-1251", "utf-16"), (b"utf-16", "utf-8"), (b"euc-jp", "shift_jis")),
    ),
    "charset-unknown": (
        *((b"x-klingon", "utf-8"), (b"utf8mb4", "utf-8"), (b"none", "windows-1251"), (b'"', "utf-8")),
        *((b"\xff\xfe", "utf-8"), (b"utf-8, iso-8859-1", "utf-8"), (b"a" * 5_000, "utf-8")),
    ),
    "charset-missing": (
        *((b"", "windows-1251"), (b"", "shift_jis"), (b"", "utf-8"), (b"", "utf-16"), (b"", "utf-16-le")),
        *((b"", "utf-32"), (b"", "euc-jp")),
    ),
}
"""What is said, and what the page is in."""


def _inside(place: Place, prefix: str, number: int) -> bytes:
    """A page whose only link leads to one that nothing else links to."""
    link = f"{prefix}inside-{number}.html"
    return sheet(place, f"Page {number}", [link], draw=place.draw(prefix, number))


def _behind(ask: Ask, name: str, prefix: str) -> Answer:
    """What only those find who read the page before."""
    number = number_in(ask.path, f"{prefix}inside-".encode(), b".html")
    if number < 0 or number > 99:
        return plain_answer(404, name)
    return page(name, sheet(ask.place, f"Inside {number}", draw=ask.place.draw(prefix, "inside", number)))


def _wrong_type(ask: Ask) -> Answer:
    number = number_in(ask.path, b"/files/")
    if not 0 <= number < len(WRONG):
        return _behind(ask, "wrong-type", "/files/")
    said, file = WRONG[number]
    return page("wrong-type", file or _inside(ask.place, "/files/", number), b"Content-Type: %b\r\n" % said)


def _missing_type(ask: Ask) -> Answer:
    number = number_in(ask.path, b"/untyped/")
    if not 0 <= number < 8:
        return _behind(ask, "missing-type", "/untyped/")
    file = (b"", _PNG, b"", _PDF, b"", b"just some words\n" * 40, b"", b"")[number]
    headers = (b"", b"Content-Type:\r\n", b"Content-Type: \t\r\n", b"Content-Type: /\r\n")[number // 2]
    return page("missing-type", file or _inside(ask.place, "/untyped/", number), headers)


def _misled(place: Place) -> list[str]:  # noqa: ARG001
    return [f"/misled/{number}{end}" for number, (end, _, _) in enumerate(MISLEADING)]


def _misleading_type(ask: Ask) -> Answer:
    known = _misled(ask.place)
    path = ask.path.decode("latin-1")
    if path not in known:
        return _behind(ask, "misleading-type", "/misled/")
    number = known.index(path)
    _, header, file = MISLEADING[number]
    return page("misleading-type", file or _inside(ask.place, "/misled/", number), header + b"\r\n")


def _malformed(ask: Ask) -> Answer:
    number = number_in(ask.path, b"/broken/", b".html")
    if not 0 <= number < len(MALFORMED):
        return _behind(ask, "malformed-html", "/broken/")
    return page("malformed-html", MALFORMED[number].replace(b"LINK", b"/broken/inside-%d.html" % number))


def _charsets(name: str, about: str) -> Scenario:
    """Pages in charsets that are not what is said of them."""
    prefix = f"/{name}/"
    cases = CHARSETS[name]

    def answer(ask: Ask) -> Answer:
        number = number_in(ask.path, prefix.encode(), b".html")
        if not 0 <= number < len(cases):
            return _behind(ask, name, prefix)
        said, true = cases[number]
        link = f"{prefix}inside-{number}.html"
        meta = f'<meta charset="{said.decode("latin-1")}">' if said and number % 2 else ""
        head = f"<html><head>{meta}<title>{_TEXT}</title></head>"
        text = f'{head}<body><p>{_TEXT * 5}</p><a href="{link}">más</a></body></html>'
        header = b"; charset=%b" % said if said and not number % 2 else b""
        return page(name, text.encode(true, "ignore"), b"Content-Type: text/html%b\r\n" % header)

    return Scenario(
        name=name,
        about=about,
        source="P3 4.2; the encoding standard",
        family="contents",
        prefix=prefix.encode(),
        links=lambda _: [f"{prefix}{number}.html" for number in range(len(cases))],
        answer=answer,
    )


def _cloaking(ask: Ask) -> Answer:
    """One page for browsers, another one for who does not look like one."""
    number = number_in(ask.path, b"/show/", b".html")
    if not 0 <= number < 20:
        return plain_answer(404, "cloaking")
    place, agent = ask.place, ask.asked.agent
    browser = b"Mozilla/5.0" in agent and any(word in agent for word in (b"Gecko/", b"AppleWebKit/"))
    if browser:
        return page("cloaking", sheet(place, f"Casino {number}", [place.base + "/"], draw=place.draw("casino")))
    if number % 2:
        body = b"<html><body><p>Your browser is not supported. Please get another one.</p></body></html>\n"
        return page("cloaking", body, HTML + b"Vary: User-Agent\r\n")
    links = [f"/show/{(number + step) % 20}.html" for step in (1, 2)]
    return page("cloaking", sheet(place, f"Science {number}", links, draw=place.draw("science", number), texts=60))


def _scripted(ask: Ask) -> Answer:
    """A page whose links are all in JavaScript, and the pages they lead to."""
    place = ask.place
    number = number_in(ask.path, b"/app/", b".html")
    if 0 <= number < 8:
        return page("js-links", sheet(place, f"View {number}", draw=place.draw("view", number)))
    if ask.path != b"/app/":
        return plain_answer(404, "js-links")
    text = (
        "<!DOCTYPE html><html><head><title>Application</title></head><body>\n"
        "<a href=\"javascript:location='/app/0.html'\">a</a>\n"
        '<a href="#" onclick="window.open(\'/app/1.html\')">b</a>\n'
        "<button onclick=\"location.href='/app/2.html'\">c</button>\n"
        '<select onchange="location=this.value"><option value="/app/3.html">d</option></select>\n'
        f'<script>var next="{place.base}/app/4.html";</script>\n'
        '<script>fetch("/app/" + 5 + ".html");</script>\n'
        '<script type="application/json">{"routes":["\\/app\\/6.html"]}</script>\n'
        "<script>document.write('<a hr'+'ef=\"/app/7.html\">h</a>');</script>\n</body></html>\n"
    )
    return page("js-links", text.encode())


@cache
def _all_links() -> bytes:
    rows = b"".join(b"<a href=/all/%d>x</a>\n" % number for number in range(MANY))
    return b"<!DOCTYPE html><html><body>\n%b</body></html>\n" % rows


def _many(ask: Ask) -> Answer:
    if ask.path == b"/all/":
        return page("many-links", _all_links())
    number = number_in(ask.path, b"/all/")
    if not 0 <= number < MANY:
        return plain_answer(404, "many-links")
    return page("many-links", sheet(ask.place, f"Entry {number}", draw=ask.place.draw("all", number), texts=3))


def _long(ask: Ask) -> Answer:
    """Addresses of a hundred thousand letters, in the path, in the query and in the host's name."""
    place = ask.place
    if ask.path != b"/long/":
        size = len(ask.path)
        return page("long-urls", sheet(place, f"{size} letters", draw=place.draw("long", size)))
    links = [f"/long/{'a' * LONG}", f"/long/?{'b=1&' * (LONG // 4)}", "/long/" + "c/" * (LONG // 2)]
    links += [f"http://{'d' * LONG}.{place.tld}/", f"/long/{'%41' * (LONG // 3)}", f"/long/{'e' * 2_100}"]
    links += [f"/long/{'f' * 1_800}"]
    return page("long-urls", sheet(place, "Long", links, draw=place.draw("longest")))


CONTENTS = (
    Scenario(
        name="wrong-type",
        about="pages that are said to be images, archives and data, and files that are said to be pages",
        source="P3 4.2, 5.4",
        family="contents",
        prefix=b"/files/",
        links=lambda _: [f"/files/{number}" for number in range(len(WRONG))],
        answer=_wrong_type,
    ),
    Scenario(
        name="missing-type",
        about="pages and files without a media type, or with an empty one",
        source="P3 4.2; the MIME sniffing standard",
        family="contents",
        prefix=b"/untyped/",
        links=lambda _: [f"/untyped/{number}" for number in range(8)],
        answer=_missing_type,
    ),
    Scenario(
        name="misleading-type",
        about="names that promise another type than the header says, and headers that say two",
        source="P3 4.2 (file name extensions)",
        family="contents",
        prefix=b"/misled/",
        links=_misled,
        answer=_misleading_type,
    ),
    Scenario(
        name="malformed-html",
        about=f"{len(MALFORMED)} kinds of malformed HTML, each with a link behind what is wrong",
        source="P3 4.2; the HTML standard 13.2.5",
        family="contents",
        prefix=b"/broken/",
        links=lambda _: [f"/broken/{number}.html" for number in range(len(MALFORMED))],
        answer=_malformed,
    ),
    _charsets("charset-wrong", "pages in another charset than they say"),
    _charsets("charset-unknown", "pages that name a charset which does not exist"),
    _charsets("charset-missing", "pages in any charset that do not name it"),
    Scenario(
        name="cloaking",
        about="pages that are others for browsers than for robots, and notices that a browser is not supported",
        source="P3 4.2",
        family="contents",
        prefix=b"/show/",
        links=lambda _: ["/show/0.html", "/show/1.html"],
        answer=_cloaking,
    ),
    Scenario(
        name="js-links",
        about="a page whose links are in JavaScript only, in eight ways",
        source="P3 4.2",
        family="contents",
        prefix=b"/app/",
        links=lambda _: ["/app/"],
        answer=_scripted,
    ),
    Scenario(
        name="many-links",
        about=f"a page with {MANY:,} links",
        source="docs/attacks.md A3; Heritrix: maxOutlinks",
        family="pages",
        prefix=b"/all/",
        links=lambda _: ["/all/"],
        answer=_many,
    ),
    Scenario(
        name="long-urls",
        about=f"addresses of {LONG:,} letters, in path, query and name, and some that are just too long",
        source="P3 4.1, 5.4 (a limit on the length)",
        family="bytes",
        prefix=b"/long/",
        links=lambda _: ["/long/"],
        answer=_long,
    ),
)
