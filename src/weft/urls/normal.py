"""The normal form of a URL. In: any text that should be a link. Out: the one spelling we keep, or why not.

Two spellings that the standards call the same resource come out as one text, so that equality of texts is
equality of URLs everywhere behind this door. Parsing and resolution are those of the WHATWG URL standard,
which is what browsers do (by ada); on top of it come the nine rules of P3, section 3.4:

1. hexadecimal digits of percent triplets in upper case;
2. percent-encoded unreserved characters (letters, digits, ``-._~``) decoded;
3. host name in lower case, 4. dot segments resolved, 5. default port and 6. empty path mended, 7. fragment
   removed;
8. ``www.`` put before a bare registered domain (switch, off);
9. well-known trailing file names removed (switch, off).

A crawl has two further switches, on unless it is told otherwise: ids of sessions are removed, and the orders in which
Apache lists a folder are one (P3 names both among the traps).

What a server could tell apart stays apart: the order of query parameters, doubled slashes, an empty query, a
stray ``%``. Three things go beyond the rules. A URL with a user name or password has no normal form: a crawler must
not use the credentials that a link happens to carry, and the page they guard is not public; a seed's are taken off
before (`credentials_of`). One dot at the end of a host name is dropped: ``example.org.`` is the same name in the DNS,
and as a second site it would get a second share of politeness. And a name that the DNS could not hold (RFC 1035: a
label is 1 to 63 octets long, a name at most 253) is refused; the URL standard leaves that to whoever resolves it.

Invariant: ``normal_form(normal_form(text)) == normal_form(text)``, no text raises, and the time is linear in
its length.

>>> normal_form("HTTP://Example.ORG:80/a/../%7eb%c3%a9?q=%41#top")
'http://example.org/~b%C3%A9?q=A'
>>> normal_form("../c.html?x=1", base="https://example.org/a/b/")
'https://example.org/a/c.html?x=1'
>>> normal_form("mailto:someone@example.org")
<Unusable.SCHEME: 'scheme'>
>>> normal_form("http://example.org/index.html", rules=UrlRules(add_www=True, drop_index=True))
'http://www.example.org/'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, Self
from urllib.parse import unquote

from ada_url import URL, join_url, normalize_url

from weft.settings import setting
from weft.urls.site import registrable


class Unusable(StrEnum):
    """Why a text has no normal form; `sentence` says it for a person."""

    sentence: str

    NO_SCHEME = "no-scheme", "It does not begin with a scheme, and no usable base says what it is relative to"
    SCHEME = "scheme", "Its scheme is neither http nor https"
    HOST = "host", "Its host name is missing, too long or cannot be one, or its port is not a number up to 65535"
    CREDENTIALS = "credentials", "It carries a user name or password, which only a seed may do"

    def __new__(cls, word: str, sentence: str) -> Self:
        """A member whose value is the word."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.sentence = sentence
        return member


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlRules:
    """The rules that trade a few lost pages for fewer duplicates."""

    add_www: bool = setting(False, "put www. before host names that are bare registered domains")
    drop_index: bool = setting(False, "remove index.html and its like from the end of a path")
    drop_sessions: bool = setting(True, "remove ids of sessions (jsessionid, PHPSESSID, sid …) from URLs")
    drop_orders: bool = setting(True, "remove what orders a server's list of a folder (?C=N;O=D)")


PLAIN_RULES = UrlRules(drop_sessions=False, drop_orders=False)

# Most links are already in normal form, or are a path made of characters that no rule touches. These patterns
# recognise them for a third of what parsing costs; whatever they do not recognise goes to the parser. The
# quote is missing because the standard encodes it in queries; of the triplets only those are here that no
# rule decodes. The repetitions are possessive: they never back up, so that no text takes more than linear
# time.
_CHARACTERS = r"A-Za-z0-9._~!$&()*+,;=@/?\-"
_TRIPLET = r"%(?:20|[89A-F][0-9A-F])"
_ANYTHING = rf"[{_CHARACTERS}:]*+(?:{_TRIPLET}[{_CHARACTERS}:]*+)*+"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
# Short labels, and few of them: what might be too long for a name goes to the parser.
_HOST = rf"(?:(?:[a-z0-9_\-]{{1,30}}\.){{1,7}}+[a-z]{{2,30}}|(?:{_OCTET}\.){{3}}{_OCTET})"
_PORT = r"(?::(?!(?:80|443)(?:/|\Z))(?:[1-9][0-9]{1,3}|[1-5][0-9]{4}))?"  # not the usual ones, which go away
_is_normal = re.compile(rf"https?://{_HOST}{_PORT}(?:/{_ANYTHING}|())").fullmatch  # the group is there for no path
_is_plain_path = re.compile(rf"/(?!/){_ANYTHING}").fullmatch
_is_plain_relative = re.compile(rf"[A-Za-z0-9_?][{_CHARACTERS}]*+(?:{_TRIPLET}[{_CHARACTERS}]*+)*+").fullmatch

