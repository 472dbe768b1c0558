r"""Links in JavaScript, by pattern (P3 4.2). In: a page's bytes. Out: what looks like a URL there.

No script is run. What is quoted and is an absolute URL, or a path with a slash in it whose file name is one of a page
or that ends in a slash, is taken, in scripts, in handlers (`onclick=…`), in `javascript:` links and in choices
(`<option value=…>`). What a script puts together from pieces is not found; what is found may lead nowhere.

>>> script_links(rb'''<a href="javascript:location='/a.html'">x</a><script>u='http:\/\/b.example\/c';</script>''')
['/a.html', 'http://b.example/c']
>>> script_links(b"<script>var type = 'text/css', half = '/', re = '/x/g';</script>")
[]
"""

from __future__ import annotations

import re

_MOST = 1_000  # of a page
# Every repetition is bounded or possessive: no page takes more than linear time.
_QUOTED = rb"(\"[^\"]{0,2000}+\"|'[^']{0,2000}+')"
_places = re.compile(
    rb"<script\b[^>]{0,500}+>((?:(?!</script).)*+)"
    rb"|\bon[a-z]{3,20}+\s{0,9}+=\s{0,9}+"
    + _QUOTED
    + rb"|\bhref\s{0,9}+=\s{0,9}+(?=.{0,9}javascript:)"
    + _QUOTED
    + rb"|<option\b[^>]{0,100}?\bvalue\s{0,9}+=\s{0,9}+"
    + _QUOTED,
    re.DOTALL | re.IGNORECASE,
)
_quoted = re.compile(rb"[\"']([A-Za-z0-9._~!$&()*+,;=:@%/?\-]{2,1000}+)(?=[\"'])")
_is_page = re.compile(
    rb"https?://.+|[A-Za-z0-9._\-]*/[^?]*(?:\.(?:x?html?|php\d?|aspx?|jspx?|cfm|do)|/)(?:\?.*)?"
).fullmatch


def script_links(body: bytes) -> list[str]:
    """What looks like a URL in the scripts of a page, each once, in their order."""
    found: dict[str, None] = {}
    for place in _places.finditer(body):
        text = next((each for each in place.groups() if each is not None), b"").replace(b"\\/", b"/")
        for match in _quoted.finditer(text):
            if _is_page(match[1]) and match[1].strip(b"./"):
                found[match[1].decode("ascii")] = None
                if len(found) == _MOST:
                    return list(found)
    return list(found)
