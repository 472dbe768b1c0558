"""Every scenario serves what it says, to a client that is a bare socket."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import socket
import ssl
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import brotli
import pytest
import zstandard
from tests.crawling import make_web
from tests.patience import PATIENCE

from weft.testbed.bed import Bed, serving
from weft.testbed.names import DEAD
from weft.testbed.options import PLAIN
from weft.testbed.purpose import Purpose, Sort, purpose_of, purpose_of_entry
from weft.testbed.scenarios import SCENARIOS
from weft.testbed.scenarios.bombs import EXPANDED
from weft.testbed.scenarios.contents import CHARSETS, LONG, MANY, MISLEADING, WRONG
from weft.testbed.scenarios.malformed import MALFORMED
from weft.testbed.scenarios.names import FARM, MIRRORS, PARKED
from weft.testbed.scenarios.playing import Played
from weft.testbed.scenarios.redirects import CHAIN
from weft.testbed.scenarios.robots import KINDS
from weft.testbed.scenarios.wire import CHUNKS, LENGTHS, STAGES
from weft.testbed.serve import ServerSettings

pytestmark = pytest.mark.xdist_group("hazards-served")

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
_LINK = re.compile(r'href="?([^"> ]+)')


class Heard(NamedTuple):
    """What came over a connection."""

    text: bytes
    reset: bool

    @property
    def status(self) -> int:
        """The status, if there is one."""
        words = self.text.split(b" ", 2)
        return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0

    @property
    def head(self) -> str:
        """Status line and header."""
        return self.text.partition(b"\r\n\r\n")[0].decode("latin-1")

    @property
    def body(self) -> bytes:
        """What came behind the header."""
        return self.text.partition(b"\r\n\r\n")[2]

    @property
    def links(self) -> list[str]:
        """The addresses on a page."""
        return [link.replace("&amp;", "&") for link in _LINK.findall(self.body.decode("utf-8", "replace"))]

    def field(self, name: str) -> str:
        """A header field; empty if there is none."""
        found = re.search(rf"^{name}: ?(.*)$", self.head, re.MULTILINE | re.IGNORECASE)
        return found[1].strip() if found else ""


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web on which every hazard is played once, and four sites play none."""
    sites = len(SCENARIOS) + 4
    options = dataclasses.replace(
        PLAIN, hazardous=len(SCENARIOS) / sites, hang_s=1.0, retry_after_s=3, median_bytes=2_000, https=0.0
    )
    web = make_web(options, sites=sites, pages=500, largest=20)
    with serving(web, ServerSettings(tls=True)) as running:
        yield running


class Player:
    """One hazard, and a client for it."""

    def __init__(self, bed: Bed, name: str) -> None:
        self.bed = bed
        self.name = name
        self.site = next(site for site, played in bed.web.played.items() if played.scenario.name == name)
        self.played: Played = bed.web.played[self.site]
        self.base = bed.web.bases[self.site].decode()
        self.entry = list(self.played.scenario.links(self.played.place))
        """The addresses by which a crawler comes to it."""
        self.pages = list(bed.web.graph.pages_of(self.site))

    def get(self, url: str, *, cookie: str = "", agent: str = "tester/1", most: int = 1 << 30) -> Heard:
        """Ask for an address, over a connection of its own, which is closed after so many bytes."""
        url = self.base + url if url.startswith("/") else url
        host, _, path = url.partition("://")[2].partition("/")
        name = host.rpartition(":")[0]
        web = self.bed.web
        site = web.names.site_of(name.encode("idna"))
        address = "::1" if name == "[::1]" else web.names.addresses_of(site, name.encode("idna"))[-1]
        fields = f"Host: {host.encode('idna').decode()}\r\nUser-Agent: {agent}\r\nConnection: close\r\n"
        fields += f"Cookie: {cookie}\r\n" if cookie else ""
        try:
            client = socket.create_connection((address, self.bed.port), timeout=PATIENCE)
        except ConnectionResetError:  # who is reset when accepted may hear of it before it is connected
            return Heard(b"", reset=True)
        with client:
            return _read(client, f"GET /{path} HTTP/1.1\r\n{fields}\r\n".encode("latin-1"), most)

    def purpose(self, url: str) -> Purpose:
        """What an address is for."""
        return purpose_of(self.bed.web, self.base + url if url.startswith("/") else url)


