"""The settings of a crawl, composed once: every section is defined beside the code that reads it.

A setting has one name everywhere: `per_visit` in Python, `--per-visit` on the command line, `per_visit` under
`[politeness]` in a settings file. What is given later wins: defaults, profile, settings file, command line.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.engine.gate import Identity
from weft.engine.limits import Limits
from weft.engine.watchdog import Watching
from weft.errors import UsageError
from weft.fetch.options import Fetching, Naming
from weft.frontier.local.bounds import LEAST
from weft.frontier.overrides import Overrides, SiteSettings
from weft.frontier.pace import Speed
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.frontier.shared.address import complaint as address_complaint
from weft.frontier.shared.address import password_in
from weft.operations.options import Reporting
from weft.ordering.weights import LinkWeights
from weft.parse.options import Reading
from weft.settings import HIDDEN, build, flag_of, load_toml, read, setting, unknown
from weft.stages import Staging
from weft.store.volumes import Storing
from weft.urls import UrlRules


def _name_complaint(name: str) -> str:
    return "" if not name or all(name.partition(":")) else "write module:Class, such as my_crawl:MyApplication"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How the crawl is run."""

    ordering: str = setting("breadth-first", "which page first: an ordering of the papers, or one you add")
    scores: str = setting(
        "", "file of URLs and scores that the ordering needs: true ones (omniscient) or those of an earlier crawl"
    )
    oracle: str = setting("", "file of true scores, for historical-omniscient beside the old ones")
    rerank: int = setting(100_000, "pages between two computations of PageRank, for batch and partial (K)", at_least=1)
    rerank_delay: int = setting(
        1_000,
        "downloads from the beginning of such a computation to its effect (d); 0: the crawl stands still",
        at_least=0,
    )
    rerank_iterations: int = setting(2, "iterations of each of them", at_least=1)
    size_copies: bool = setting(
        True, "count pages that are likely copies in the size of a site, for larger-sites-first and length"
    )
    workers: int = setting(
        0,
        "processes that crawl; 0: one per core, but no more than there are registered domains in the scope",
        at_least=0,
    )
    memory: int | None = setting(
        None,
        "memory that a worker may take; what is too much of its frontier is put away in files, by registered domain, "
        "and comes back when its turn comes; none: as much as it needs",
        at_least=LEAST,
        unit="bytes",
    )
    most_known: int | None = setting(
        None,
        "URLs that a worker keeps in memory at a time, beside what --memory allows",
        at_least=100,
    )
    speed: str = setting(
        "",
        "target of the whole crawl, such as '200 pages/s' or '5 MB/s; 08:00-18:00 50 pages/min'; empty: none",
        check=Speed.complaint,
    )
    application: str = setting(
        "",
        "an application of your own, as module:Class; made by every worker, it chooses what to request: the scope is "
        "all then, and no depth is too large, unless they are given",
        check=_name_complaint,
    )
    application_options: tuple[str, ...] = setting((), "what the application is made with, as name=value")
    application_apart: bool = setting(False, "give the application of each worker a process to itself")
    application_seconds: float = setting(
        60.0,
        "how long one call of an application in a process to itself may take; after that its worker goes on from its "
        "last commit",
        above=0,
        unit="seconds",
    )
    frontier: str = setting(
        "",
        "database of the global frontier, such as postgresql://weft@db.example/crawls?schema=news, or env:NAME; the "
        "password comes from PGPASSWORD or ~/.pgpass; empty: a file in the directory",
        check=address_complaint,
    )
    strict_application: bool = setting(False, "end the crawl when the application raises an exception")
    random_seed: int = setting(0, "what random choices follow from", at_least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set."""

    identity: Identity = field(default_factory=Identity)
    selection: Selection = field(default_factory=Selection)
    politeness: Politeness = field(default_factory=Politeness)
    limits: Limits = field(default_factory=Limits)
    retries: Retries = field(default_factory=Retries)
    reading: Reading = field(default_factory=Reading)
    urls: UrlRules = field(default_factory=UrlRules)
    fetching: Fetching = field(default_factory=Fetching)
    naming: Naming = field(default_factory=Naming)
    stages: Any = field(default_factory=Staging)
    storing: Storing = field(default_factory=Storing)
    running: Running = field(default_factory=Running)
    weights: LinkWeights = field(default_factory=LinkWeights)
    watching: Watching = field(default_factory=Watching)
    reporting: Reporting = field(default_factory=Reporting)
    overrides: Overrides = field(default_factory=Overrides)

    def with_values(self, values: dict[str, Any], *, where: str, spell: Callable[[str], str] = str) -> Settings:
        """The same with some settings changed, each by its own name; `spell` writes names as the user did."""
        homes = {name: section for section, fields in SECTIONS.items() for name in fields}
        changed: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            if name not in homes:
                raise unknown(spell(name), map(spell, homes), where=where)
            changed.setdefault(homes[name], {})[name] = value
        sections = {
            name: dataclasses.replace(held, **read(type(held), given, where=where, spell=spell))
            for name, given in changed.items()
            if (held := getattr(self, name)) is not None
        }
        return dataclasses.replace(self, **sections)

    def with_file(self, path: Path) -> Settings:
        """The same with what a settings file says."""
        found = load_toml(path)
        found.pop("crawl", None)  # what a crawl writes about itself
        sections: dict[str, Any] = {}
        for name, values in found.items():
            if name not in (*SECTIONS, "sites") or not isinstance(values, dict):
                raise UsageError(
                    f"unknown section '[{name}]'", where=str(path), todo=f"known: {', '.join([*SECTIONS, 'sites'])}"
                )
            if name != "sites":
                held = getattr(self, name)
                given = read(type(held), values, where=f"{path}, [{name}]")
                sections[name] = dataclasses.replace(held, **given)
        return dataclasses.replace(self, **sections).with_sites(found.get("sites", {}), where=str(path))

    def with_sites(self, sites: Mapping[str, Mapping[str, Any]], *, where: str) -> Settings:
        """The same with the settings of single sites, by name."""
        overrides = {name: _site(name, values, where) for name, values in sites.items()}
        return dataclasses.replace(self, overrides=Overrides(sites={**self.overrides.sites, **overrides}))

    def check(self) -> None:
        """Refuse settings of which each is possible and which together are not."""
        held = {name: getattr(getattr(self, section), name) for section, names in SECTIONS.items() for name in names}
        for lesser, larger in _ORDERED:
            if held[lesser] > held[larger]:
                raise UsageError(
                    f"{lesser} is {held[lesser]:g}, and {larger} only {held[larger]:g}",
                    todo=f"lower {lesser}, or raise {larger} ({flag_of(larger)})",
                )

    def to_toml(self) -> str:
        """All settings as a settings file; secrets are named and not shown."""
        shown = self._each_secret(_hide)
        lines = []
        for section, names in SECTIONS.items():
            lines.append(f"[{section}]")
            held = getattr(shown, section)
            lines += [f"{name} = {toml(value)}" for name in names if (value := getattr(held, name)) is not None]
            lines.append("")
        for name, site in shown.overrides.sites.items():
            lines += _site_toml(name, site)
        return "\n".join(lines)

    # Secrets.

    @property
    def secret(self) -> bool:
        """Is there anything in them that is nobody else's business?"""
        return bool(self.fetching.headers or _password(self.fetching.proxy)) or any(
            site.headers for site in self.overrides.sites.values()
        )

    def secrets_toml(self) -> str:
        """What `to_toml` does not show, as a settings file; "" where that is nothing."""
        shown = self._each_secret(_hide)
        lines = []
        if shown.fetching != self.fetching:
            values = {"headers": self.fetching.headers, "proxy": self.fetching.proxy}
            lines = ["[fetching]", *(f"{key} = {toml(value)}" for key, value in values.items() if value), ""]
        if shown.running != self.running:
            lines += ["[running]", f"frontier = {toml(self.running.frontier)}", ""]
        if shown.reporting != self.reporting:
            lines += ["[reporting]", f"report_to = {toml(self.reporting.report_to)}", ""]
        for name, site in self.overrides.sites.items():
            if shown.overrides.sites[name] != site:
                lines += _site_toml(name, site)
        return "\n".join(lines)

    @property
    def incomplete(self) -> bool:
        """Is a secret named whose value is not there?"""
        headers = [self.fetching.headers, *(site.headers for site in self.overrides.sites.values())]
        texts = [self.fetching.proxy, self.running.frontier, *self.reporting.report_to]
        return any(HIDDEN in text for text in texts) or any(HIDDEN in (given or {}).values() for given in headers)

    def revealed(self) -> Settings:
        """The same with values written as env:NAME taken from the environment."""
        return self._each_secret(_from_environment, whole=True)

    def _each_secret(self, change: Callable[[str], str], *, whole: bool = False) -> Settings:
        """The same with every header value, the passwords of proxy and database, and the paths of webhooks changed;
        `whole`: proxy and webhooks as a whole.
        """

        def headers(given: dict[str, str] | None) -> dict[str, str] | None:
            return None if given is None else {name: change(value) for name, value in given.items()}

        proxy = change(self.fetching.proxy) if whole else _proxy(self.fetching.proxy, change)
        fetching = dataclasses.replace(self.fetching, headers=headers(self.fetching.headers), proxy=proxy)
        sites = {
            name: dataclasses.replace(site, headers=headers(site.headers))
            for name, site in self.overrides.sites.items()
        }
        running = dataclasses.replace(self.running, frontier=_database(self.running.frontier, change))
        targets = tuple(change(each) if whole else _webhook(each, change) for each in self.reporting.report_to)
        reporting = dataclasses.replace(self.reporting, report_to=targets)
        return dataclasses.replace(
            self, fetching=fetching, running=running, reporting=reporting, overrides=Overrides(sites=sites)
        )


SECTIONS: dict[str, list[str]] = {
    section.name: [known.name for known in dataclasses.fields(section.default_factory)]  # type: ignore[arg-type]
    for section in dataclasses.fields(Settings)
    if section.name != "overrides"
}

# The first is never above the second. A worker shows that it lives with every commit.
_ORDERED = (
    ("wait_least", "wait_most"),
    ("dns_shortest", "dns_longest"),
    ("commit_every", "hung_after"),
    ("hung_after", "node_lost_after"),
)

PROFILES: dict[str, dict[str, Any]] = {
    # P0 section 7: the crawl of the Chilean web in 2004.
    "wire": {"wait": 15.0, "per_visit": 1, "connections": 1000},
    # P1: gentler to small sites, which are on weaker machines.
    "country": {"wait": 5.0, "wait_small": 15.0, "small_site": 100},
    # P3 table 7: the thresholds of the Portuguese crawls.
    "vn": {
        "wait": 2.0,
        "max_site_pages": 5000,
        "max_depth": 5,
        "max_depth_dynamic": 5,
        "max_bytes_page": 2_000_000,
        "timeout": 60.0,
        "max_url": 200,
        "max_site_duplicates": 10,
        "external": "home-page",
    },
}


_DEEPEST = 65_535  # as a frontier counts
APPLICATION: dict[str, Any] = {"scope": "all", "max_depth": _DEEPEST, "max_depth_dynamic": _DEEPEST}
"""What is usual where an application chooses what to request."""


def profile(name: str, base: Settings | None = None) -> Settings:
    """The settings of a profile, on top of others."""
    if name not in PROFILES:
        raise UsageError(f"there is no profile called '{name}'", todo=f"choose one of: {', '.join(PROFILES)}")
    return (base or Settings()).with_values(PROFILES[name], where=f"profile {name}")


_ENVIRONMENT = "env:"


def _hide(value: str) -> str:
    """What is shown of a secret; that one stands in the environment is none."""
    return value if value.startswith(_ENVIRONMENT) else HIDDEN


def _from_environment(value: str) -> str:
    if not value.startswith(_ENVIRONMENT):
        return value
    name = value.removeprefix(_ENVIRONMENT)
    found = os.environ.get(name)
    if not found:
        raise UsageError(
            f"the environment has no variable {name}, which a setting names", where=value, todo="set it, or the value"
        )
    return found


def _proxy(url: str, change: Callable[[str], str]) -> str:
    """A proxy with its password changed."""
    password = _password(url)
    if not password:
        return url
    start = url.rindex("@") - len(password)
    return f"{url[:start]}{change(password)}{url[start + len(password) :]}"


def _database(address: str, change: Callable[[str], str]) -> str:
    """A database's address with its password changed."""
    password = password_in(address)
    return address.replace(f":{password}@", f":{change(password)}@", 1) if password else address


def _webhook(target: str, change: Callable[[str], str]) -> str:
    """Where reports go, with what stands behind the host of a URL changed: it may be all that a sender must know."""
    scheme, colon, rest = target.partition("://")
    host, slash, path = rest.partition("/")
    if "@" in host:  # a name and a password are none of anybody's business either
        user, _, host = host.rpartition("@")
        host = f"{change(user)}@{host}"
    return f"{scheme}{colon}{host}{slash}{change(path) if path else ''}"


def _password(url: str) -> str:
    """The password in a proxy's URL, as it is written; the user's name where there is none, as it is a token then."""
    rest = url.partition("://")[2] or url
    userinfo = rest.rpartition("@")[0]
    return userinfo.partition(":")[2] or userinfo


def _site(name: str, values: Any, where: str) -> SiteSettings:
    place = f'{where}, [sites."{name}"]'
    if not isinstance(values, Mapping):
        raise UsageError(f"'{name}' is no section", where=place, todo=f'write [sites."{name}"] and its settings below')
    return build(SiteSettings, dict(values), where=place)


def _site_toml(name: str, site: SiteSettings) -> list[str]:
    values = ((known.name, getattr(site, known.name)) for known in dataclasses.fields(site))
    given = [f"{key} = {toml(value)}" for key, value in values if value is not None]
    return [f"[sites.{toml(name)}]", *given, ""]


def toml(value: Any) -> str:
    """A value as a settings file has it.

    >>> toml(True), toml((1.5, "a")), toml({"Accept": "*/*"})
    ('true', '[1.5, "a"]', '{"Accept" = "*/*"}')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # which JSON may have as it is, TOML not
