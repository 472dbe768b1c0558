"""HTML as it is: the tree-construction tests of html5lib, and the pages of real archives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from warcio.archiveiterator import ArchiveIterator

from weft.model import Kind, Page
from weft.parse.directives import NOTHING_ASKED
from weft.parse.html import parse_html
from weft.parse.options import Reading
from weft.parse.page import Parser

URL = "http://site.test/"
LINKS = (Kind.A, Kind.AREA)


class Case(NamedTuple):
    """One test of html5lib: a document and, line by line, the tree that it must become."""

    file: str
    data: bytes
    tree: list[str]


def cases(folder: Path) -> Iterator[Case]:
    """Every test of a whole document; those of fragments have no counterpart here."""
    for path in sorted(folder.glob("*.dat")):
        for part in re.split(rb"(?:^|\n)#data\n", path.read_bytes())[1:]:
            data, _, rest = part.partition(b"\n#errors\n")
            if b"#document-fragment" not in part:
                tree = rest.partition(b"#document\n")[2].decode("utf-8", "surrogateescape")
                yield Case(path.name, data, tree.split("\n"))


def anchors(tree: list[str]) -> Iterator[str | None]:
    """The href of every <a> and <area> in an expected tree, None where it has none; templates are left out."""
    template: int | None = None
    for number, line in enumerate(tree):
        match = re.fullmatch(r"\| ( *)(.*)", line)
        if match is None:
            continue
        depth = len(match[1])
        if template is not None and depth <= template:
            template = None
        if match[2] == "content":
            template = depth
        if template is None and re.fullmatch(r"<(?:svg |math )?(?:a|area)>", match[2]):
            yield next(_hrefs(tree[number + 1 :], depth + 2), None)


def _hrefs(below: list[str], depth: int) -> Iterator[str]:
    """The href among the attributes that stand below an element."""
    for line in below:
        attribute = re.fullmatch(rf'\|[ ] {{{depth}}}([\w:\- ]+)="(.*)"', line)
        if attribute is None:
            return
        if attribute[1] in ("href", "xlink href"):
            yield attribute[2]


def found(data: bytes) -> list[str]:
    """The links that we find."""
    parsed = parse_html(data, "utf-8", URL, "weft", requisites=True, header=NOTHING_ASKED)
    return [written for written, kind in [*parsed.links, *parsed.nofollow] if kind in LINKS]


def test_html5lib__every_document_gives_the_links_of_its_tree(shared_data: Path) -> None:
    """However broken the markup, the hrefs found are those of the tree that the standard demands, without exception.

    Compared as sets: where an anchor is never closed, the tree has it more than once, and the page once.
    """
    tested = 0
    for case in cases(shared_data / "html5lib-tree"):
        tested += 1
        assert set(found(case.data)) == {href for href in anchors(case.tree) if href}, case
    assert tested > 1500


def test_html5lib__anchors_in_odd_places_have_their_links(shared_data: Path) -> None:
    """Most tests have anchors without links: given one, it is found where the tree has the anchor, and only there."""
    tested = expected = 0
    for case in cases(shared_data / "html5lib-tree"):
        linked = re.sub(rb"(?i)<(a|area)(?=[\s>/])(?![^>]*href)", rb"<\1 href=given", case.data)
        if linked != case.data:
            tested += 1
            wanted = any(href is None for href in anchors(case.tree))
            expected += wanted
            assert ("given" in found(linked)) == wanted, case
    assert tested > 40
    assert expected > 30


class Count(HTMLParser):
    """A parser of another make: no tree, no mending, only tags."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the first href of a link."""
        if tag in ("a", "area"):
            self.hrefs += [value for name, value in attrs if name == "href" and value][:1]


class Sample(NamedTuple):
    """A page out of an archive."""

    url: str
    declared: str
    body: bytes


def samples(folder: Path) -> list[Sample]:
    """The HTML pages of the archives; two files are broken on purpose."""
    pages = []
    for path in sorted((*folder.rglob("*.warc.gz"), *folder.rglob("*.arc.gz"))):
        if path.name == "storm-unparsable-date.warc.gz":
            continue
        with path.open("rb") as file:
            for record in ArchiveIterator(file, arc2warc=True):
                declared = record.http_headers.get_header("content-type") if record.http_headers else None
                if record.rec_type == "response" and declared and "html" in declared:
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    pages.append(Sample(url, declared, record.content_stream().read()))
    return pages


def test_archives__links_are_those_that_another_parser_finds(shared_data: Path) -> None:
    """On hundreds of real pages we find the links that a parser of another make finds.

    Compared as sets: where an anchor is never closed, the tree holds it more than once. Scripts' links that lie in
    the wrong place are dropped by the tree and kept by the other parser; the query of a page in another charset is
    written otherwise.
    """
    parser = Parser(Reading(requisites=True), "weft")
    pages = samples(shared_data / "warc-samples")
    ours = theirs = 0
    for url, declared, body in pages:
        page = Page(url, 200, None, b"", b"", {"content-type": declared}, body, "", "", "", 0.0, 0.0, 0.0, closed=False)
        parsed = parser.parse(page, Kind.A)
        if parsed.type.startswith("image/"):  # whatever it is said to be
            continue
        assert parsed.type == "text/html"
        assert parsed.reason is None
        other = Count()
        other.feed(body.decode(parsed.charset, "replace"))
        other.close()
        written = [link for link, kind in [*parsed.links, *parsed.nofollow] if kind in LINKS]
        if all(link.isascii() for link in other.hrefs):
            expected = {link.replace("\r\n", "\n") for link in other.hrefs}
            assert set(written) <= expected, url
            assert all(link.startswith("javascript:") for link in expected - set(written)), url
        ours += len(written)
        theirs += len(other.hrefs)
    assert len(pages) > 300
    assert theirs > 80_000
    assert abs(ours - theirs) / theirs < 0.001
