"""Was the crawl polite? In: a crawl's directory. Out: the closest it came to each rule, and every time it broke one.

The columns of `pages/` say what was asked for when, on which connection, at which address; the volumes hold what
servers said: robots.txt files, headers, pages. Requests are judged by these and by the settings of their time:

1. a site has one connection at a time, and rests for its wait after each;
2. a registered domain and an address have at most so many connections at once, and so has a network where that is
   set;
3. between two openings there lies a gap of w/4, by the smallest wait w that the settings give the former's site: the
   gap is fixed before a visit, when its own download, crawl-delay or Retry-After is not yet known. Where a site has no
   wait there is no gap to keep with it. The gap in a network is a setting;
4. before the first page of a visit there was a robots.txt of the same origin, its redirects followed to the end;
5. and it was not older than `robots_age` when the connection was opened;
6. it allowed every path that was asked for, and its crawl-delay was kept, with one page a visit;
7. a site that answered 429, or 503 with Retry-After, was left alone for so long, and on a connection nothing was asked
   for after the server had said (Keep-Alive) that it would answer no more;
8. nothing was asked for that was on the blacklist, from `hung_after` after it was put there;
9. no page was asked for that was found by a link that asks not to be followed.

Neither what the crawler took robots.txt to say nor the waits that it wrote down decide. What the files do not tell is
counted as not judged. What they cannot tell at all: requests that were never written down, and times that were written
down wrong; for that one has to ask the servers (`tests/serverside.py` does).

Times are those of the wall clock, which may be slewed while the crawl reckons by the monotonic one: a wait may be
short by a millisecond and 500 parts in a million.

Rows are copied by `snapshot`, become visits in `reading`, visits are compared with the rules in `checks` and with
robots.txt files in `robots`; requests are judged one by one in `requests` and `links`, by what `archive`, `terms` and
`forbidden` say; what comes of it is gathered in `findings`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from weft.audit.archive import Archive
from weft.audit.checks import check_sites, check_throttles, site_rules
from weft.audit.findings import MOST_KEPT, Audit, Finding, Findings, Place
from weft.audit.forbidden import Forbidden
from weft.audit.links import check_links
from weft.audit.reading import Names, read
from weft.audit.requests import Judge
from weft.audit.snapshot import Snapshot, taken
from weft.audit.terms import Terms
from weft.frontier.shared.opening import frontier_exists, open_frontier
from weft.store.reading import CrawlFiles
from weft.urls import network_of, registered_domain

__all__ = ["MOST_KEPT", "Audit", "Finding", "Place", "audit_crawl"]


def audit_crawl(out: Path) -> Audit:
    """Audit a crawl, also while it runs."""
    files = CrawlFiles(out)
    terms = Terms.read(out)
    forbidden = _forbidden(out)
    with taken(files) as snapshot:
        return _audit(files, terms, forbidden, snapshot)


def _audit(files: CrawlFiles, terms: Terms, forbidden: Forbidden, snapshot: Snapshot) -> Audit:
    sites, addresses, domains = Names(), Names(), Names()
    found = read(snapshot, sites, addresses)
    if found is None:
        return Audit(rows=snapshot.rows)
    visits, robots = found
    rules = site_rules(list(sites.codes), visits, terms)
    domain_of = domains.take([registered_domain(site) for site in sites.codes])
    findings = Findings()
    library = check_sites(findings, list(sites.codes), visits, rules, robots)
    for kind, codes, names in (
        ("domain", domain_of[visits.site], domains),
        ("address", visits.address, addresses),
    ):
        check_throttles(findings, kind, list(names.codes), codes, visits, rules)
    networks = Names()
    if any(settings.politeness.by_network for settings in terms.settings):
        network_of_address = np.append(networks.take([network_of(address) for address in addresses.codes]), -1)
        check_throttles(findings, "network", list(networks.codes), network_of_address[visits.address], visits, rules)
    count = len(visits.start)
    del visits, rules, found
    archive = Archive(files)
    Judge(findings, terms=terms, library=library, archive=archive, forbidden=forbidden, sites=sites).look(snapshot)
    check_links(findings, snapshot, files, archive, terms)
    requests = snapshot.rows_numbered(findings.rows, 'row, url, volume, "offset"')
    return findings.audit(
        requests,
        rows=snapshot.rows,
        visits=count,
        sites=len(sites.codes),
        domains=len(domains.codes),
        addresses=len(addresses.codes),
        networks=len(networks.codes),
    )


def _forbidden(out: Path) -> Forbidden:
    """What was ever on the crawl's blacklist."""
    if not frontier_exists(out):
        return Forbidden(())
    shared = open_frontier(out, read_only=True)
    try:
        return Forbidden((each.rule, each.since, each.until) for each in shared.blacklist_history())
    finally:
        shared.close()
