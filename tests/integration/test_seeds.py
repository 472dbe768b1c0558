"""`weft seeds` with real name servers, servers and crawls."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.commands import completed, ending, weft
from tests.crawling import crawl, make_web, rows, settings_for
from tests.hostile.names import AAAA, NOERROR, SERVFAIL, A, NameServer, Zone, name_server
from tests.patience import PATIENCE
from tests.small_site import Answer, SmallSite, links, small_site

from weft.app import run
from weft.directory import Plan
from weft.explain import explain_url
from weft.manage import managing
from weft.seeding.outcomes import Seeds, seeds_report
from weft.testbed.bed import Bed, serving
from weft.testbed.options import Options
from weft.urls import site_of

ONE_CRAWL = pytest.mark.xdist_group("crawl of seeds")  # it is made once
LOCAL = ("--allow-address", "127.0.0.0/8")
GOOD = "final and status = 200 and reason is null and kind not in ('robots', 'map')"


def asked_for(server: NameServer, name: str) -> list[int]:
    """The types that were asked for of a name."""
    return [kind for other, kind in server.asked if other == name]


# --- check ---


ZONE: Zone = {
    ("good.test", A): ["127.0.0.1"],
    ("www.good.test", A): ["127.0.0.1"],
    ("six.test", AAAA): ["::1"],
    ("inside.test", A): ["10.0.0.1"],
    ("empty.test", A): NOERROR,
    ("broken.test", A): SERVFAIL,
}


@pytest.fixture
def names() -> Iterator[NameServer]:
    """A name server that knows a few names."""
    with name_server(dict(ZONE)) as server:
        yield server


def checked(*arguments: Any, code: int) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """What `weft seeds check --json` says, by what was written; and as a whole."""
    ended, out, err = ending("seeds", "check", *arguments, "--json")
    assert ended == code, (out, err)
    found = json.loads(out)
    return {each["written"]: each for each in found["all"]}, found


def test_check__says_of_each_seed_what_is_known(names: NameServer, tmp_path: Path) -> None:
    """Of every kind one, with the reason; each name is asked for once; the usable ones are written in normal form."""
    texts = [
        "good.test",
        "HTTP://Good.test:80/#top",
        "https://www.good.test/",
        "http://six.test/",
        "http://inside.test/",
        "http://empty.test/",
        "http://broken.test/",
        "http://nobody.test/a",
        "http://nobody.test/b",
        "mailto:x",
        "http://good.test/private/",
    ]
    path, out = tmp_path / "seeds.txt", tmp_path / "usable.txt"
    path.write_text("\n".join(texts))
    options = (
        "--dns",
        names.at,
        "--allow-address",
        "127.0.0.0/8",
        "--allow-address",
        "::1/128",
        "--exclude",
        "private",
    )
    found, whole = checked(path, "--out", out, *options, code=1)
    assert {written: each["reason"] or each["verdict"] for written, each in found.items()} == dict(
        zip(
            texts,
            [
                *("usable", "duplicate", "usable", "usable", "dns-special", "dns-not-found", "dns-failed"),
                *("dns-not-found", "dns-not-found", "not-a-url", "excluded"),
            ],
            strict=True,
        )
    )
    assert found["https://www.good.test/"]["same_as"] == "http://good.test/"
    assert found["HTTP://Good.test:80/#top"]["same_as"] == f"{path}, line 1"
    assert found["http://nobody.test/a"]["because"] == "There is no such name."
    assert whole["twins"] == 1
    assert out.read_text() == "http://good.test/\nhttps://www.good.test/\nhttp://six.test/\n"
    assert asked_for(names, "nobody.test") == [A, AAAA]
    assert asked_for(names, "good.test") == [A]
    assert weft("seeds", "check", out, *options).count("usable") >= 3


def test_check__ends_with_0_when_all_are_usable_and_2_for_misuse(names: NameServer, tmp_path: Path) -> None:
    """A duplicate is no fault; a missing file, an unknown setting and no seed at all are misuse."""
    assert checked("good.test", "http://good.test/", "--dns", names.at, *LOCAL, code=0)[1]["ok"]
    empty = tmp_path / "empty"
    empty.write_text("# nothing\n")
    for arguments in (["no-such.txt"], [], ["good.test", "--wiat", "1"], [str(empty)], ["good.test", "--dns", "x y"]):
        code, out, err = ending("seeds", "check", *arguments)
        assert (code, out) == (2, ""), (arguments, err)
        assert err.startswith("weft: ")


def test_check__says_nothing_of_names_when_no_name_server_answers(names: NameServer) -> None:
    """That is our failure: it is told, and no seed is called bad for it."""
    names.dumb = True
    code, out, err = ending(
        "seeds", "check", "good.test", "--dns", names.at, "--dns-timeout", "0.2", "--dns-tries", "1"
    )
    assert (code, out) == (1, "")
    assert "no name server answers" in err
    assert names.at in err


def test_check__asks_nobody_without_names(names: NameServer) -> None:
    """What can be said by looking is said."""
    assert checked("good.test", "nobody.test", "--dns", names.at, "--no-names", code=0)[1]["verdicts"] == {"usable": 2}
    assert names.asked == []


def test_check__reads_standard_input(names: NameServer) -> None:
    """In a pipe."""
    done = completed("seeds", "check", "-", "--dns", names.at, *LOCAL, stdin="good.test\nnobody.test\n")
    assert done.returncode == 1
    assert "standard input, line 2" in done.stdout


PAGES: dict[str, Any] = {
    "/robots.txt": Answer(b"User-agent: *\nDisallow: /private", "text/plain"),
    "/": links("/a"),
    "/moved": Answer(status=301, headers=(("Location", "/there"),)),
    "/missing": Answer(status=404),
    "/private": links("/a"),
}


def test_check__fetches_each_once_and_obeys_robots() -> None:
    """The server sees one request a seed and none for what robots.txt disallows; nothing is followed."""
    with small_site(PAGES) as site:
        urls = [site.url(path) for path in ("/", "/moved", "/missing", "/private")]
        config = ("--fetch", "--no-names")
        found, _ = checked(*urls, *config, code=1)
        assert [(found[url]["status"], found[url]["reason"], found[url]["redirect"]) for url in urls] == [
            (200, None, None),
            (301, None, site.url("/there")),
            (404, "status-4xx", None),
            (None, "robots", None),
        ]
        assert sorted(site.asked) == ["/", "/missing", "/moved"]


def test_check__fetches_nobody_without_a_contact(names: NameServer) -> None:
    """A webmaster must be able to complain to somebody: it is misuse, as for a crawl."""
    names.zone[("far.test", A)] = ["93.184.216.34"]
    code, _, err = ending("seeds", "check", "far.test", "--dns", names.at, "--fetch")
    assert code == 2
    assert "no contact" in err


# --- from-domains ---


def listing(path: Path, count: int) -> Path:
    """Every third name is registered, and every sixth has a www. too."""
    path.write_text("".join(f"name-{number}.test\n" for number in range(count)))
    return path


def zone_of(count: int) -> Zone:
    """What a name server knows of it."""
    zone: Zone = {(f"name-{number}.test", A): ["127.0.0.1"] for number in range(0, count, 3)}
    zone |= {(f"www.name-{number}.test", A): ["127.0.0.2"] for number in range(0, count, 6)}
    return zone


def test_domains__are_seeds_where_they_have_an_address(tmp_path: Path) -> None:
    """Names that are not registered stay out, and cost two questions; nothing is left beside the seeds."""
    path, out = listing(tmp_path / "list", 60), tmp_path / "seeds.txt"
    zone = zone_of(60) | {("name-1.test", A): SERVFAIL, ("name-2.test", A): ["10.0.0.1"], ("name-4.test", A): NOERROR}
    with name_server(zone) as server:
        made = json.loads(weft("seeds", "from-domains", path, "--out", out, "--dns", server.at, *LOCAL, "--json"))
        assert asked_for(server, "name-7.test") == [A, AAAA]
        assert asked_for(server, "www.name-7.test") == []
        repeated = len(asked_for(server, "name-1.test")) + len(asked_for(server, "www.name-1.test")) - 3
        assert made["questions"] == len(server.asked) - repeated
    expected = sorted(f"name-{number}.test" for number in range(0, 60, 3))
    assert out.read_text().split() == [
        url
        for name in expected
        for url in (f"http://{name}/", f"http://www.{name}/")
        if url.removeprefix("http://www.") == url or ("www." + name + "", A) in zone
    ]
    assert made["counts"] == {"with_seeds": 20, "not_registered": 37, "no_address": 1, "failed": 1, "special": 1}
    assert (made["seeds"], made["names"], made["resumed"]) == (30, 60, 0)
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("seeds")] == ["seeds.txt"]


def test_domains__know_a_registry_that_answers_for_any_name(tmp_path: Path) -> None:
    """What has the addresses of an absurd name is not registered (P3 4.1); another address is somebody's own."""
    path, out = listing(tmp_path / "list", 10), tmp_path / "seeds.txt"
    with name_server({("name-3.test", A): ["127.0.0.1"]}) as server:
        server.every = "127.0.0.99"
        # `every` is what any name has, a registered one apart.
        answer = server.answer

        def own(data: bytes) -> bytes:
            server.every = "" if b"\x06name-3\x04test" in data else "127.0.0.99"
            return answer(data)

        server.answer = own  # type: ignore[method-assign]
        made = json.loads(weft("seeds", "from-domains", path, "--out", out, "--dns", server.at, *LOCAL, "--json"))
    assert made["wild"] == ["test"]
    assert made["counts"]["not_registered"] == 9
    assert "http://name-3.test/" in out.read_text().split()


