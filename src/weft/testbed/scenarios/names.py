"""Names: sites that are none, sites that are there several times, and addresses that are written in odd ways."""

from __future__ import annotations

from weft.testbed.answers import Answer, plain_answer
from weft.testbed.scenarios.scenario import Ask, Place, Scenario, number_in, page, sheet

FARM, PARKED, MIRRORS = 100, 60, 3
"""Domains of a farm, parked ones, and copies of a site."""

_SCRIPTS = ("bücher", "пример", "例え")


def _wildcard(ask: Ask) -> Answer | None:
    """A doorway under any name below the site's, with links to names nobody has seen."""
    place = ask.place
    if not ask.label:
        return None
    end = "" if place.port == 80 else f":{place.port}"
    links = [f"http://{place.draw('name', ask.label, each):016x}.{place.host}{end}/" for each in range(5)]
    return page("wildcard-names", sheet(place, "Welcome", links, draw=place.draw("doorway")))


def _first_name(place: Place) -> list[str]:
    end = "" if place.port == 80 else f":{place.port}"
    return [f"http://any.{place.host}{end}/"]


def _farm(ask: Ask) -> Answer | None:
    """A domain of a farm: some pages, and links to the others."""
    place = ask.place
    if not ask.label:
        return None
    number, path = int(ask.label.partition("-")[2]), ask.path.decode("latin-1")
    if path != "/" and not 0 <= number_in(ask.path, b"/offer-", b".html") < 5:
        return plain_answer(404, "link-farm")
    links = [f"/offer-{each}.html" for each in range(5)] + [place.base + "/"]
    links += [place.url(f"farm-{1 + (number + each * each * 3) % FARM}") for each in range(1, 16)]
    return page("link-farm", sheet(place, f"Best offers {number}", links, draw=place.draw("farm", number, path)))


def _same(ask: Ask) -> Answer | None:  # noqa: ARG001
    """What the site itself answers, under whichever name."""
    return None


def _copy(ask: Ask) -> int:
    """The page of the site that one of its further names shows."""
    return ask.place.find(ask.path) if ask.label else -1


def _twin(place: Place) -> list[str]:
    scheme, _, rest = place.base.partition("://")
    twin = rest.removeprefix("www.") if rest.startswith("www.") else f"www.{rest}"
    return [f"{scheme}://{twin}/"]


def _parked(ask: Ask) -> Answer:
    """The one page of all domains that are for sale, or the list of them."""
    place = ask.place
    if not ask.label:
        links = [place.url(f"parked-{each}") for each in range(1, PARKED + 1)]
        return page("parked", sheet(place, "Friends", links, draw=place.draw("friends")))
    body = b"<html><head><title>For sale</title></head><body><h1>This domain is for sale</h1></body></html>\n"
    return page("parked", body)


def _scripts(ask: Ask) -> Answer:
    """Sites with names of other scripts, and a page that writes these in every way there is."""
    place = ask.place
    if ask.label:
        links = [f"/{number}.html" for number in range(3)]
        return page("idn", sheet(place, ask.label, links, draw=place.draw("idn", ask.label, ask.path)))
    if ask.path != b"/names/":
        return plain_answer(404, "idn")
    plain = [place.url(f"{script}-1", "/") for script in _SCRIPTS]
    coded = [_ascii(place, script) for script in _SCRIPTS]
    upper = [url.replace("bücher", "BÜCHER").replace("xn--", "XN--") for url in (plain[0], coded[0])]
    dotted = [plain[0].replace(".", "\u3002", 1), plain[1].replace(".", "\uff0e", 1)]
    percent = [plain[0].replace("ü", "%C3%BC")]
    bad = ["http://xn--a/", "http://xn--99999999999/", f"http://{'ü' * 70}.{place.tld}/", "http://\u200d.test/"]
    return page("idn", sheet(place, "Names", [*plain, *coded, *upper, *dotted, *percent, *bad], draw=1))


def _ascii(place: Place, script: str) -> str:
    """An address with its name as DNS knows it."""
    scheme, _, rest = place.url(f"{script}-1").partition("://")
    name, dot, end = rest.partition(".")
    return f"{scheme}://{name.encode('idna').decode()}{dot}{end}"


