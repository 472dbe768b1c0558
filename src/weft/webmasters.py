"""The page for webmasters. In: the settings of a crawl. Out: one HTML page that its User-Agent can point at: who
crawls, why, how politely, and how to be left alone.

It says what the settings say, so that it cannot promise what the crawl does not do, and nothing of any site: which
requests a host got is told to whoever asks the contact, and by nobody on the web.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.config import Settings
from weft.errors import UsageError
from weft.printing.page import Page
from weft.units import span


def made_page(settings: Settings, addresses: Sequence[str] = ()) -> Page:
    """The page of a crawl with these settings, which comes from some addresses if they are given."""
    identity = settings.identity
    if not identity.contact:
        raise UsageError(
            "the crawl has no contact", todo="give `contact` in its settings: it is what webmasters look for here"
        )
    who = identity.operator or identity.contact
    page = Page(f"The crawler {identity.product}", f"{who} crawls the web with it. This page is for webmasters.")
    _who(page, settings, addresses)
    _left_alone(page, settings)
    _manners(page, settings)
    _contact(page, settings)
    return page


def _who(page: Page, settings: Settings, addresses: Sequence[str]) -> None:
    identity = settings.identity
    page.section("Who crawls, and why")
    facts = {"who": identity.operator or identity.contact, "User-Agent": identity.user_agent}
    if identity.description:
        facts["what for"] = identity.description
    if identity.collection:
        facts["part of"] = identity.collection
    if addresses:
        facts["comes from"] = ", ".join(addresses)
    page.values(facts | {"contact": identity.contact})
    if addresses:
        page.paragraph("Whoever comes under this name from another address is somebody else.")


def _left_alone(page: Page, settings: Settings) -> None:
    product = settings.identity.product
    page.section("How to be left alone")
    if settings.selection.robots == "ignore":
        page.warnings(["This crawl does not follow robots.txt. Write to the contact, and your site is left out."])
        return
    page.paragraph(
        f"Say so in the file robots.txt of your site. Rules for {product} count before those for everybody (*). The "
        f"file is asked for again after {span(settings.politeness.robots_age)} at the latest."
    )
    page.heading("All of the site")
    page.code(f"User-agent: {product}\nDisallow: /")
    page.heading("A part of it")
    page.code(f"User-agent: {product}\nDisallow: /private/\nDisallow: /*?sort=")
    page.heading("More slowly")
    page.code(f"User-agent: {product}\nCrawl-delay: 30")
    most = span(settings.politeness.crawl_delay_most)
    page.paragraph(f"There are so many seconds between two requests then, up to {most}.")
    page.paragraph(
        "Links with rel=nofollow, and pages with a robots meta tag or an X-Robots-Tag header that says nofollow, lead "
        "to no further requests."
    )
    if any(each.robots == "ignore" for each in settings.overrides.sites.values()):
        page.warnings(["For some sites, by name, this crawl has other rules about robots.txt; ask the contact."])


def _manners(page: Page, settings: Settings) -> None:
    politeness, selection = settings.politeness, settings.selection
    page.section("What to expect")
    wait = (
        f"{politeness.wait_factor:g} times as long as your server took last, {politeness.wait_least:g} s at least"
        if politeness.wait is None
        else f"{politeness.wait:g} s"
    )
    pages = "one page" if politeness.per_visit == 1 else f"up to {politeness.per_visit:,} pages"
    at_once = f"{politeness.per_domain:,} to all sites of a domain, and {politeness.per_address:,} to one address"
    said = [
        f"One connection to a site at a time, for {pages}; then the site rests: {wait}.",
        f"At most so many connections at once: {at_once}.",
        f"At most {selection.max_site_pages:,} pages of a site.",
        f"A Retry-After header of an answer 429 or 503 is obeyed, up to {span(politeness.retry_after_most)}.",
        "Scripts are not run.",
    ]
    if not settings.running.application:
        said.append("Forms are not filled in, and nothing is sent to your site but requests for pages.")
    page.bullets(said)


def _contact(page: Page, settings: Settings) -> None:
    page.section("Which requests your site got")
    page.paragraph(
        "That is not shown here, since this page cannot know whose site is whose. Your own log has every request, "
        f"under the User-Agent above. For ours, or for anything else, write to {settings.identity.contact}: say which "
        "site it is, when, and how we know that it is yours, such as by writing from its domain."
    )