def test_domains__are_asked_for_no_faster_than_allowed(tmp_path: Path) -> None:
    """The server's side: so many questions take so much time at least."""
    path, rate = listing(tmp_path / "list", 60), 100.0
    with name_server(zone_of(60)) as server:
        began = time.monotonic()
        options = ("--questions-per-second", str(rate), "--names-at-once", "5", "--dns", server.at, *LOCAL)
        weft("seeds", "from-domains", path, "--out", tmp_path / "seeds.txt", *options)
        took = time.monotonic() - began
        # What may come at once: a tenth of a second's, and the second questions of five names.
        assert took >= (len(server.asked) - rate / 10 - 5) / rate


def begun(path: Path, out: Path, server: NameServer, *, done: int) -> subprocess.Popen[bytes]:
    """The command in a process of its own, when so many names are done, on disk, and not all."""
    command = [sys.executable, "-m", "weft", "seeds", "from-domains", str(path), "--out", str(out), "--dns", server.at]
    options = [*LOCAL, "--questions-per-second", "40", "--names-at-once", "10"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until, state = time.monotonic() + PATIENCE, Path(f"{out}.asking") / "state.json"
    while not state.exists() or json.loads(state.read_bytes())["done"] < done:
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < until
        time.sleep(0.01)
    return process


def test_domains__go_on_after_a_kill(tmp_path: Path) -> None:
    """What is written is what an undisturbed run writes, and what was done is not asked for again."""
    path, out = listing(tmp_path / "list", 400), tmp_path / "seeds.txt"
    with name_server(zone_of(400)) as server:
        process = begun(path, out, server, done=20)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        done = json.loads((Path(f"{out}.asking") / "state.json").read_bytes())["done"]
        assert 20 <= done < 400
        assert not out.exists()
        before = len(server.asked)
        made = json.loads(weft("seeds", "from-domains", path, "--out", out, "--dns", server.at, *LOCAL, "--json"))
        names = [line.strip() for line in sorted(path.read_text().split())]
        again = {name for name, _ in server.asked[before:]}
        assert made["resumed"] == done
        assert not again & set(names[:done])
        whole = tmp_path / "whole.txt"
        undisturbed = json.loads(
            weft("seeds", "from-domains", path, "--out", whole, "--dns", server.at, *LOCAL, "--json")
        )
    assert out.read_bytes() == whole.read_bytes()
    assert made["counts"] == undisturbed["counts"]


def test_domains__stop_when_no_name_server_answers_and_go_on(tmp_path: Path) -> None:
    """No name is called unregistered for it; the same command goes on, another listing there is refused."""
    path, out = listing(tmp_path / "list", 30), tmp_path / "seeds.txt"
    with name_server(zone_of(30)) as server:
        command = ("seeds", "from-domains", path, "--out", out, "--dns", server.at, *LOCAL)
        server.dumb = True
        code, _, err = ending(*command, "--dns-timeout", "0.2", "--dns-tries", "1")
        assert code == 1
        assert "no name server answers" in err
        assert not out.exists()
        server.dumb = False
        other = listing(tmp_path / "other", 31)
        code, _, err = ending("seeds", "from-domains", other, "--out", out, "--dns", server.at, *LOCAL)
        assert code == 2
        assert "another listing" in err
        weft(*command)
    assert len(out.read_text().split()) == 15


# --- from-crawl, report ---


class Crawled(NamedTuple):
    """A crawl whose seeds came to everything that seeds can come to."""

    out: Path
    bed: Bed
    site: SmallSite
    seeds: list[str]

    @property
    def report(self) -> Seeds:
        """What became of them."""
        return seeds_report(self.out)


def settings(bed: Bed, **changes: Any) -> Any:
    """Of that crawl."""
    values = {"scope": "site", "exclude": ["/excluded"], "contact": "me@example.org", "retry_pauses": [0.05]}
    return settings_for(bed, **(values | changes))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Sites of the testbed, a site with answers of its own, and names that do not exist."""
    out = tmp_path_factory.mktemp("seeds") / "crawl"
    web = make_web(Options(dns_failing=0.1, robots_errors=0.1), sites=40, pages=600, largest=60)
    pages = PAGES | {
        "/there": links("/a", "/b"),
        "/a": b"a",
        "/b": b"b",
        "/round": _to("/round2"),
        "/round2": _to("/round"),
    }
    with serving(web) as bed, small_site(pages) as site:
        own = ["/", "/moved", "/missing", "/private", "/excluded", "/round"]
        seeds = [*bed.seeds(), *(site.url(path) for path in own), f"http://nobody.test:{bed.port}/"]
        run(Plan(seeds=seeds, out=out, settings=settings(bed)))
        yield Crawled(out, bed, site, seeds)


def _to(path: str) -> Answer:
    return Answer(status=302, headers=(("Location", path),))


@ONE_CRAWL
def test_report__says_what_became_of_each_seed(crawled: Crawled) -> None:
    """Every outcome there is, with its reason, where it led to, and the pages of its site."""
    found = {each.url: each for each in crawled.report.all}
    assert list(found) == crawled.seeds
    site = crawled.site
    assert (found[site.url()].outcome, found[site.url()].status) == ("fetched", 200)
    moved = found[site.url("/moved")]
    assert (moved.outcome, moved.redirect, moved.hops, moved.ended) == ("redirected", site.url("/there"), 1, "fetched")
    assert (found[site.url("/missing")].outcome, found[site.url("/missing")].reason) == ("failed", "status-4xx")
    assert (found[site.url("/private")].outcome, found[site.url("/private")].reason) == ("refused", "robots")
    assert (found[site.url("/excluded")].outcome, found[site.url("/excluded")].reason) == ("refused", "excluded")
    assert (found[site.url("/round")].outcome, found[site.url("/round")].ended) == ("redirected", "refused")
    dead = found[f"http://nobody.test:{crawled.bed.port}/"]
    assert (dead.outcome, dead.reason, dead.tries) == ("failed", "dns-not-found", 2)
    good = Counter(name for (name,) in rows(crawled.out, "site", GOOD))
    assert all(each.pages == good[site_of(each.redirect or each.url)] for each in found.values())
    assert sum(crawled.report.outcomes.values()) == len(crawled.seeds)


@ONE_CRAWL
def test_report__agrees_with_explain(crawled: Crawled) -> None:
    """Both answer from the same rows, frontiers and rules."""
    states = {
        "fetched": "fetched",
        "redirected": "fetched",
        "failed": "failed",
        "refused": "refused",
        "waiting": "pending",
    }
    for each in crawled.report.all:
        answer = explain_url(crawled.out, each.url)
        assert answer.state == states[each.outcome], each
        if each.outcome != "redirected":
            assert answer.reason == each.reason


@ONE_CRAWL
def test_report__is_printed_three_ways(crawled: Crawled) -> None:
    """A table with counts, JSON, and CSV with a line a seed."""
    table = weft("seeds", "report", crawled.out)
    assert f"{len(crawled.seeds)} seeds:" in table
    assert "dns-not-found" in table
    lines = list(csv.DictReader(io.StringIO(weft("seeds", "report", crawled.out, "--csv"))))
    assert [line["url"] for line in lines] == crawled.seeds
    found = json.loads(weft("seeds", "report", crawled.out, "--json"))
    assert Counter(line["outcome"] for line in lines) == found["outcomes"]
    assert ending("seeds", "report", crawled.out, "--csv", "--json")[0] == 2
    assert ending("seeds", "report", crawled.out / "pages")[0] == 2


def test_report__tells_of_seeds_that_wait_and_that_were_added(tmp_path: Path) -> None:
    """A crawl that was stopped: what waits is told, whoever has it; what is added later is among the seeds when it was
    fetched.
    """
    web = make_web(Options(), sites=60, pages=600, largest=60)
    with serving(web) as bed:
        seeds = bed.seeds()
        crawl(bed, tmp_path / "crawl", seeds=seeds[:50], workers=2, max_pages=20)
        report = seeds_report(tmp_path / "crawl")
        assert report.outcomes["waiting"] >= 20
        assert set(report.outcomes) <= {"waiting", "fetched", "failed", "refused"}
        for each in report.all[:10]:
            state = explain_url(tmp_path / "crawl", each.url).state
            assert (state in ("pending", "retry")) == (each.outcome == "waiting"), each
        with managing(tmp_path / "crawl") as managed:
            managed.add(seeds[50:])
        crawl(bed, tmp_path / "crawl", seeds=seeds[:50], workers=2)
        report = seeds_report(tmp_path / "crawl")
    assert "waiting" not in report.outcomes
    assert {each.url for each in report.all if each.added} <= set(seeds[50:])
    assert report.seeds > 50


@ONE_CRAWL
def test_earlier__gives_the_sites_that_answered(crawled: Crawled) -> None:
    """By the home page or the page with the most links to it; dead and failed sites are left out, and told."""
    found = json.loads(weft("seeds", "from-crawl", crawled.out, "--json"))
    good = Counter(name for (name,) in rows(crawled.out, "site", GOOD))
    assert {each["site"]: each["good"] for each in found["seeds"]} == dict(good)
    assert all(each["url"] == f"http://{each['site']}/" for each in found["seeds"])
    assert f"http://nobody.test:{crawled.bed.port}/" not in weft("seeds", "from-crawl", crawled.out).split()
    assert found["sites"] == len(found["seeds"]) + found["few"] + found["gone"]
    some = weft("seeds", "from-crawl", crawled.out, "--least-pages", "5", "--order", "most").split()
    assert [good[site_of(url)] for url in some] == sorted((many for many in good.values() if many >= 5), reverse=True)
    best = weft("seeds", "from-crawl", crawled.out, "--page", "best").split()
    assert {site_of(url) for url in best} == set(good)
    home = {url for (url,) in rows(crawled.out, "url", "final and status = 200 and reason is null")}
    assert set(best) <= home


def test_earlier__leaves_out_a_home_page_that_is_gone(tmp_path: Path) -> None:
    """Its other pages may stand for the site."""
    with small_site({"/": Answer(status=404), "/a": links("/b"), "/b": b"b"}) as site:
        run(Plan(seeds=[site.url(), site.url("/a")], out=tmp_path / "crawl", settings=settings_of_site()))
        out = tmp_path / "crawl"
        assert ending("seeds", "from-crawl", out)[0] == 1
        assert weft("seeds", "from-crawl", out, "--page", "best").split() == [site.url("/b")]
        assert weft("seeds", "from-crawl", out, "--keep-gone", "--status", "404").split() == [site.url()]
        assert ending("seeds", "from-crawl", out, "--page", "best", "--status", "503")[0] == 1


def settings_of_site() -> Any:
    """Settings for a site on this machine."""
    from weft.config import Settings

    return Settings().with_values({"wait": 0.0, "retry_pauses": []}, where="a test")


@ONE_CRAWL
def test_cdx__of_a_crawl_gives_its_sites(crawled: Crawled, tmp_path: Path) -> None:
    """The index of our own archive gives the sites that the columns give; check finds all of them usable."""
    out = tmp_path / "seeds.txt"
    weft("seeds", "from-cdx", *sorted((crawled.out / "volumes").glob("*.cdxj")), "--out", out)
    stored = {site for (site,) in rows(crawled.out, "site", "status = 200 and volume is not null and duplicate_of = 0")}
    assert stored <= {site_of(url) for url in out.read_text().split()}
    options = ("--dns", crawled.bed.dns, *LOCAL)
    assert checked(out, *options, code=0)[1]["verdicts"] == {"usable": len(out.read_text().split())}
