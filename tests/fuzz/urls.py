"""URLs: a text has a normal form or a reason, whatever it is, and the normal form is what all else relies on.

The first line of an input is a base, where there is a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.corpora import lines, strings
from tests.fuzz.target import Target, texts, words

from weft.urls import (
    PLAIN_RULES,
    Unusable,
    UrlRules,
    completed,
    credentials_of,
    extension,
    fingerprint,
    host_of,
    is_dynamic,
    literal_address,
    network_of,
    normal_form,
    origin_of,
    registered_domain,
    site_of,
    special_range,
    split,
    surt,
    target_of,
    web_port,
    without_credentials,
)
from weft.urls.normal import _parsed

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

BASES = ("http://example.org/a/b?c", "https://example.org:8080/", "http://[2001:db8::1]/%41/..;x", "about:blank")
ALL_RULES = UrlRules(add_www=True, drop_index=True)


def check(data: bytes) -> None:
    """Every question that is asked about URLs."""
    first, _, rest = data.partition(b"\n")
    text, other = first.decode("utf-8", "surrogateescape"), rest.decode("utf-8", "surrogateescape")
    _check_form(text)
    for base in (BASES[len(data) % len(BASES)], text):
        resolved = normal_form(other, base)
        assert resolved == _parsed(other, base), "gluing a link to its base is not what the parser does"
        _check_url(resolved, len(base) + len(other))
    _check_form(completed(text))
    without_credentials(text)
    bare, _ = credentials_of(text)
    assert normal_form(bare) is not Unusable.CREDENTIALS


def _check_form(text: str) -> None:
    url = normal_form(text)
    assert url == _parsed(text, None), "what seemed to be in normal form is not"
    _check_url(url, len(text))


def _check_url(url: str | Unusable, length: int) -> None:
    """A normal form stays itself, can be taken apart and put together, and has an answer for every question."""
    if isinstance(url, Unusable):
        assert url.sentence
        return
    assert url.isascii()
    assert url.startswith(("http://", "https://"))
    assert "#" not in url
    assert len(url) <= 12 * length + 100
    assert normal_form(url) == url, "the normal form has another normal form"
    for rules in (UrlRules(), ALL_RULES):
        simpler = normal_form(url, rules=rules)
        assert isinstance(simpler, str)
        assert normal_form(simpler, rules=rules) == simpler, f"{rules} are not done after one time"
        assert normal_form(simpler, rules=PLAIN_RULES) == simpler, f"what {rules} make of it is not in normal form"
    _check_parts(url)


def _check_parts(url: str) -> None:
    scheme, host, port, target = split(url)
    usual = {"http": 80, "https": 443}[scheme]
    assert url == f"{scheme}://{host}{'' if port == usual else f':{port}'}{target}"
    assert origin_of(url) + target_of(url) == url
    site = site_of(url)
    assert host_of(site) == host
    domain = registered_domain(site)
    assert host == domain or host.endswith(f".{domain}"), (host, domain)
    assert web_port(port) in (True, False)
    address = literal_address(host)
    if address is not None:
        special_range(address)
        network_of(address)
    key = surt(url)
    assert key.isascii()
    assert " " not in key
    assert 0 <= fingerprint(url) < 2**64
    assert extension(url) == extension(url).lower()
    is_dynamic(url)


def real(data: Path) -> list[bytes]:
    """URLs, as people have written them down."""
    found = [*lines(data / "traps-ics-urls" / "urls.txt.gz")]
    for path in sorted((data / "url-crawlercommons").glob("*.csv")):
        found += [line.replace(b",", b"\n", 1) for line in lines(path)]
    found += lines(data / "url-misc" / "nutch-regex-normalize-default.test.txt")
    for path in sorted((data / "url-urlcanon").glob("*.json")):
        found += strings(path)
    found += strings(data / "url-misc" / "wpt-toascii.json")
    return found + strings(data / "url-w3lib" / "vectors.jsonl")


def grammar() -> SearchStrategy[bytes]:
    """Parts of URLs in their order, some of them wrong."""
    from hypothesis import strategies as st

    some = st.sampled_from
    host = st.lists(
        some(
            [
                *texts(
                    r"example org www xn--bcher-kva b\xc3\xbccher 127.0.0.1 0x7f [::1] \xe3\x80\x82 \xc3\x9f %41 "
                    r"\xe2\x80\x8d 1 _ -"
                ),
                "",
                "a" * 64,
            ]
        ),
        min_size=1,
        max_size=4,
    ).map(".".join)
    piece = some(
        texts(
            r"a .. . %2e %2E%2e % %4 %%36%31 \xc3\xa9 \xed\xa0\x80 index.html ;jsessionid=1A "
            r"?PHPSESSID=1&sid=0123456789abcdef0 ?C=N;O=D = & # ? / \x5c \t \x20 \x22 | %e4 ~ (a) .aspx "
            r"\xf0\x9f\x98\x80"
        )
    )
    path = st.lists(piece, max_size=6).map("/".join) | st.lists(piece, max_size=6).map("".join) | st.text(max_size=20)
    port = some([*texts(r":80 :443 :8080 :0 :65535 :65536 : :x"), "", ""])
    scheme = some([*texts(r"http:// https:// HTTP:\x5c\x5c // http: ftp:// h\nttps:// http:/// mailto:"), ""])
    user = some([*texts(r"u@ u:p@ :@ @"), "", "", ""])
    url = st.tuples(scheme, user, host, port, some(["/", "", "?", "#", "\\"]), path).map("".join)
    return st.tuples(url, some(["\n", "\n", ""]), url | path).map(
        lambda parts: "".join(parts).encode("utf-8", "surrogatepass")
    )


TARGET = Target(
    check,
    own=(
        b"http://Example.ORG:80/a/../%7eb%c3%a9?q=%41#top",
        b"http://example.org/a/\n../c.html?x=1",
        b"http://[::ffff:127.0.0.1]:8080/x;jsessionid=1?sid=0123456789abcdef0123&y",
        b"https://xn--bcher-kva.example/%%36%31",
        b"http://0x7f.1/?C=N;O=D",
    ),
    real=real,
    words=words(
        r"http:// https:// // /../ /./ %2e % xn-- [::1] 127.1 :80 :443 ? # @ \x5c sid= PHPSESSID= ?C=N;O=D "
        r"index.html www. \n .aspx \xc3\x9f \xe3\x80\x82 \xe2\x80\x8d %E4 %7E %41"
    ),
    grammar=grammar,
    largest=20_000,
)