def _literal(ask: Ask) -> Answer:
    """Pages at the address ::1, and a page that writes it in every way there is."""
    place = ask.place
    number = number_in(ask.path, b"/six/", b".html")
    if 0 <= number < 5:
        return page("ipv6", sheet(place, f"Six {number}", [f"/six/{number + 1}.html"], draw=place.draw("six", number)))
    if ask.path != b"/six/":
        return plain_answer(404, "ipv6")
    hosts = ["[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::0.0.0.1]", "[::1%25lo]", "[::ffff:127.0.0.1]"]
    hosts += ["[::1", "::1", "[1::2::3]", "[12345::]", "[]", "[fe80::1]", "[2001:db8::1]"]
    links = [f"http://{host}:{place.port}/six/0.html" for host in hosts]
    return page("ipv6", sheet(place, "Six", links, draw=2))


def _odd(ask: Ask) -> Answer:
    """Pages whose addresses are written with users, passwords and odd ports."""
    place = ask.place
    number = number_in(ask.path, b"/door/", b".html")
    if 0 <= number < 40:
        return page("userinfo-ports", sheet(place, f"Door {number}", draw=place.draw("door", number)))
    if ask.path != b"/door/":
        return plain_answer(404, "userinfo-ports")
    host, port = place.host, place.port
    before = ["user@", "user:secret@", ":@", "a@b@", "user%40:x@", "@", "http:", "user:pa/ss@"]
    ends = [f":0{port}", f":{port}0", ":", ":0", ":25", ":99999", ":-1", ":http", f":{port}.", f":{port}:{port}"]
    links = [f"http://{user}{host}:{port}/door/{number}.html" for number, user in enumerate(before)]
    links += [f"http://{host}{end}/door/{10 + number}.html" for number, end in enumerate(ends)]
    odd = [f"HTTP://{host.upper()}:{port}/door/30.html", f"http:\\\\{host}:{port}\\door\\31.html"]
    odd += [f"//{host}:{port}/door/32.html", f"http:/{host}:{port}/door/33.html", f"http://{host}.:{port}/door/34.html"]
    return page("userinfo-ports", sheet(place, "Doors", links + odd, draw=3))


NAMES = (
    Scenario(
        name="wildcard-names",
        about="every name below the site's exists, is the same doorway, and leads to five more",
        source="P3 4.1, 5.4",
        family="names",
        below=True,
        links=_first_name,
        answer=_wildcard,
    ),
    Scenario(
        name="link-farm",
        about=f"{FARM} domains that link to one another and to the site",
        source="P3 4.1 (traps to boost a site's place); Gyöngyi and Garcia-Molina 2005",
        family="names",
        names={"farm": FARM},
        links=lambda place: [place.url("farm-1"), place.url("farm-2")],
        answer=_farm,
    ),
    Scenario(
        name="mirrors",
        about=f"{MIRRORS} further domains with all the pages of the site",
        source="P3 4.3 table 2; Bharat et al. 2000",
        family="names",
        names={"mirror": MIRRORS},
        links=lambda place: [place.url(f"mirror-{number}") for number in range(1, MIRRORS + 1)],
        answer=_same,
        copied=_copy,
    ),
    Scenario(
        name="www-bare",
        about="the site under its name with www. and without",
        source="P3 4.3 table 3 (51 % of the duplicate hosts)",
        family="names",
        twin=True,
        links=_twin,
        answer=_same,
        copied=_copy,
    ),
    Scenario(
        name="parked",
        about=f"{PARKED} domains with one page, which says that they are for sale",
        source="P3 4.3 (domain squatting, temporary sites)",
        family="names",
        prefix=b"/friends/",
        names={"parked": PARKED},
        links=lambda _: ["/friends/"],
        answer=_parked,
    ),
    Scenario(
        name="idn",
        about="names in other scripts, written in Unicode, in ASCII, in capitals, in percent, and wrongly",
        source="RFC 5890; UTS 46",
        family="names",
        prefix=b"/names/",
        names=dict.fromkeys(_SCRIPTS, 1),
        links=lambda _: ["/names/"],
        answer=_scripts,
    ),
    Scenario(
        name="ipv6",
        about="the address ::1 in every spelling, and addresses that are none",
        source="RFC 3986 3.2.2; RFC 5952",
        family="names",
        prefix=b"/six/",
        literal=True,
        links=lambda _: ["/six/"],
        answer=_literal,
    ),
    Scenario(
        name="userinfo-ports",
        about="addresses with users, passwords, backslashes and ports that are odd or none",
        source="RFC 3986 3.2.1; the URL standard",
        family="names",
        prefix=b"/door/",
        links=lambda _: ["/door/"],
        answer=_odd,
    ),
    Scenario(
        name="dead-address",
        about="the site's name has two addresses, and nobody is at the first",
        source="RFC 1123 2.3; decision 0029",
        family="names",
        dead_first=True,
        links=lambda _: [],
        answer=_same,
    ),
)
