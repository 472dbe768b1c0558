r"""The text of an HTML page. In: the page as text. Out: the words that a reader sees, without markup.

All words are found by the tags alone, without a tree: that takes time linear in the length of a page, whatever is in
it. Main text needs a tree (resiliparse). Building one, and walking it, takes time that grows with the square of its
depth, and a page of 50 kB can make that seconds; so it is done in a process with limits, and what is nested too deep
has none.

>>> page = "<nav><a href=/>Home</a></nav><p>Hello <b>world</b> &amp; all<p>and more<script>1 < 2</script>"
>>> whole_text(page)
'Home\n\nHello world & all\n\nand more'
>>> main_text("<nav><a href=/>Home</a></nav><main><p>Hello <b>world</b> &amp; all</main>")
'Hello world & all'
>>> main_text("<div>" * 5000) is None
True
"""

from __future__ import annotations

import re
from html import unescape

_BLOCK, _LINE, _CELL = "\x01", "\x02", "\x03"  # stand for what parts words, until all are there
_PARTS = {
    _BLOCK: "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend main menu nav ol p pre search section summary "
    "table ul",
    _LINE: "br caption li optgroup option tr tbody thead tfoot",
    _CELL: "td th select button input textarea img",
}
_MARKS = {name: mark for mark, names in _PARTS.items() for name in names.split()}
_HIDDEN = "script style title template iframe noembed noframes xmp textarea svg math"
_VOID = frozenset(re.findall(r"\w+", "area base br col embed hr img input link meta param source track wbr"))
_CLOSES = {  # what ends where another begins, without a tag of its own
    "p": "p",
    "li": "p li",
    "dt": "p dt dd",
    "dd": "p dt dd",
    "td": "p td th",
    "th": "p td th",
    "tr": "p td th tr",
    "tbody": "p td th tr thead tbody",
    "option": "option",
}
_CLOSED = {name: frozenset(others.split()) for name, others in _CLOSES.items()}

_tag = re.compile(r"(/?)([a-zA-Z][^\s/>]*)(?:[^\"'>]++|\"[^\"]*\"|'[^']*')*+>")
_name = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_blanks = re.compile(r"[ \t\r\n\f\v]+")
_breaks = re.compile("[ \x03]*(?:([\x01])|([\x02])|\x03)[ \x01\x02\x03]*")
_ends = {name: re.compile(f"</{name}(?=[\\s/>])[^>]*>?", re.IGNORECASE) for name in _HIDDEN.split()}
_MARKED = re.compile("[\x01-\x03]")
_FEW = 700  # tags: whatever they are, their tree is walked in less than a second
_MOST_WEIGHT = 1_000_000  # sum of the depths of all elements: some 1.6 µs for each, as measured


def whole_text(page: str) -> str:
    """All words of a page, block by block: also those of its menus and footers."""
    if _MARKED.search(page):
        page = _MARKED.sub(" ", page)
    pieces: list[str] = []
    at, kept = 0, 0  # in how many <pre> we are
    while True:
        begin = page.find("<", at)
        words = page[at:] if begin < 0 else page[at:begin]
        if words:
            pieces.append(words.replace("\n", _LINE) if kept else words)
        if begin < 0:
            break
        at, mark, step = _behind_tag(page, begin)
        if mark:
            pieces.append(mark)
        kept = max(0, kept + step)
        if at < 0:
            break
    text = _blanks.sub(" ", "".join(pieces))
    if "&" in text:
        text = _blanks.sub(" ", unescape(text).replace("\xa0", " "))
    return _breaks.sub(_parted, text).strip()


def _behind_tag(page: str, begin: int) -> tuple[int, str, int]:
    """Where a page goes on behind a "<", -1 where it does not; what that parts, and whether a <pre> begins or ends."""
    found = _tag.match(page, begin + 1)
    if found is None:
        following = page[begin + 1 : begin + 4]
        if following == "!--":
            end = page.find("-->", begin + 2)  # its own dashes may end it
            return (end + 3 if end >= 0 else -1), "", 0
        if following[:1] in ("!", "?") or (following[:1] == "/" and following[1:2]):
            end = page.find(">", begin)
            return (end + 1 if end >= 0 else -1), "", 0
        if following[:1].isalpha() and following[:1].isascii():
            return -1, "", 0  # a tag that never ends
        return begin + 1, "<", 0
    closes, name = found[1], found[2].lower()
    at = found.end()
    if name in _ends and not closes and page[at - 2] != "/":
        last = _ends[name].search(page, at)
        return (last.end() if last is not None else -1), _CELL, 0
    step = (-1 if closes else 1) if name == "pre" else 0
    return at, _MARKS.get(name, ""), step


def _parted(found: re.Match[str]) -> str:
    """What parts two words, in the text: the strongest of several."""
    marks = found[0]
    if _BLOCK in marks:
        return "\n\n"
    return "\n" if _LINE in marks else " "


def main_text(page: str) -> str | None:
    """The words of what a page is about, as far as its markup tells: without menus, footers and the like; None where
    its tags are nested so deep that it would take too long. For a process with limits.
    """
    if page.count("<") > _FEW and _weight(page) > _MOST_WEIGHT:
        return None
    from resiliparse.extract.html2text import extract_plain_text  # not every crawl wants texts

    found: str = extract_plain_text(page, main_content=True, list_bullets=False)
    return found


def _weight(page: str) -> int:
    """About how many elements lie above the elements of a page, all together; more than is allowed where it is more."""
    weight = 0
    above: list[str] = []
    times: dict[str, int] = {}
    for closes, written in _name.findall(page):
        name = written.lower()
        if closes:
            while times.get(name):
                last = above.pop()
                times[last] -= 1
                if last == name:
                    break
        elif name not in _VOID:
            if (closed := _CLOSED.get(name)) is not None:
                while above and above[-1] in closed:
                    times[above.pop()] -= 1
            above.append(name)
            times[name] = times.get(name, 0) + 1
            weight += len(above)
            if weight > _MOST_WEIGHT:
                break
    return weight
