r"""Sites that are copies of others. In: a list of them, and a rule about names. Out: which site stands for a site.

A URL of a copy (a replica) is refused, and the same page of its original is asked for in its place (P3 5.4: the crawler
"replaces the replicas in the URLs by the originals"). The list is a text file that `weft duphosts` writes, or anybody:
a replica and its original a line; what stands behind # is a comment. The rule is that of P3 4.3.1: a name that is a
registered domain itself (example.org) gets `www.` before it; a longer one (shop.example.org) stays as it is, as there
the rule loses as many sites as it saves. What the list says comes first.

>>> known = parse("b.example\ta.example  # 40 of 40 contents\n", "here")
>>> made = Duphosts(known, www=True)
>>> made.original_of("b.example"), made.original_of("example.org"), made.original_of("shop.example.org")
('a.example', 'www.example.org', 'shop.example.org')
>>> made.url_of("https://b.example/x?y")
'https://a.example/x?y'
"""

from __future__ import annotations

from pathlib import Path

from weft.errors import UsageError
from weft.urls import host_of, normal_form, registrable, site_of


class Duphosts:
    """Which site stands for which; the scope of a crawl owns it. No original is itself a replica."""

    def __init__(self, originals: dict[str, str], *, www: bool) -> None:
        self._originals = originals
        self._kept = frozenset(originals.values())  # a list that chose them knows better
        self._www = www

    def __repr__(self) -> str:
        return f"Duphosts({len(self._originals)} replicas{', www' if self._www else ''})"

    def original_of(self, site: str) -> str:
        """The site that stands for a site: mostly itself."""
        found = self._originals.get(site)
        if found is not None:
            return found
        if self._www and site not in self._kept:
            host = host_of(site)
            if registrable_itself(host):
                named = f"www.{site}"
                return self._originals.get(named, named)
        return site

    def url_of(self, url: str) -> str:
        """A URL with the original in place of the replica."""
        site = site_of(url)
        original = self.original_of(site)
        return url if original == site else url.replace(site, original, 1)


def registrable_itself(host: str) -> bool:
    """Is a name what somebody bought, and no more?"""
    return registrable(host) == host


def read_duphosts(path: str, *, www: bool) -> Duphosts | None:
    """What a crawl's settings say; None where nothing stands for anything else."""
    if not path:
        return Duphosts({}, www=True) if www else None
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot read the list of duplicate hosts: {error.strerror}",
            where=path,
            todo="give a file that `weft duphosts` wrote",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError("the list of duplicate hosts is not in UTF-8", where=path) from error
    return Duphosts(parse(text, path), www=www)


def parse(text: str, where: str) -> dict[str, str]:
    """The original of each replica in a list; one that is itself a replica is followed to its own."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        sites = [_site(word) for word in words]
        if len(sites) != 2 or None in sites or sites[0] == sites[1]:
            raise UsageError(
                f"this is no pair of sites: {line[:80]!r}",
                where=f"{where}, line {number}",
                todo="write a replica and its original, such as 'b.example a.example'",
            )
        replica, original = (str(site) for site in sites)
        if found.setdefault(replica, original) != original:
            raise UsageError(f"{replica} has two originals", where=f"{where}, line {number}", todo="choose one of them")
    return {replica: _last(found, replica, where) for replica in found}


def _last(found: dict[str, str], replica: str, where: str) -> str:
    """The site at the end of a chain."""
    passed = {replica}
    site = found[replica]
    while site in found:
        if site in passed:
            raise UsageError(f"{site} stands for itself by way of others", where=where, todo="break the circle")
        passed.add(site)
        site = found[site]
    return site


def _site(word: str) -> str | None:
    """A site as it is written, in normal form."""
    url = None if "/" in word else normal_form(f"http://{word}/")
    return site_of(url) if type(url) is str else None
