"""What URLs and robots.txt cost: microseconds per call, as a table.

Run it as ``python benchmarks/urls.py``. The links are a mix like that of a page's; the robots.txt files are
the real ones that lie beside the repository, where they are there.
"""

from __future__ import annotations

import sys
import tarfile
import timeit
from collections.abc import Callable
from pathlib import Path

from ada_url import join_url

from weft.parse.robots import ALLOW_ALL, parse_robots
from weft.urls import fingerprint, fingerprints, normal_form, registered_domain, site_of, split, target_of

FILES = Path(__file__).parents[2] / "shared" / "data" / "robots-real-a" / "robots.tar.gz"
BASE = "https://www.example.org/products/list/page.html?sort=name"
LINKS = [
    "/about/people.html",
    "/news/2024/05/12/a-long-title-of-an-article?utm_source=home&page=2",
    "item-123.html",
    "#top",
    "https://www.example.org/contact",
    "https://www.other-site.co.uk/shop/item.php?id=17&ref=example",
    "http://example.com",
    "../up/one.html",
    "/caf%c3%a9/%7Ejoe/",
    "mailto:someone@example.org",
]
PATHS = [
    "/",
    "/index.html",
    "/news/2024/05/12/some-article-title",
    "/search?q=foo&page=2",
    "/user/profile/settings.php?id=17",
    "/static/css/main.css",
    "/wp-content/uploads/2020/01/picture.jpg",
    "/a/b/c/d/e/f",
]


def row(name: str, run: Callable[[], object], calls: int) -> None:
    """Print the best of five timings of about a fifth of a second."""
    timer = timeit.Timer(run)
    number, _ = timer.autorange()
    best = min(timer.repeat(number=number, repeat=5))
    print(f"{name:<58}{best / number / calls * 1e6:>10.2f}")


def urls() -> None:
    """Everything that is done to a link."""
    normal = [url for link in LINKS if (url := normal_form(link, BASE)).startswith("http")]
    hosts = [split(url).host for url in normal]
    row("normal_form, mix of links", lambda: [normal_form(link, BASE) for link in LINKS], len(LINKS))
    row("  ada's join_url alone, same links", lambda: [join_url(BASE, link) for link in LINKS], len(LINKS))
    row("  normal_form, plain path", lambda: normal_form(LINKS[1], BASE), 1)
    row("  normal_form, absolute", lambda: normal_form(LINKS[5], BASE), 1)
    row("  normal_form, dot segments", lambda: normal_form(LINKS[7], BASE), 1)
    row("  normal_form, triplets to mend", lambda: normal_form(LINKS[8], BASE), 1)
    row("site_of", lambda: [site_of(url) for url in normal], len(normal))
    row("target_of", lambda: [target_of(url) for url in normal], len(normal))
    row("split", lambda: [split(url) for url in normal], len(normal))
    row("fingerprint", lambda: [fingerprint(url) for url in normal], len(normal))
    row("fingerprints, in a batch", lambda: fingerprints(normal), len(normal))
    row("registered_domain, known hosts", lambda: [registered_domain(host) for host in hosts], len(hosts))
    row(
        "registered_domain, new hosts",
        lambda: [registered_domain.__wrapped__(host) for host in hosts],
        len(hosts),
    )


def robots() -> None:
    """Reading and asking the real files, ours beside Protego."""
    row("Robots.allows, everything allowed", lambda: [ALLOW_ALL.allows(path) for path in PATHS], len(PATHS))
    if not FILES.exists():
        print(f"(no real robots.txt files at {FILES.name}: the rest is left out)")
        return
    with tarfile.open(FILES) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        bodies = [archive.extractfile(member).read() for member in members]  # type: ignore[union-attr]
    typical = [body for body in bodies if 3_000 <= len(body) <= 5_000]
    for label, chosen in (("all files", bodies), ("files of 3 to 5 KB", typical)):
        mean = sum(map(len, chosen)) / len(chosen) / 1000
        print(f"{label}: {len(chosen)}, {mean:.1f} KB on average")
        parsed = [parse_robots(body, "weft") for body in chosen]
        calls = len(chosen) * len(PATHS)
        row("  parse_robots", lambda: [parse_robots(body, "weft") for body in chosen], len(chosen))  # noqa: B023
        row("  Robots.allows", lambda: [one.allows(path) for one in parsed for path in PATHS], calls)  # noqa: B023
        try:
            from protego import Protego
        except ImportError:
            print("  (Protego is not installed)")
            continue
        texts = [body.decode("utf-8", "ignore") for body in chosen]
        theirs = [Protego.parse(text) for text in texts]
        row("  Protego.parse", lambda: [Protego.parse(text) for text in texts], len(chosen))  # noqa: B023
        row(
            "  Protego.can_fetch",
            lambda: [one.can_fetch(path, "weft") for one in theirs for path in PATHS],  # noqa: B023
            calls,
        )
    rules = [one for body in bodies if 25 <= len((one := parse_robots(body, "weft")).rules) <= 35]
    row(
        f"Robots.allows, the {len(rules)} files with 25 to 35 rules for us",
        lambda: [one.allows(path) for one in rules for path in PATHS],
        len(rules) * len(PATHS),
    )


def main() -> None:
    """Print the table."""
    print(f"Python {sys.version.split()[0]}{'microseconds per call':>56}")
    urls()
    robots()


if __name__ == "__main__":
    main()