def _read(client: socket.socket, request: bytes, most: int) -> Heard:
    text = b""
    try:
        client.sendall(request)
        while len(text) < most and (piece := client.recv(1 << 16)):
            text += piece
    except ConnectionError:
        return Heard(text, reset=True)
    return Heard(text, reset=False)


def calendar(player: Player) -> None:
    """Every month leads on, and no two are alike."""
    url, seen = player.entry[0], set()
    for _ in range(30):
        heard = player.get(url)
        seen.add(heard.body)
        assert len(heard.links) > 30
        url = heard.links[1]
    assert len(seen) == 30
    assert player.get("/calendar/2026/13/").status == 404


def session_ids(player: Player) -> None:
    """Without a cookie every link to the site has a session, and sessions end; with one there is none."""
    home, again = player.get("/"), player.get("/")
    own = [link for link in home.links if link.startswith("/")]
    assert own
    assert all("PHPSESSID=" in link for link in own)
    assert home.links != again.links
    assert "PHPSESSID=" not in "".join(player.get("/", cookie="PHPSESSID=1").links)
    found = player.purpose(own[0])
    assert (found.sort, found.page in player.pages) == (Sort.HAZARD, True)
    given = [f"{number:016x}" for number in range(40)]
    followed = [re.findall("PHPSESSID=(\\w+)", "".join(player.get(f"/?PHPSESSID={each}").links))[0] for each in given]
    assert 0 < sum(one != other for one, other in zip(given, followed, strict=True)) < 20


def listing(player: Player) -> None:
    """A folder in eight orders: the same names."""
    orders = [f"/pub/?C={column};O={order}" for column in "NMSD" for order in "AD"]
    names = [re.findall(r"<td><a href=\"([^\"]+)", player.get(url).body.decode()) for url in orders]
    assert {tuple(sorted(each)) for each in names} == {tuple(sorted(names[0]))}
    assert len({tuple(each) for each in names}) > 4
    assert {f"?C={column};O=D" for column in "NMSD"} <= set(player.get("/pub/").links)
    assert player.get("/pub/part-0/part-1/notes-3.txt").status == 200


def growing_urls(player: Player) -> None:
    """The same page at every depth."""
    deep = "/spider" * 40 + "/"
    assert player.get(deep).body == player.get("/spider/").body
    assert "spider/" in player.get(deep).links


def growing_queries(player: Player) -> None:
    """Each step makes the address longer."""
    url, lengths = player.entry[0], []
    for _ in range(20):
        url = player.get(url).links[0]
        lengths.append(len(url))
    assert lengths == sorted(set(lengths))


def dead_backend(player: Player) -> None:
    """All things in all catalogues are one page."""
    urls = player.get(player.entry[0]).links
    assert len([url for url in urls if "item" in url]) == 100
    answers = [player.get(url) for url in urls[:10]]
    assert {(heard.status, heard.body) for heard in answers} == {(200, answers[0].body)}


def soft_404(player: Player) -> None:
    """What never was is there, and leads on."""
    heard = player.get("/articles/never-was.html")
    assert (heard.status, len(heard.links)) == (200, 5)
    assert player.get(heard.links[0]).status == 200


def near_duplicates(player: Player) -> None:
    """Two of a story differ in a few words, two stories in most."""
    one, same, other = (player.get(f"/news/{number}.html").body.decode().split() for number in (3, 23, 4))
    assert 0 < sum(a != b for a, b in zip(one, same, strict=False)) < len(one) * 0.15
    assert sum(a != b for a, b in zip(one, other, strict=False)) > len(one) * 0.5


def wildcard_names(player: Player) -> None:
    """Any name exists, and leads to five that nobody has seen."""
    first = player.get(player.entry[0])
    second = player.get(first.links[0])
    assert len(set(first.links) | set(second.links)) == 10
    assert player.purpose(second.links[0]).scenario == player.name


def link_farm(player: Player) -> None:
    """Every domain links to others."""
    heard = player.get(player.entry[0])
    assert len([link for link in heard.links if "farm-" in link]) == 15
    assert player.get(player.played.place.url(f"farm-{FARM}")).status == 200
    assert player.bed.web.names.site_of(f"farm-{FARM + 1}-of-{player.site}.test".encode()) == -1