_triplet = re.compile(r"%([0-9A-Fa-f]{2})")
_unfinished_triplet = re.compile(r"%(?:[0-9A-F]?[a-f]|[a-f][0-9A-F]|2[DE]|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E)").search
_stray_percent = re.compile(r"%(?![0-9A-Fa-f]{2})")
_scheme = re.compile(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.\-\t\r\n]*):")
_LABEL = r"[^.:/]{1,63}"
_has_host = re.compile(rf"https?://(?:\[|(?![^:/]{{254}})(?:{_LABEL}\.)*+{_LABEL}[:/])").match
_index_name = re.compile(r"/(?:index|default)\.(?:[spx]?html?|php\d?|aspx?|jsp[ax]?|jsf|cfm|cgi)\Z", re.IGNORECASE)
# Names that stand for a session alone; those that may mean something else count with a value that is plainly an id.
_SESSION = (
    r"(?:jsessionid|phpsessid|aspsessionid[a-z]{0,16}|oscsid|zenid|cfid|cftoken)=[^&;/?]*+"
    r"|(?:sid|sessid|sessionid|session_id|session)="
    r"(?:[0-9a-f\-]{16,64}|(?=[A-Za-z_\-]*[0-9])(?=[0-9_\-]*[A-Za-z])[0-9A-Za-z_\-]{20,64})"
)
_may_have_session = re.compile(r"[?&;](?:\w{0,4}sess|sid|oscsid|zenid|cfid|cftoken)", re.IGNORECASE).search
_in_path = re.compile(rf";(?:{_SESSION})(?![^;/])", re.IGNORECASE)
_is_session = re.compile(_SESSION, re.IGNORECASE).fullmatch
_parameters = re.compile("([&;])")
_order = re.compile(r"\?(?:C=[NMSD][;&]O=[AD]|[NMSD]=[AD])\Z")
_NO_BREAKS = str.maketrans("", "", "\t\r\n")  # the parser ignores them anywhere
_userinfo = re.compile(r"(//|^(?!mailto:)[^/?#\s:@]+:)[^/?#\s]*@")
_odd_surrogate = re.compile("[\ud800-\udfff]")

_HEX = "0123456789ABCDEFabcdef"
_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
# Every triplet's digits in every case → what stands in the normal form.
_DECODED = {
    high + low: (octet if (octet := chr(int(high + low, 16))) in _UNRESERVED else f"%{high}{low}".upper())
    for high in _HEX
    for low in _HEX
}
# Beside a stray percent sign a decoded digit could complete a new triplet ("%%36%31" → "%61" → "a"): digits
# stay encoded.
_DECODED_BESIDE_STRAY = {digits: (f"%{digits}".upper() if text in _HEX else text) for digits, text in _DECODED.items()}


def normal_form(text: str, base: str | None = None, rules: UrlRules = PLAIN_RULES) -> str | Unusable:
    """The normal form of `text`, resolved against `base` where it is relative, or the reason why it has none.

    >>> normal_form("http:///") is Unusable.HOST
    True
    """
    head = text[: text.index("#")] if "#" in text else text
    if "/." in head or "xn--" in head:
        url = _parsed(text, base)
    elif head.startswith("http"):
        match = _is_normal(head)
        url = _parsed(text, base) if match is None else head + "/" if match.lastindex else head
    elif base is not None:
        url = _joined(head, base) or _parsed(text, base)
    else:
        url = _parsed(text, base)
    if rules is PLAIN_RULES or isinstance(url, Unusable):
        return url
    if "=" not in url and not (rules.add_www or rules.drop_index):  # as most are
        return url
    return _heuristics(url, rules)


def completed(written: str) -> str:
    """A seed as somebody wrote it, as a URL: a host name alone means its home page.

    >>> completed("example.org"), completed("https://example.org/a"), completed("mailto:x")
    ('http://example.org', 'https://example.org/a', 'mailto:x')
    """
    return written if ":" in written.partition("/")[0] else f"http://{written}"


def credentials_of(text: str) -> tuple[str, tuple[str, str] | None]:
    """A URL without its user name and password, and these, if it has them.

    >>> credentials_of("http://me:p%40ss@example.org/a"), credentials_of("http://example.org/@a")
    (('http://example.org/a', ('me', 'p@ss')), ('http://example.org/@a', None))
    """
    if "@" not in text:
        return text, None
    try:
        url = URL(_odd_surrogate.sub(_octet, text))  # as `normal_form` reads it
    except ValueError:
        return text, None
    if not (url.username or url.password):
        return text, None
    found = unquote(url.username), unquote(url.password)
    url.username = url.password = ""
    return url.href, found


def without_credentials(text: str) -> str:
    """A text that may be a URL, to be shown to people: what stands for a user and password is left out.

    >>> without_credentials("ftp://me:secret@example.org/")
    'ftp://…@example.org/'
    """
    return _userinfo.sub(r"\1…@", text)


