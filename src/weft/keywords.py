"""The settings as keywords of `weft.crawl`, so that editors and type checkers know them.

Written by `make docs` from the settings themselves. Change those, not this file.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class SiteKeywords(TypedDict, total=False):
    """What can be set for one site, or for all under a domain."""

    wait: float | None
    """Seconds between visits, fixed."""
    per_visit: int | None
    """Pages fetched on one connection."""
    max_pages: int | None
    """Pages of this site."""
    max_bytes: int | None
    """Bytes that this site may send, in place of the crawl's max_site_bytes."""
    max_time: float | None
    """Seconds that downloads from this site may take, in place of the crawl's max_site_time."""
    max_depth: int | None
    """Links away from a seed, in place of the crawl's max_depth."""
    robots: Literal["obey", "ignore"] | None
    """What to do about robots.txt, robots meta tags and nofollow."""
    headers: dict[str, str] | None
    """Further headers of every request to it; a value env:NAME is taken from the environment."""


class Keywords(TypedDict, total=False):
    """Every setting of a crawl."""

    # Who crawls.

    contact: str
    """A URL or mail address where webmasters reach you; without it nothing but loopback is crawled."""
    agent: str
    """The whole User-Agent; weft/VERSION (+contact) when empty."""
    operator: str
    """Who crawls, for the warcinfo of the archive; the contact when empty."""
    description: str
    """What the crawl is for, for the warcinfo of the archive."""
    collection: str
    """What the crawl is part of, for the warcinfo; the name of its directory when empty."""
    skip_nobody: bool
    """Visit no public address that any name leads to under the top-level domain, be it ever so absurd."""
    allow_address: list[str] | tuple[str, ...]
    """Special address ranges that may be visited, such as 10.0.0.0/8."""

    # What is crawled.

    scope: Literal["site", "domain", "tld", "prefix", "list", "all"]
    """site: the seeds' sites with their www. or bare twin; domain: their registered domains; tld: their top-level
    domains, a country's say; prefix: below the seeds' folders; list: exactly the seeds; all: everything."""
    domains: list[str] | tuple[str, ...]
    """Further domains in the scope, with all that is below them, beside what the seeds say: those of a country that
    lie under .com, say, or a whole top-level domain (pt)."""
    include: list[str] | tuple[str, ...]
    """Only URLs that match one of these regular expressions (seeds apart); of those with back-references or look-
    around, only URLs of up to 500 characters."""
    exclude: list[str] | tuple[str, ...]
    """No URL that matches one of these regular expressions; by those with back-references or look-around, no URL of
    more than 500 characters either."""
    duphosts: str
    """File with sites that are copies of others, a replica and its original a line, as `weft duphosts` writes it:
    the original is visited in place of the replica."""
    www: Literal["keep", "add"]
    """add: visit www.example.org in place of example.org, where that is a registered domain itself; longer names
    stay as they are. keep: all do."""
    types: list[str] | tuple[str, ...]
    """Further media types to collect: application/pdf, image/*, pdf; '*/*' for all."""
    external: Literal["deep-link", "home-page", "combined"]
    """What a link to another site stands for: the page, the site's home page, or both."""
    sitemaps: bool
    """Read the sitemaps that robots.txt names."""
    max_depth: int
    """Links away from a seed, for static pages."""
    max_depth_dynamic: int
    """Links away from a seed, for dynamic pages (a question mark, or .php and its like)."""
    max_repeats: int
    """Times that one folder's name may stand in a path, or one name of a parameter in a query."""
    max_years_ahead: int
    """Years that a date in a URL may lie ahead: calendars have no end."""
    max_redirects: int
    """Redirects in a row that are followed."""
    max_url: int
    """Characters of a URL."""
    max_site_pages: int
    """Pages of one site."""
    max_site_bytes: int
    """Bytes that one site may send, after which it is left alone; 0: any number. A higher one lets in what is found
    from then on."""
    max_site_time: float
    """Seconds that downloads from one site may take together, after which it is left alone; 0: any number. A longer
    one lets in what is found from then on."""
    max_page_sites: int
    """New sites that one page may lead to."""
    max_domain_sites: int
    """Sites of one registered domain; what is below a public suffix (blogspot.com) is one."""
    max_wildcard_sites: int
    """Sites of one registered domain whose name servers know any name, be it ever so absurd."""
    max_doorways: int
    """Sites of such a domain whose first pages look the same, after which no more are taken."""
    max_bytes_page: int
    """Bytes of one page; the rest is cut off."""
    max_bytes_type: list[str] | tuple[str, ...]
    """The same for media types, as 'application/pdf=20 MB' or 'video/*=500 kB'."""
    max_hostile: int
    """Pages of one site that crash or stall the parser, after which it is left alone."""
    max_site_duplicates: int
    """Pages of one site that are copies of others, after which it is left alone; 0: any number."""
    max_duplicate_share: float
    """Share of a site's last hundred pages that may be copies of others, before it is left alone; fifty copies are
    taken in any case; 1: all."""
    expansion: bool
    """Two phases: domains that are found wait until those of the seeds are done, with nothing left to fetch there
    but what waits for a time."""
    max_barren: int
    """URLs of a site that differ in numbers alone and came to nothing, one after the other, before others like them
    are left alone; 0: any number. Nothing are copies of others, sitemaps that cannot be had, and pages of less than
    2 kB without a link."""
    soft_404: bool
    """Where pages of a site look the same one after the other, ask it for a URL that cannot exist: what says the
    same as its answer is no page (soft-404), and is not followed."""
    robots: Literal["obey", "ignore"]
    """What to do about robots.txt, robots meta tags and nofollow."""

    # Politeness and speed.

    wait: float | None
    """Seconds between visits to a site, fixed; 0 is no waiting. When not given, the wait follows the last
    download."""
    wait_small: float | None
    """Seconds between visits to a site with fewer pages than small_site."""
    small_site: int
    """Pages below which a site is small."""
    wait_least: float
    """The shortest adaptive wait, in seconds."""
    wait_most: float
    """The longest adaptive wait, in seconds."""
    wait_factor: float
    """The adaptive wait is so many times the last download."""
    per_visit: int
    """Pages fetched on one connection to a site."""
    connections: int
    """Connections at once, to as many sites."""
    per_domain: int
    """Connections at once to the sites of one registered domain."""
    per_address: int
    """Connections at once to one address."""
    per_network: int | None
    """Connections at once to the addresses of one network (/24, in IPv6 /48). When not given, any number."""
    network_gap: float
    """Least seconds between two openings of connections to the addresses of one network; 0 keeps no gap."""
    margin: float
    """Seconds added to every wait: a server sees the end of a visit a little later than we do."""
    crawl_delay_most: float
    """A longer Crawl-delay in robots.txt is taken as this, in seconds."""
    retry_after_most: float
    """A longer Retry-After is taken as this, in seconds."""
    too_often_pause: float
    """Seconds a site is left alone that answers 429 without a Retry-After."""
    robots_age: float
    """A robots.txt is asked for anew after so many seconds, at most 86,400."""

    # Limits of the crawl.

    max_pages: int | None
    """Stop after so many pages."""
    max_time: float | None
    """Stop after so many seconds."""
    max_bytes: int | None
    """Stop after so many bytes of content."""
    grace: float
    """Seconds that pages under way have to finish when the crawl is told to stop."""
    commit_every: float
    """Seconds between two commits."""
    checkpoint_bytes: int
    """A checkpoint of a worker's frontier is made when its log has grown by so many bytes, or by more where a
    checkpoint is larger."""

    # Retries.

    retry_pauses: list[float] | tuple[float, ...]
    """Seconds before the second, third … try of a page or site that failed; none: no retries."""
    name_recheck: float
    """Links to a name that does not exist are refused for so many seconds, then it is asked for again; 0: it is
    tried as a site that fails."""

    # Reading pages.

    requisites: bool
    """Also collect what a page needs to be shown: images, style sheets, scripts."""
    link_text: bool
    """Also keep what each link says and its relations (rel), in the columns of links."""
    script_links: bool
    """Also follow what looks like a link in JavaScript, by pattern; these are of the kind `js`."""
    max_links: int
    """Links of one page, in their order on it; 50,000 of a sitemap, as its protocol has it."""
    max_expanded_bytes: int
    """A content that expands beyond this is not read."""

    # URL rules.

    add_www: bool
    """Put www. before host names that are bare registered domains."""
    drop_index: bool
    """Remove index.html and its like from the end of a path."""
    drop_sessions: bool
    """Remove ids of sessions (jsessionid, PHPSESSID, sid …) from URLs."""
    drop_orders: bool
    """Remove what orders a server's list of a folder (?C=N;O=D)."""

    # Fetching.

    timeout: float
    """Seconds for one page, connecting included."""
    connect_timeout: float
    """Seconds to establish a connection."""
    max_header_bytes: int
    """An answer with a larger header is refused."""
    max_bytes_coming: int
    """Bytes that all answers of a worker may hold, beyond a megabyte each, until they are read; the one that began
    first is cut then."""
    accept_encoding: str
    """Content codings to ask for; br and zstd are understood too, but archive readers do not replay them."""
    proxy: str
    """Send every request through this proxy (http://…, socks5h://…); env:NAME: see headers."""
    headers: dict[str, str] | None
    """Further headers of every request, robots.txt included; a value env:NAME is taken from the environment."""
    verify_tls: bool
    """Refuse expired, self-signed and otherwise doubtful certificates."""
    ca_file: str
    """Certificate authorities to trust, as PEM; the system's own when empty."""

    # Names.

    dns: list[str] | tuple[str, ...]
    """Name servers to ask, as ADDRESS or ADDRESS:PORT; the system's when empty."""
    dns_timeout: float
    """Seconds a name server has to answer, before the next try."""
    dns_tries: int
    """How often each server is tried."""
    dns_shortest: float
    """An answer holds at least so many seconds."""
    dns_longest: float
    """An answer holds at most so many seconds."""
    dns_negative: float
    """The answer that there is no such name holds so many seconds."""

    # What else is found out about pages.

    stage: list[str] | tuple[str, ...]
    """Further stages of your own, which look at each page, as module:NAME."""
    text: Literal["no", "main", "whole", "both"]
    """Keep the text of pages: the main one, without menus and the like, the whole one, or both; of formats other
    than HTML it is the whole one. Which formats are collected at all is said by `types`."""
    text_as: Literal["columns", "warc", "both"]
    """Where texts are kept: as columns of `pages`, as conversion records in the volumes, or both."""
    text_bytes: int
    """What is kept of a text, in UTF-8."""
    text_seconds: float
    """How long a text may take; what was read until then is kept."""
    text_types: list[str] | tuple[str, ...]
    """The types of which texts are kept, as for `types`: pdf, text/* …."""
    detect_language: bool
    """Find out which language the text of a page is in; with `text`, also of other formats than HTML and plain
    text."""
    simhash: bool
    """Make a SimHash of the text of each page, by which near-duplicates are known: the column `simhash` of `pages`,
    for `weft duplicates`."""
    simhash_words: int
    """A text with fewer words has no SimHash, as one word more or less would change it."""
    detect_misread: bool
    """Note signs that a page was misread, which keep it from classifiers: the column `misread` of `pages`."""
    cloaking_sample: float
    """Share of the pages that are asked for a second time, as a browser would, to see whether these are shown
    something else: rows of the kind `check`, with `same_words`. Sites are told another User-Agent then."""

    # Storing.

    volume_bytes: int
    """A WARC volume is sealed when it has grown to so many bytes."""
    prefix: str
    """What the names of volumes begin with."""
    volumes: list[str] | tuple[str, ...]
    """Directories where volumes are written, on other disks perhaps, separated by commas; when one is full or fails
    the next is used, and when none is left the crawl pauses until there is room; empty: `volumes/` of the crawl's
    directory."""
    known: list[str] | tuple[str, ...]
    """Earlier crawls, by their directories, or indexes of archives (CDXJ): a page whose content one of them has is
    kept as a revisit record that refers to it, and both are needed for its replay; each is read once, when the
    crawl begins or goes on with it, and stays known."""
    store: str
    """Where sealed volumes move to, such as s3://bucket/prefix; endpoint, region and credentials come from the
    environment (AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY …); empty: they stay."""
    store_gathers: int
    """While the store is away or slow, sealed volumes gather locally up to so many bytes; then the crawl pauses
    until some have moved."""
    part_bytes: int
    """A part of the columns is sealed when its journal has grown to so many bytes."""
    part_seconds: float
    """A part of the columns is also sealed when it is so old, so that other programs see a crawl that runs; in a
    long run when it is a twentieth of the run's age, so that parts do not pile up; 0: never."""
    store_credentials: bool
    """Keep in the archive what was sent in confidence: values of headers that are settings or an application's,
    cookies of a crawl that sends such headers, bodies of POST; otherwise a mark stands in their place."""
    obey_noarchive: bool
    """Keep no record of pages that ask for it (`noarchive`, in a meta tag or in X-Robots-Tag): they are fetched and
    followed, and have their row; robots.txt files are kept. `noindex` changes nothing; what a page asks is in the
    column `robots`."""
    log: Literal["text", "json"]
    """How crawl.log and messages.log in log/ are written: text, or json, an object a line."""
    log_bytes: int
    """Crawl.log, faults.log and messages.log in log/ are put aside when they have so many bytes; 0: never."""
    log_keep: int
    """How many logs that were put aside are kept; 0: all of them."""
    sync: bool
    """Have every commit survive a power failure, not only the end of the process."""

    # Running.

    ordering: str
    """Which page first: an ordering of the papers, or one you add."""
    scores: str
    """File of URLs and scores that the ordering needs: true ones (omniscient) or those of an earlier crawl."""
    oracle: str
    """File of true scores, for historical-omniscient beside the old ones."""
    rerank: int
    """Pages between two computations of PageRank, for batch and partial (K)."""
    rerank_delay: int
    """Downloads from the beginning of such a computation to its effect (d); 0: the crawl stands still."""
    rerank_iterations: int
    """Iterations of each of them."""
    size_copies: bool
    """Count pages that are likely copies in the size of a site, for larger-sites-first and length."""
    workers: int
    """Processes that crawl; 0: one per core, but no more than there are registered domains in the scope."""
    memory: int | None
    """Memory that a worker may take; what is too much of its frontier is put away in files, by registered domain,
    and comes back when its turn comes; none: as much as it needs."""
    most_known: int | None
    """URLs that a worker keeps in memory at a time, beside what --memory allows."""
    speed: str
    """Target of the whole crawl, such as '200 pages/s' or '5 MB/s; 08:00-18:00 50 pages/min'; empty: none."""
    application_options: list[str] | tuple[str, ...]
    """What the application is made with, as name=value."""
    application_apart: bool
    """Give the application of each worker a process to itself."""
    application_seconds: float
    """How long one call of an application in a process to itself may take; after that its worker goes on from its
    last commit."""
    frontier: str
    """Database of the global frontier, such as postgresql://weft@db.example/crawls?schema=news, or env:NAME; the
    password comes from PGPASSWORD or ~/.pgpass; empty: a file in the directory."""
    strict_application: bool
    """End the crawl when the application raises an exception."""
    random_seed: int
    """What random choices follow from."""

    # What links count.

    weight_site: float
    """What a link within a site adds to a score."""
    weight_domain: float
    """What a link between two sites of a registered domain adds to it."""
    weight_address: float
    """What a link between two sites at one address adds to it."""
    weight_farm: float
    """What a link of a site adds that is taken for a part of a link farm."""

    # Watching over workers.

    hung_after: float
    """A worker that shows no sign of life for so many seconds is restarted."""
    node_lost_after: float
    """Of a crawl on several machines: a node that is silent for so many seconds counts as lost, and others go on
    with its sites from what it last sent of them."""
    parcel_every: float
    """Of a crawl in a database: seconds between two times that a worker sends what it knows of its sites; if its
    node is lost, what it fetched since is fetched again."""
    most_restarts: int
    """Leave a worker out when it dies more often than this in a row without a commit: its sites go to the others;
    where it is the only one the crawl ends."""

    # Who is told how it goes.

    metrics: str
    """Serve metrics for Prometheus at this ADDRESS:PORT, such as 127.0.0.1:9100; without an address on this machine
    alone, port 0 picks one; empty: do not."""
    report_every: float
    """Send a report so often, and when the run ends; 0: only then."""
    report_to: list[str] | tuple[str, ...]
    """Where reports go: mailto:you@example.org, or the URL of a webhook, which gets JSON; or env:NAME."""
    report_smtp: str
    """The server that takes mail: smtp://host:587 or smtps://host:465; with user@ before the host for a login,
    whose password is in the environment, as WEFT_SMTP_PASSWORD."""
    report_from: str
    """Who reports are from; the contact when it is a mail address, or weft@ this machine."""
