"""Seeds from an earlier crawl (P3 3.1). In: a crawl's directory. Out: a URL for each of its sites that answered well
enough, the home page or the best page.

URLs have short lives: a site counts by its last fetches. It is left out where the last of them did not reach it, and so
is a page that was gone (404, 410) when it was last asked for. The columns are asked by DuckDB, also beside a running
crawl.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from weft.engine.outcome import UNREACHED
from weft.model import NO_PAGES
from weft.seeding.order import by_name
from weft.settings import setting
from weft.store.asking import ask
from weft.store.reading import CrawlFiles

Order = Literal["name", "most"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """Settings: which sites of an earlier crawl are seeds."""

    page: Literal["home", "best"] = setting(
        "home", "home: the site's home page; best: its good page with the most links to it, then the least depth"
    )
    least_pages: int = setting(1, "good pages that a site must have", at_least=0)
    status: tuple[int, ...] = setting(
        (), "only sites that answered with one of these statuses at least once", at_least=100, at_most=999
    )
    keep_gone: bool = setting(False, "sites whose last fetch did not reach them are seeds too")
    order: Order = setting("name", "name: by name, from the right; most: those with most good pages first")


class SiteSeed(msgspec.Struct, frozen=True, kw_only=True):
    """A site that is a seed."""

    url: str
    site: str
    good: int  # pages
    fetched: int  # pages, whatever came of them
    last_status: int | None


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What an earlier crawl gives."""

    crawl: str
    sites: int  # that were asked
    answered: int  # of these
    few: int  # left out: not enough good pages
    gone: int  # left out: not reached any more
    unseen: int  # left out: no such status
    seeds: list[SiteSeed]


_NO_PAGES = ", ".join(f"'{word}'" for word in NO_PAGES)
_UNREACHED = ", ".join(f"'{reason.value}'" for reason in sorted(UNREACHED, key=lambda each: str(each.value)))

# By site: how its last fetch went; by page: its last fetch; and the page that stands for the site.
_SITES = f"""
with fetches as (select * from pages where final and kind not in ({_NO_PAGES})),
last as (
    select site, url, any_value(id) as id, min(depth) as depth, arg_max(status, fetched_at) as status,
        arg_max(reason, fetched_at) as reason, arg_max(redirect, fetched_at) as redirect
    from fetches group by site, url
),
good as (select * from last where status between 200 and 299 and reason is null),
links_in as (
    select target, count(*) as links from links where not nofollow and target in (select id from good) group by target
),
best as (
    select site, arg_min(url, (-coalesce(links, 0), depth, url)) as best, count(*) as good,
        max(case url when 'https://' || site || '/' then 2 when 'http://' || site || '/' then 1 else 0 end) as home,
        count(*) filter (where url like 'https:%') as secure
    from good left join links_in on target = good.id group by site
),
gone as (select distinct url from last where status in (404, 410)),
ends as (
    select site, arg_max(reason, fetched_at) as reason, arg_max(status, fetched_at) as status,
        count(status) as answers, list_distinct(list(status)) as statuses
    from pages where kind not in ({_NO_PAGES}) or kind = 'robots' group by site
)
select ends.site, best.best, coalesce(best.good, 0), best.home, coalesce(best.secure, 0),
    (select count(*) from last where last.site = ends.site), ends.answers > 0, ends.statuses,
    coalesce(ends.reason in ({_UNREACHED}), false), ends.status,
    exists (select 1 from gone where gone.url = 'http://' || ends.site || '/'),
    exists (select 1 from gone where gone.url = 'https://' || ends.site || '/')
from ends left join best on ends.site = best.site
"""  # noqa: S608  words of our own


def from_crawl(crawl: Path, choosing: Choosing) -> Chosen:
    """The seeds that an earlier crawl gives."""
    sites = answered = few = gone = unseen = 0
    seeds = []
    with tempfile.TemporaryDirectory(prefix="weft-seeds-") as folder:
        rows = ask(CrawlFiles(crawl), _SITES, Path(folder)).rows
        for site, best, good, home, secure, fetched, answers, statuses, away, status, *lost in rows:
            sites += 1
            answered += answers
            url = best if choosing.page == "best" else _home(site, home, good, secure)
            if not answers or (away and not choosing.keep_gone):
                gone += 1
            elif choosing.status and not set(choosing.status) & set(statuses or ()):
                unseen += 1
            elif good < choosing.least_pages or url is None:
                few += 1
            elif lost[url.startswith("https:")] and choosing.page == "home" and not choosing.keep_gone:
                gone += 1
            else:
                seeds.append(SiteSeed(url=url, site=site, good=good, fetched=fetched, last_status=status))
    seeds.sort(key=lambda each: (-each.good if choosing.order == "most" else 0, by_name(each.url)))
    return Chosen(crawl=str(crawl), sites=sites, answered=answered, few=few, gone=gone, unseen=unseen, seeds=seeds)


def _home(site: str, home: int | None, good: int, secure: int) -> str:
    """The home page of a site: as it was good, or by the scheme of most of its good pages."""
    if home:
        return f"{'https' if home == 2 else 'http'}://{site}/"
    return f"{'https' if 2 * secure > good else 'http'}://{site}/"