class _Anchors(NamedTuple):
    """What plain links on a page are glued to; None where gluing would not be resolving."""

    origin: str | None
    folder: str | None
    document: str | None


@lru_cache(maxsize=1024)
def _anchors(base: str) -> _Anchors:
    """What goes before a root-relative path, a relative path and a query, for bases in normal form."""
    match = _is_normal(base)
    plain = match is not None and not match.lastindex and "/." not in base and "xn--" not in base
    if not plain and _parsed(base, None) != base:
        return _Anchors(None, None, None)
    origin = base[: base.index("/", 8)]
    if "%" in base:  # a stray percent sign makes rule 2 depend on the rest of the URL: that takes the parser
        return _Anchors(origin, None, None)
    document = base.partition("?")[0]
    return _Anchors(origin, document[: document.rindex("/") + 1], document)


def _joined(head: str, base: str) -> str | None:
    """A plain link glued to its base, or None where that takes a parser."""
    anchors = _anchors(base)
    if not head:
        return anchors.origin and base
    if _is_plain_path(head):
        return anchors.origin and anchors.origin + head
    if _is_plain_relative(head):
        if head[0] == "?":
            return anchors.document and anchors.document + head
        return anchors.folder and anchors.folder + head
    return None


def _parsed(text: str, base: str | None) -> str | Unusable:
    """The normal form by rules 1 to 7, by way of the parser."""
    try:
        url = normalize_url(text) if base is None else join_url(base, text)
    except ValueError:
        return _second_try(text, base)
    if not url.startswith(("http://", "https://")):
        return Unusable.SCHEME
    if "#" in url:
        url = url[: url.index("#")]
    path = url.index("/", 8)
    if "@" in url and url.find("@", 7, path) >= 0:
        return Unusable.CREDENTIALS
    if url[path - 1] == "." or ".:" in url[:path]:
        url = _without_last_dot(url, path)
    if not _has_host(url):
        return Unusable.HOST
    if "%" in url and _unfinished_triplet(url):
        decoded = _DECODED_BESIDE_STRAY if _stray_percent.search(url) else _DECODED
        url = _triplet.sub(lambda match: decoded[match[1]], url)
    return url


def _second_try(text: str, base: str | None) -> str | Unusable:
    """What can still be made of a text that the parser refused, or the reason for the refusal."""
    mended = _odd_surrogate.sub(_octet, text)
    if mended != text:
        return _parsed(mended, base)
    if base is not None:
        alone = _parsed(text, None)  # a link must not be lost because the base of its page is broken
        if alone is Unusable.NO_SCHEME and not isinstance(_parsed(base, None), Unusable):
            return Unusable.HOST  # against a good base only a bad host ("//exa mple/") fails
        return alone
    scheme = _scheme.match(text)
    if not scheme:
        return Unusable.NO_SCHEME
    return Unusable.HOST if scheme[1].translate(_NO_BREAKS).lower() in {"http", "https"} else Unusable.SCHEME


def _octet(match: re.Match[str]) -> str:
    """A byte that was no UTF-8 (decoded with `surrogateescape`) as a triplet; half a pair as U+FFFD."""
    code = ord(match[0])
    return f"%{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else "\ufffd"


def _without_last_dot(url: str, path: int) -> str:
    """The URL with one dot less at the end of its host name."""
    host, colon, port = url[:path].partition(".:")
    if not colon:
        host = url[: path - 1]
    return f"{host}:{port}{url[path:]}" if colon else host + url[path:]


def _without_session(url: str) -> str:
    """The URL without ids of sessions; a query that was nothing else goes too.

    >>> _without_session("http://a/b;jsessionid=1A2B?x=1&PHPSESSID=9&y=2"), _without_session("http://a/?sid=7")
    ('http://a/b?x=1&y=2', 'http://a/?sid=7')
    """
    if _may_have_session(url) is None:
        return url
    path, mark, query = url.partition("?")
    path = _in_path.sub("", path)
    if not mark:
        return path
    first, *others = _parameters.split(query)  # each of the others behind its separator
    kept = [] if _is_session(first) else [first]
    for separator, written in zip(others[::2], others[1::2], strict=True):
        if not _is_session(written):
            kept.append(separator + written if kept else written)
    return f"{path}?{''.join(kept)}" if kept else path


def _heuristics(url: str, rules: UrlRules) -> str:
    """Rules 8 and 9, and what traps are made of. A name with a query behind it is not trailing: it stays."""
    if "=" in url:
        if rules.drop_sessions:
            url = _without_session(url)
        if rules.drop_orders and url[-2:-1] == "=":
            url = _order.sub("", url)
    if rules.drop_index and "?" not in url:
        url = _index_name.sub("/", url)
    if rules.add_www:
        start = url.index("/") + 2
        host = url[start : url.index("/", start)].partition(":")[0]
        if not host.startswith("www.") and registrable(host) == host:
            url = f"{url[:start]}www.{url[start:]}"
    return url