def mirrors(player: Player) -> None:
    """Each page under each name."""
    assert len(player.entry) == MIRRORS
    path = player.bed.web.path(player.pages[-1]).decode()
    copies = {player.get(url + path[1:]).body for url in player.entry}
    assert copies == {player.bed.web.body(player.pages[-1])}
    found = player.purpose(player.entry[1] + path[1:])
    assert (found.sort, found.page) == (Sort.HAZARD, player.pages[-1])


def www_bare(player: Player) -> None:
    """The same under both names."""
    assert player.get(player.entry[0]).body == player.get("/").body
    assert {"www." in player.entry[0], "www." in player.base} == {True, False}
    assert player.purpose(player.entry[0]).sort is Sort.HAZARD


def parked(player: Player) -> None:
    """One page under many domains."""
    urls = player.get(player.entry[0]).links
    assert len(urls) == PARKED
    assert len({player.get(url).body for url in urls[:5]}) == 1


def idn(player: Player) -> None:
    """The same site by its name in letters and in ASCII."""
    links = player.get(player.entry[0]).links
    letters, coded = links[0], next(link for link in links if "//xn--" in link)
    assert player.get(letters).body == player.get(coded).body
    assert b"b\xc3\xbccher-1" in player.get(letters).body


def ipv6(player: Player) -> None:
    """A page at ::1, where the machine has it."""
    links = player.get(player.entry[0]).links
    assert any("[::ffff:127.0.0.1]" in link for link in links)
    with contextlib.suppress(OSError), socket.create_connection(("::1", player.bed.port), timeout=PATIENCE):
        assert b"Six 0" in player.get(links[0]).body


def userinfo_ports(player: Player) -> None:
    """Odd ways to write addresses, behind which pages are."""
    links = player.get(player.entry[0]).links
    assert any("user:secret@" in link for link in links)
    assert any(link.endswith("\\door\\31.html") for link in links)
    assert player.get("/door/31.html").status == 200


def dead_address(player: Player) -> None:
    """Nobody is at the first address, and the site at the second."""
    first, second = player.bed.web.names.addresses_of(player.site, player.played.place.host.encode())
    assert first == DEAD
    with pytest.raises(OSError, match="unreachable"):
        socket.create_connection((first, player.bed.port), timeout=PATIENCE)
    assert second == player.bed.web.names.address(player.site)
    assert player.get("/").status == 200


def redirect_chain(player: Player) -> None:
    """Many redirects of every status, then a page."""
    url, statuses = player.entry[0], []
    while (heard := player.get(url)).status != 200:
        statuses.append(heard.status)
        url = heard.field("location")
    assert (len(statuses), set(statuses)) == (CHAIN, {301, 302, 303, 307, 308})


def redirect_loop(player: Player) -> None:
    """After three steps at most it is where it began."""
    for url in player.entry[:3]:
        seen = [player.base + url]
        while seen[-1] not in seen[:-1]:
            seen.append(player.get(seen[-1]).field("location"))
        assert len(seen) <= 4


def redirect_away(player: Player) -> None:
    """Home pages of other sites."""
    links = player.get(player.entry[0]).links
    targets = {player.get(link).field("location") for link in links[:20]}
    assert targets <= {base.decode() + "/" for base in player.bed.web.bases}
    assert len(targets) > 5


def redirect_cookie(player: Player) -> None:
    """To itself, until there is a cookie."""
    heard = player.get(player.entry[0])
    assert (heard.status, heard.field("location")) == (302, player.entry[0])
    assert player.get(player.entry[0], cookie=heard.field("set-cookie").partition(";")[0]).status == 200


def drip(player: Player) -> None:
    """A letter now and then, until the server has enough."""
    body = player.get(player.entry[0]).body
    assert 1 <= body.partition(b"<p>")[2].count(b"a") <= 5


def endless(player: Player) -> None:
    """As much as one likes to take."""
    assert len(player.get(player.entry[0], most=5_000_000).text) >= 5_000_000


def endless_headers(player: Player) -> None:
    """Lines, and never an empty one."""
    heard = player.get(player.entry[0])
    assert heard.text.count(b"X-Line-") > 5
    assert b"\r\n\r\n" not in heard.text


