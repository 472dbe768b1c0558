"""Was the crawl polite? In: a crawl's directory. Out: the closest it came to each rule, and every time it broke one.

The proof is drawn from the columns of `pages/` alone: when each connection was opened and closed, to which site and
address, how long the site was to rest after it, and when robots.txt was fetched. Five things are looked at:

1. a site has one connection at a time, and rests for its wait after each;
2. a registered domain and an address have at most so many connections at once;
3. between two openings there lies a gap of w/4, by the smallest wait w that the settings give the former's site: the
   gap is fixed before a visit, when its own download, crawl-delay or Retry-After is not yet known. Where a site has no
   wait there is no gap to keep with it;
4. before the first page of a visit there was a robots.txt of the same origin, its redirects followed to the end;
5. and it was not older than `robots_age` when the connection was opened.

Times are those of the wall clock, which may be slewed while the crawl reckons by the monotonic one: a wait may be
short by a millisecond and 500 parts in a million. Limits are those of the settings as they are now.

Rows become visits in `reading`, visits are compared with the rules in `checks` and with robots.txt files in `robots`,
and what comes of it is gathered in `findings`.
"""

from __future__ import annotations

from pathlib import Path

from weft.audit.checks import check_sites, check_throttles, site_rules
from weft.audit.findings import MOST_KEPT, Audit, Finding, Findings
from weft.audit.reading import Names, read
from weft.config import Settings
from weft.store.reading import CrawlFiles
from weft.urls import registered_domain

__all__ = ["MOST_KEPT", "Audit", "Finding", "audit_crawl"]


def audit_crawl(out: Path) -> Audit:
    """Audit a crawl, also while it runs."""
    files = CrawlFiles(out)
    settings = Settings().with_file(files.out / "crawl.toml")
    sites, addresses = Names(), Names()
    rows, visits, robots = read(files, sites, addresses)
    if visits is None:
        return Audit(rows=rows)
    rules = site_rules(list(sites.codes), visits, settings)
    domains = Names()
    domain_of = domains.take([registered_domain(site) for site in sites.codes])
    findings = Findings()
    check_sites(findings, list(sites.codes), visits, rules, robots, robots_age=settings.politeness.robots_age)
    for kind, codes, names, limit in (
        ("domain", domain_of[visits.site], domains, settings.politeness.per_domain),
        ("address", visits.address, addresses, settings.politeness.per_address),
    ):
        check_throttles(findings, kind, list(names.codes), codes, visits, rules.gap[visits.site], limit)
    return Audit(
        rows=rows,
        visits=len(visits.start),
        sites=len(sites.codes),
        domains=len(domains.codes),
        addresses=len(addresses.codes),
        smallest_gap={kind: found for kind, (found, _) in findings.smallest.items()},
        most_connections=findings.most,
        oldest_robots=findings.oldest,
        broken=dict(findings.broken),
        violations=sorted(findings.violations, key=lambda found: found.when),
    )
