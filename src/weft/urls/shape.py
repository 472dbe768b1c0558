"""What the look of a URL tells about its page. In: a URL in normal form. Out: guesses, never certainties.

P1 (section 4.1) tells dynamic pages, which a crawl follows less deep, by a question mark or a known file name
extension; the list is ours.

>>> extension("https://example.org/a.b/Report.PDF?x=y.z"), is_dynamic("https://example.org/shop/item.php")
('pdf', True)
"""

from __future__ import annotations

# Programs that answer, by the extension they usually leave in the URL: CGI and its scripts (cgi, fcgi, pl,
# py, rb, dll, exe), PHP (php and its numbered versions, phtml), Microsoft (asp, aspx, ashx, asmx, axd), Java
# (jsp, jspx, jspa, jsf, faces, do, action, seam), ColdFusion (cfm, cfml, cfc), Lotus Domino (nsf), WebObjects
# (woa).
DYNAMIC_EXTENSIONS = frozenset(
    {"cgi", "fcgi", "pl", "py", "rb", "dll", "exe"}
    | {"php", "php3", "php4", "php5", "php7", "phtml"}
    | {"asp", "aspx", "ashx", "asmx", "axd"}
    | {"jsp", "jspx", "jspa", "jsf", "faces", "do", "action", "seam"}
    | {"cfm", "cfml", "cfc", "nsf", "woa"}
)

_LONGEST_EXTENSION = 10


def extension(url: str) -> str:
    """The extension of the path's last segment in lower case without its dot, or "" where there is none.

    >>> extension("https://example.org/"), extension("https://example.org/.htaccess"), extension("https://e.org/v1.2/")
    ('', '', '')
    """
    path = url.partition("?")[0]
    name = path[path.rindex("/") + 1 :]
    stem, dot, last = name.rpartition(".")
    return last.lower() if dot and stem and len(last) <= _LONGEST_EXTENSION else ""


def is_dynamic(url: str) -> bool:
    """Whether the page is probably made when it is asked for: it has a question mark or a known extension."""
    return "?" in url or extension(url) in DYNAMIC_EXTENSIONS