def header_flood(player: Player) -> None:
    """A megabyte of header, and a page behind it."""
    heard = player.get(player.entry[0])
    assert len(heard.head) > 1_000_000
    assert b"Behind the flood" in heard.body


def storm(player: Player) -> None:
    """Some requests are turned away, and come through another time; some never do."""
    status = int(player.name[-3:])
    answers = [player.get("/") for _ in range(60)]
    assert {heard.status for heard in answers} == {200, status}
    assert {player.get("/busy/0.html").status for _ in range(5)} == {status}
    assert player.get("/busy/0.html").field("retry-after") == "3"
    assert player.purpose("/").sort is Sort.GOOD


def bomb(player: Player) -> None:
    """Small on the wire, and all of it when it is decoded."""
    heard = player.get(player.entry[0])
    assert len(heard.body) < 200_000
    body = heard.body
    for coding in heard.field("content-encoding").split(", "):
        if coding == "br":
            body = brotli.decompress(body)
        elif coding == "zstd":
            body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        else:
            body = zlib.decompress(body, 31)
    assert len(body) >= EXPANDED


def wrong_type(player: Player) -> None:
    """What is said, and what it is."""
    assert len(player.entry) == len(WRONG)
    heard = player.get("/files/0")
    assert (heard.field("content-type"), heard.body[:15]) == ("image/png", b"<!DOCTYPE html>")
    assert (player.get("/files/8").field("content-type"), player.get("/files/8").body[:4]) == ("text/html", b"%PDF")
    assert player.get(heard.links[0]).status == 200


def missing_type(player: Player) -> None:
    """Nothing is said."""
    assert "content-type" not in player.get("/untyped/0").head.lower()
    assert player.get("/untyped/2").field("content-type") == ""
    assert player.get("/untyped/3").body.startswith(b"%PDF")


def misleading_type(player: Player) -> None:
    """Names that promise something else."""
    assert len(player.entry) == len(MISLEADING)
    assert player.get("/misled/0.jpg").field("content-type") == "text/html"
    assert player.get("/misled/2.html").body.startswith(b"%PDF")
    assert player.get("/misled/6.html").head.lower().count("content-type") == 2


def malformed_html(player: Player) -> None:
    """Each has its link, behind what is wrong."""
    assert len(player.entry) == len(MALFORMED)
    for number, url in enumerate(player.entry):
        assert b"/broken/inside-%d.html" % number in player.get(url).body
    assert player.get("/broken/inside-3.html").status == 200


def charset(player: Player) -> None:
    """What is said of each, and that it is in something else."""
    cases = CHARSETS[player.name]
    assert len(player.entry) == len(cases)
    for url, (said, true) in zip(player.entry, cases, strict=True):
        heard = player.get(url)
        assert "niño" in heard.body.decode(true) or "comi" in heard.body.decode(true)
        named = heard.field("content-type").encode("latin-1") + heard.body.replace(b"\0", b"")
        assert said in named
        assert bool(said) == (b"charset=" in named)


def cloaking(player: Player) -> None:
    """Others for a browser."""
    assert b"Science" in player.get("/show/0.html").body
    assert b"Casino" in player.get("/show/0.html", agent=BROWSER).body
    assert b"not supported" in player.get("/show/1.html").body


def js_links(player: Player) -> None:
    """No link that is one, and eight pages."""
    body = player.get(player.entry[0]).body.decode()
    assert not re.search(r'<a href="(?!#|javascript:)', body)
    assert all(player.get(f"/app/{number}.html").status == 200 for number in range(8))


def many_links(player: Player) -> None:
    """All of them, on one page."""
    assert player.get(player.entry[0]).body.count(b"<a href=") == MANY
    assert player.get(f"/all/{MANY - 1}").status == 200


def long_urls(player: Player) -> None:
    """They are there, and are answered."""
    links = player.get(player.entry[0]).links
    assert sum(len(link) >= LONG for link in links) == 5
    assert player.get(links[0]).status == 200
    assert player.purpose(links[0]).sort is Sort.HAZARD


