"""Where a page lies: its folder and its pattern. In: `Views`. Out: a number for each page, and what the numbers name.

P2 (section 6) leaves two finer levels than the site to be studied. A *folder* is the path up to its last slash. A
*pattern* is what dynamic URLs with the same path and the same parameter names have in common; a page without a query
has its folder for a pattern. Runs of digits count as one character, ``#``, which no URL in normal form contains: the
folder of a day or the number of an article would otherwise be a place where nothing is published twice.

Invariant: pages of one pattern are of one folder, and pages of one folder are of one site. A page that has an id
instead of a URL lies in its site.

>>> import pyarrow as pa
>>> urls = pa.array(["http://a.nl/news/2026/04/07/n1.html", "http://a.nl/x/a.asp?p=1&c=2", "http://a.nl/", "17"])
>>> site_names = pa.array(["a.nl", "a.nl", "a.nl", "-"])
>>> folder, pattern = place_names(urls, site_names)
>>> folder.to_pylist()
['a.nl/news/#/#/#/', 'a.nl/x/', 'a.nl/', '-']
>>> pattern.to_pylist()
['a.nl/news/#/#/#/', 'a.nl/x/a.asp?c&p', 'a.nl/', '-']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.temporal.views import Views


@dataclass(frozen=True, slots=True)
class Places:
    """Pages in groups."""

    names: Any  # pyarrow array of strings: what each place is called, beginning with its site's name
    site: NDArray[np.int32]  # the site of a place
    of: NDArray[np.int32]  # the place of a page


def sites(views: Views) -> Places:
    """The site of every page, as a place."""
    return Places(_whole(views.sites), np.arange(len(views.sites), dtype=np.int32), views.site)


def folders(views: Views) -> Places:
    """The folder of every page."""
    return _grouped(views, folder_names(views.urls, page_sites(views)))


def levels(views: Views) -> tuple[Places, Places, Places]:
    """The site, the folder and the pattern of every page."""
    folder, pattern = place_names(views.urls, page_sites(views))
    return sites(views), _grouped(views, folder), _grouped(views, pattern)


def page_sites(views: Views) -> Any:
    """The name of every page's site."""
    return _whole(views.sites).take(pa.array(views.site))


def folder_names(urls: Any, sites: Any) -> Any:
    """The folders of URLs, given the names of their sites."""
    return _joined(sites, _folders(_paths(_targets(urls))))


def place_names(urls: Any, sites: Any) -> tuple[Any, Any]:
    """The folders and the patterns of URLs, given the names of their sites."""
    targets = _targets(urls)
    paths = _paths(targets)
    found = _folders(paths)
    dynamic = pc.match_substring(targets, "?")
    programs = _joined(_without_numbers(paths.filter(dynamic)), _parameters(targets.filter(dynamic)))
    return _joined(sites, found), _joined(sites, pc.replace_with_mask(found, dynamic, programs))


def static_paths(urls: Any) -> Any:
    """The paths of URLs without a query; null for the others, and for ids."""
    targets = _targets(urls)
    plain = pc.and_(pc.starts_with(targets, "/"), pc.invert(pc.match_substring(targets, "?")))
    return pc.if_else(plain, targets, None)


def parents(names: Any) -> Any:
    """The folders above folders; a site's uppermost folder is its own parent.

    >>> parents(pa.array(["a.nl/news/#/", "a.nl/news/", "a.nl/", "-"])).to_pylist()
    ['a.nl/news/', 'a.nl/', 'a.nl/', '-']
    """
    return pc.replace_substring_regex(names, r"/[^/]+/$", "/")


def _targets(urls: Any) -> Any:
    """What stands behind the host."""
    return pc.replace_substring_regex(_whole(urls), r"^https?://[^/]*", "")


def _paths(targets: Any) -> Any:
    return pc.replace_substring_regex(targets, r"\?.*$", "")


def _folders(paths: Any) -> Any:
    """The path up to its last slash. Few folders have many pages, so numbers are looked for folder by folder."""
    found = pc.replace_substring_regex(paths, r"[^/]*$", "").dictionary_encode()
    return _without_numbers(found.dictionary).take(found.indices)


def _without_numbers(texts: Any) -> Any:
    return pc.replace_substring_regex(texts, r"[0-9]+", "#")


def _parameters(targets: Any) -> Any:
    """The names of a query's parameters, sorted; a URL's own order of them says nothing."""
    queries = pc.replace_substring_regex(targets, r"^[^?]*\?", "")
    found = _without_numbers(pc.replace_substring_regex(queries, r"=[^&]*", "")).dictionary_encode()
    ordered = ["?" + "&".join(sorted(set(each.split("&")))) for each in found.dictionary.to_pylist()]
    return pa.array(ordered, pa.string()).take(found.indices)


def _joined(left: Any, right: Any) -> Any:
    return pc.binary_join_element_wise(left, right, "")


def _grouped(views: Views, names: Any) -> Places:
    found = names.dictionary_encode()
    of = found.indices.to_numpy().astype(np.int32)
    site = np.zeros(len(found.dictionary), np.int32)
    site[of] = views.site
    return Places(found.dictionary, site, of)


def _whole(texts: Any) -> Any:
    """One array of strings, however it came."""
    found = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    return found.cast(pa.string())
