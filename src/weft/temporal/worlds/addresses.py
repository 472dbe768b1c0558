"""Addresses of pages. In: site, section and birth of each page. Out: URLs in normal form, no two alike.

Sections mean something: news stands under /news/, /world/ ..., what stays under /howto/, /guide/ ...; in some sites the
section is a folder, in others a parameter of a dynamic page, in others the day of publication stands in the path.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from weft.temporal.worlds.recipe import Recipe
from weft.temporal.worlds.shapes import Reals
from weft.temporal.worlds.sites import Sites

NEWS_SECTIONS = ("news", "world", "sports", "ent", "finance")
LASTING_SECTIONS = ("howto", "guide", "about", "item", "baike")
SECTIONS = NEWS_SECTIONS + LASTING_SECTIONS
FIRST_NUMBER = 100_000

_STYLES = (  # for sections of news, and for the others
    ("/{section}/a.asp?p={number}", "/{section}/a.asp?p={number}"),
    ("/{section}/{number}.html", "/{section}/{number}.html"),
    ("/show.php?cat={section}&id={number}", "/view.php?cat={section}&id={number}"),
    ("/{section}/{day:%Y/%m/%d}/n{number}.shtml", "/{section}/a.asp?p={number}"),
)


def make_urls(
    recipe: Recipe, sites: Sites, site: NDArray[np.int64], section: NDArray[np.int64], birth: Reals
) -> list[str]:
    """URLs of pages that are no fronts."""
    number = FIRST_NUMBER + recipe.dice("numbers").permutation(len(site))
    forms = [form for style in _STYLES for form in style]
    form = 2 * sites.style[site] + (section >= len(NEWS_SECTIONS))
    hosts = sites.name.to_pylist()
    columns = (site.tolist(), form.tolist(), section.tolist(), number.tolist(), np.floor(birth).tolist())
    return [
        f"http://{hosts[host]}"
        + forms[a_form].format(section=SECTIONS[a_section], number=a_number, day=recipe.first + timedelta(day))
        for host, a_form, a_section, a_number, day in zip(*columns, strict=True)
    ]


def front_urls(sites: Sites, site: NDArray[np.int64]) -> list[str]:
    """URLs of home pages and sections' fronts, for sites in ascending order: the first of a site is its home page."""
    place = np.arange(len(site)) - np.searchsorted(site, site)
    hosts, plain = sites.name.to_pylist(), sites.plain_fronts.tolist()
    urls = []
    for host, nth in zip(site.tolist(), place.tolist(), strict=True):
        folder = "/" if nth == 0 else f"/{NEWS_SECTIONS[nth - 1]}/"
        file = "" if plain[host] else f"index{FIRST_NUMBER - 1 - host * len(SECTIONS) % FIRST_NUMBER - nth}.html"
        urls.append(f"http://{hosts[host]}{folder}{file}")
    return urls
