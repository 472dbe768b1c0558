"""Settings are checked where they are read: every number has bounds, every text can be kept in a file."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.config import PROFILES, SECTIONS, Settings, profile
from weft.errors import UsageError
from weft.frontier.overrides import Overrides, SiteSettings
from weft.graph import Recipe as Web
from weft.settings import build, flag_of, read, rule_of
from weft.sim.run import Conditions
from weft.sim.times import Weather
from weft.temporal.labels import Rules
from weft.temporal.reading import Reading
from weft.temporal.sites import SiteRules
from weft.temporal.worlds import Recipe as World
from weft.testbed.options import Options
from weft.testbed.serve import ServerSettings

CRAWL = [type(getattr(Settings(), section)) for section in SECTIONS]
ALL: list[Any] = [
    *(*CRAWL, SiteSettings, Conditions, Weather, Rules, Reading, SiteRules, Web, World, Options, ServerSettings)
]


def number_of(kind: Any) -> type | None:
    """Is it a setting in whole numbers, in others, or in none?"""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union, tuple):
        return next((found for part in parts if (found := number_of(part))), None)
    return kind if kind in (int, float) else None


NUMBERS = [
    pytest.param(section, known, number, id=f"{section.__name__}.{known.name}")
    for section in ALL
    for known in dataclasses.fields(section)
    if (number := number_of(typing.get_type_hints(section)[known.name]))
]


@pytest.mark.parametrize(("section", "known", "number"), NUMBERS)
def test_number__has_bounds_and_its_default_is_within(
    section: type, known: dataclasses.Field[Any], number: type
) -> None:
    """What is outside is refused by name, NaN and infinity with it, and nothing else is said."""
    rule = rule_of(known)
    least = rule.at_least if rule.above is None else rule.above
    assert least is not None, "setting(…, at_least=…)"
    many = typing.get_origin(typing.get_type_hints(section)[known.name]) is tuple
    if known.default is not None:
        assert read(section, {known.name: known.default}, where="") == {known.name: known.default}
    outside = [least - 1, -(10**30), math.nan, -math.inf, "nan", True, [[]]]
    outside += [least] if rule.above is not None else []
    if rule.at_most != math.inf:
        outside += [10**30, math.inf, *([rule.at_most + 1] if rule.at_most is not None else [])]
    outside += [least + 0.5] if number is int else []
    for value in outside:
        with pytest.raises(UsageError) as caught:
            read(section, {known.name: [value] if many else value}, where="here", spell=flag_of)
        assert caught.value.what.startswith(f"{flag_of(known.name)} cannot be ")
        assert caught.value.where == "here"
        assert caught.value.todo


@pytest.mark.parametrize("name", PROFILES)
def test_profile__keeps_to_the_bounds(name: str) -> None:
    """A profile goes the way of all settings."""
    profile(name).check()


def test_value__is_refused_by_the_name_that_was_written(tmp_path: Path) -> None:
    """A flag on the command line, a key and its section in a file, a keyword in Python."""
    with pytest.raises(UsageError, match="--wait cannot be '-5': give seconds, at least 0,"):
        Settings().with_values({"wait": "-5"}, where="", spell=flag_of)
    with pytest.raises(UsageError, match=r"^per_visit cannot be 0 \(weft\.crawl\): give a whole number, at least 1$"):
        Settings().with_values({"per_visit": 0}, where="weft.crawl")
    file = tmp_path / "my.toml"
    for text, words in (
        ("[politeness]\nwait = -5\n", ("wait cannot be -5", "my.toml, [politeness]")),
        ("[politeness]\nwait = nan\n", ("wait cannot be nan", "my.toml, [politeness]")),
        ('[limits]\nmax_bytes = "2 GBit"\n', ("max_bytes cannot be '2 GBit'", "[limits]", "'2 GiB'")),
        ('[sites."a.example"]\nwait = -1\n', ("wait cannot be -1", '[sites."a.example"]')),
        ('[sites."a.example"]\nheaders = {a = "b\\nc"}\n', ("headers cannot be", "the value of the header 'a'")),
        ("sites = 3\n", ("[sites]",)),
        ('sites = {"a.example" = 3}\n', ("a.example",)),
        ("[retries]\nretry_pauses = [1, -1]\n", ("retry_pauses cannot be [1, -1]", "a list")),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError) as caught:
            Settings().with_file(file)
        for word in words:
            assert word in str(caught.value)


def test_value__may_have_a_unit(tmp_path: Path) -> None:
    """In a file and from Python alike; what is kept, and written, is the number."""
    file = tmp_path / "my.toml"
    file.write_text('[limits]\nmax_bytes = "2 GB"\nmax_time = "1 d"\n[retries]\nretry_pauses = ["1 min", 5]\n')
    found = Settings().with_file(file).with_values({"wait": "10 min"}, where="weft.crawl")
    assert (found.limits.max_bytes, found.limits.max_time) == (2_000_000_000, 86_400.0)
    assert (found.retries.retry_pauses, found.politeness.wait) == ((60.0, 5.0), 600.0)
    assert "max_bytes = 2000000000\n" in found.to_toml()
    assert "wait = 600.0\n" in found.to_toml()


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("contact", ["", "me@example.org", "mailto:me@example.org", "https://me.example/", "http://a.example/b?c"], []),
        (
            "contact",
            [],
            ["notacontact", "me@", "@x", "ftp://a/", "https://", "a b@c", "x@y\r\nz: 1", "https://ü.example/"],
        ),
        ("agent", ["", "Mozilla/5.0 (compatible; x; +https://a.example)"], ["a\r\nHost: b", "a\0", "käse"]),
        ("prefix", ["weft", "my-crawl_2026.1", "käse"], ["", "a/b", "../..", ".hidden", "a b", "a\n", "x" * 101, "-x"]),
        ("proxy", ["", "http://127.0.0.1:3128", "socks5h://u:p@h:1", "host:3128"], ["ftp://x", "a b", "http://"]),
        ("speed", ["", "1 MB/s", "none", "5 pages/min; 08:00-18:00 none"], ["fast", "-1 pages/s", "nan pages/s"]),
        ("accept_encoding", ["gzip"], ["gzip\nx: y"]),
    ],
)
def test_text__is_checked_where_it_matters(name: str, good: list[str], bad: list[str]) -> None:
    """Who crawls can be reached, no header is smuggled in, and volumes stay in their folder."""
    for text in good:
        Settings().with_values({name: text}, where="here")
    for text in bad:
        with pytest.raises(UsageError, match=f"^{name} cannot be "):
            Settings().with_values({name: text}, where="here")


def test_headers__of_a_site_are_not_shown_when_they_are_refused() -> None:
    """Their values may be secrets."""
    for headers in ({"Authorization": "secret\n"}, {"a b": "secret"}, {"a": ["secret"]}):
        with pytest.raises(UsageError) as caught:
            build(SiteSettings, {"headers": headers}, where="here")
        assert "secret" not in str(caught.value)


def test_settings__that_contradict_each_other_are_refused() -> None:
    """A shortest wait above the longest one would be cut to it, which is less polite than was asked for."""
    for values in ({"wait_least": 120.0}, {"dns_shortest": 1e6}, {"commit_every": 61.0}):
        with pytest.raises(UsageError, match=next(iter(values))):
            Settings().with_values(values, where="here").check()
    Settings().with_values({"wait_least": 120.0, "wait_most": 300.0}, where="here").check()


texts = st.text(st.characters() | st.sampled_from("\x00\x07\t\n\r\x1b\"'\\\x7f\x85\u2028\ufeff\ud800"))
several = st.lists(texts, max_size=3)
kinds = {
    "exclude": several,
    "types": several,
    "ca_file": texts,
    "max_pages": st.integers(),
    "wait": st.floats(),
    "retry_pauses": st.lists(st.floats(), max_size=3),
}


@given(values=st.fixed_dictionaries({}, optional=kinds), headers=st.dictionaries(texts, texts, max_size=2), site=texts)
@example(values={"exclude": ["a\x7fb"]}, headers={}, site="a.example")
@example(values={"exclude": ["\ud800"]}, headers={}, site="a.example")
@example(values={}, headers={"a": "b"}, site='a"]\nx\x7f')
def test_settings__that_are_accepted_survive_their_file(
    values: dict[str, Any], headers: dict[str, str], site: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is taken is read again as it was; what could not be is refused before a file is written."""
    sites = {}
    try:
        found = Settings().with_values(values, where="here")
        sites[site.encode(errors="replace").decode()] = build(SiteSettings, {"headers": headers}, where="here")
    except UsageError:
        return
    found = dataclasses.replace(found, overrides=Overrides(sites=sites))
    read_again = Settings()
    for text in (found.to_toml(), found.secrets_toml()):
        file = tmp_path_factory.getbasetemp() / "again.toml"
        file.write_text(text, encoding="utf-8", newline="")
        read_again = read_again.with_file(file)
    assert read_again == found


@pytest.mark.parametrize("proxy", ["http://me:{}@h:1", "me:{}@h:1", "socks5h://{}@h:1", "http://{}:@h:1"])
def test_proxy__has_its_password_or_token_among_the_secrets(proxy: str) -> None:
    """Some take a token in the place of the user, and no password; `crawl.toml` has none of them."""
    settings = Settings().with_values({"proxy": proxy.format("t0ken")}, where="a test")
    assert settings.secret
    assert "t0ken" not in settings.to_toml()
    assert "h:1" in settings.to_toml()
    assert proxy.format("t0ken") in settings.secrets_toml()
    assert not Settings().with_values({"proxy": "http://h:1"}, where="a test").secret