def robots_broken(player: Player) -> None:
    """A kind for each domain."""
    assert len(player.entry) == len(KINDS)
    answers = {}
    for kind, url in zip(KINDS, player.entry, strict=True):
        answers[kind] = player.get(url + "robots.txt", most=3_000_000)
        assert player.get(url).status == 200
        assert player.purpose(url + "robots.txt").sort is Sort.ROBOTS
    assert (answers["500"].status, answers["loop"].field("location")) == (500, "/robots.txt")
    assert answers["bom"].body.startswith(b"\xef\xbb\xbfUser-agent")
    assert len(answers["endless"].text) >= 3_000_000
    assert answers["cut"].reset
    assert len({heard.text for heard in answers.values()}) == len(KINDS)


def wrong_length(player: Player) -> None:
    """Longer than the body, shorter, and none."""
    assert len(player.entry) == len(LENGTHS)
    heard = [player.get(url) for url in player.entry]
    assert int(heard[0].field("content-length")) > len(heard[0].body) > int(heard[1].field("content-length"))
    assert heard[4].head.count("Content-Length") == 2


def broken_chunks(player: Player) -> None:
    """Said to be in chunks, and not."""
    assert len(player.entry) == len(CHUNKS)
    assert all(player.get(url).field("transfer-encoding") == "chunked" for url in player.entry)
    assert player.get(player.entry[2]).body.startswith(b"zz\r\n")


def nul_bytes(player: Player) -> None:
    """Each has one."""
    assert all(b"\0" in player.get(url).text or b"%00" in player.get(url).text for url in player.entry)


def resets(player: Player) -> None:
    """At each stage what was sent before, and a reset; which overtakes what a client on a busy machine has not read."""
    for url, sent in zip(player.entry, STAGES, strict=False):
        for _ in range(50):
            heard = player.get(url)
            assert heard.reset
            assert sent.startswith(heard.text)
            if heard.text == sent:
                break
        else:
            pytest.fail(f"{url}: what was sent before the reset never came")
    heard = player.get(player.entry[-1])
    assert (heard.text, heard.reset) == (b"", True)


def tls(player: Player) -> None:
    """What is wrong with it a careful client sees; a careless one gets the page."""
    host = player.entry[0].partition("://")[2].partition(":")[0]
    address = player.bed.web.names.addresses_of(player.site, host.encode())[0]
    careful = ssl.create_default_context(cafile=str(player.bed.ca_file))
    careful.minimum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection((address, player.bed.tls_port), timeout=PATIENCE) as raw, pytest.raises(ssl.SSLError):
        careful.wrap_socket(raw, server_hostname=host)
    careless = ssl.create_default_context()
    careless.check_hostname, careless.verify_mode = False, ssl.CERT_NONE
    careless.set_ciphers("ALL:@SECLEVEL=0")
    if player.name == "tls-old":
        careless.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with (
        socket.create_connection((address, player.bed.tls_port), timeout=PATIENCE) as raw,
        careless.wrap_socket(raw, server_hostname=host) as client,
    ):
        assert (client.version() in {"TLSv1", "TLSv1.1"}) == (player.name == "tls-old")
        text = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        assert len(_read(client, text.encode(), 1 << 20).links) == 3


CHECKS: dict[str, Callable[[Player], None]] = {
    "storm-429": storm,
    "storm-503": storm,
    **{scenario.name: bomb for scenario in SCENARIOS if scenario.name.startswith("bomb-")},
    **{scenario.name: charset for scenario in SCENARIOS if scenario.name.startswith("charset-")},
    **{scenario.name: tls for scenario in SCENARIOS if scenario.name.startswith("tls-")},
}


@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_scenario__serves_what_it_says(bed: Bed, name: str) -> None:
    """By a check of its own; and its site's own pages are there, and are good."""
    player = Player(bed, name)
    check: Any = CHECKS.get(name) or globals()[name.replace("-", "_")]
    check(player)
    url = bed.url(player.pages[-1])
    assert player.purpose(url) == Purpose(Sort.GOOD, name, player.pages[-1])
    assert any(player.get(url, cookie="a=b").status == 200 for _ in range(20))


def test_scenarios__stand_in_the_log_by_their_names(bed: Bed) -> None:
    """What was asked for can be told afterwards, by the address alone."""
    player = Player(bed, "soft-404")
    player.get("/articles/in-the-log.html", agent="logged/1")
    (entry,) = (each for each in bed.log() if each.agent == "logged/1" and each.event == "request")
    assert (entry.kind, purpose_of_entry(bed.web, entry)) == ("soft-404", Purpose(Sort.HAZARD, "soft-404", -1))
