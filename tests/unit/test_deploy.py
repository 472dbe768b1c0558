"""What is in deploy/ is valid, says what weft says, and asks for metrics that there are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from tests.patience import PATIENCE

from weft.cli.options import CrawlOptions
from weft.config import Settings
from weft.operations.metrics import METRICS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BIN = Path(sys.executable).parent
LABELS = {metric.name: {*metric.labels, "instance", "job"} for metric in METRICS} | {"up": {"instance", "job"}}
BY_ITSELF = "weft_crawl_info"  # asked for by the dashboard's list of crawls


def run(*words: str | Path) -> str:
    """What a validator says; that it finds something fails the test."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def needed(tool: str) -> str:
    """Where a tool is; the test is skipped where it is missing."""
    found = shutil.which(tool) or shutil.which(tool, path=str(BIN))
    if found is None:
        pytest.skip(f"{tool} is not on this machine")
    return found


# --- what is asked of Prometheus ---


def dashboard() -> dict[str, Any]:
    """The dashboard."""
    found: dict[str, Any] = json.loads((DEPLOY / "grafana" / "weft.json").read_text("utf-8"))
    return found


def queries() -> Iterator[tuple[str, str]]:
    """Every query of the dashboard and of the alerts, with where it stands."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8"))["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


def selectors(expression: Any) -> Iterator[Any]:
    """Every selector of series in a query."""
    if isinstance(expression, promql_parser.VectorSelector):
        yield expression
    elif isinstance(expression, promql_parser.MatrixSelector):
        yield expression.vector_selector
    for name in ("expr", "lhs", "rhs", "param"):
        inner = getattr(expression, name, None)
        if inner is not None:
            yield from selectors(inner)
    for inner in getattr(expression, "args", ()):
        yield from selectors(inner)


def parsed(query: str) -> Any:
    """A query as Prometheus reads it, with Grafana's variables filled in."""
    return promql_parser.parse(query.replace("$__rate_interval", "1m").replace("$instance", ".*"))


QUERIES = [pytest.param(query, id=f"{place}-{number}") for number, (place, query) in enumerate(queries())]


@pytest.mark.parametrize("query", QUERIES)
def test_query__asks_for_metrics_and_labels_that_there_are(query: str) -> None:
    """In the panels of the dashboard and in the alerts; counters are asked for their growth, or summed."""
    found = list(selectors(parsed(query)))
    assert found, query
    for selector in found:
        assert selector.name in LABELS, selector.name
        named = {matcher.name for matcher in selector.matchers.matchers}
        assert named <= LABELS[selector.name], (selector.name, named)
    known = set.union(*(LABELS[selector.name] for selector in found))
    for labels in re.findall(r"(?:by|without|on) \(([^)]*)\)", query):
        assert set(labels.split(", ")) <= known, labels


def test_query__with_a_wrong_name_would_be_found() -> None:
    """What the test above looks at is there to be looked at."""
    (selector,) = selectors(parsed('sum by (worker) (rate(weft_pages_totl{instance=~"$instance"}[$__rate_interval]))'))
    assert selector.name not in LABELS
    assert [matcher.name for matcher in selector.matchers.matchers] == ["instance"]


def test_dashboard__has_a_place_for_each_panel_and_a_legend_that_exists() -> None:
    """No two panels lie on each other, ids are unique, and legends name labels that the query leaves."""
    taken: dict[tuple[int, int], str] = {}
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]
        for target in panel.get("targets", ()):
            legend = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            by = re.search(r"by \(([^)]*)\)", target["expr"])
            known = (
                set(by[1].split(", "))
                if by
                else set.union(*(LABELS[s.name] for s in selectors(parsed(target["expr"]))))
            )
            assert legend <= known, (panel["title"], legend)
    variables = {variable["name"]: variable for variable in dashboard()["templating"]["list"]}
    assert set(variables) == {"datasource", "instance"}
    assert BY_ITSELF in variables["instance"]["definition"]
    assert BY_ITSELF in LABELS


def test_metrics__that_matter_are_on_the_dashboard() -> None:
    """But for what says little by itself, every one is shown or watched."""
    asked = {selector.name for _, query in queries() for selector in selectors(parsed(query))}
    left_out = set(LABELS) - asked - {BY_ITSELF}
    assert left_out == {
        *("weft_running", "weft_unreachable", "weft_unassigned_pages", "weft_worker_pending_pages", "weft_known_sites"),
        *("weft_page_limit_bytes", "weft_blacklist_rules", "weft_sealed_volumes", "weft_moved_groups_total"),
        *(
            "weft_worker_silent_seconds",
            "weft_pages_per_second",
            "weft_content_bytes_per_second",
            "weft_redirects_total",
        ),
        *("weft_requisites_total", "weft_good_requisites_total", "weft_failed_requisites_total", "weft_robots_total"),
        *("weft_checks_total", "weft_phase", "weft_stopped_sites"),
        *("weft_duplicate_requisites_total", "weft_visits_total", "weft_copies_total", "weft_outages_total"),
        *("weft_unremembered_contents_total", "weft_outage_seconds_total", "weft_run_seconds_total"),
        *("weft_stalled", "weft_stalls_total", "weft_stored_volumes"),
    }


# --- what is run ---


def commands() -> Iterator[tuple[str, list[str]]]:
    """The arguments of every `weft crawl` in deploy/, with where it stands."""
    unit = (DEPLOY / "systemd" / "weft@.service").read_text("utf-8")
    start = re.search(r"^ExecStart=\S+/weft (.*)$", unit, re.MULTILINE)
    assert start is not None
    yield "systemd", start[1].split()
    yield "compose", yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]["crawl"]["command"]
    for document in kubernetes():
        if document["kind"] == "Job":
            yield "kubernetes", document["spec"]["template"]["spec"]["containers"][0]["args"]


def kubernetes() -> list[dict[str, Any]]:
    """The documents of the manifest."""
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / "crawl.yaml").read_text("utf-8")))


@pytest.mark.parametrize(
    ("place", "words"), list(commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_command__has_options_that_there_are(place: str, words: list[str]) -> None:
    """With values that are allowed."""
    flat = [part for word in words[1:] for part in (word.split("=", 1) if "=" in word else [word])]
    given = dict(zip(flat[::2], flat[1::2], strict=True))
    assert words[0] == "crawl"
    assert {"--config", "--seeds", "--out"} <= set(given), place
    rest = {name: value for name, value in given.items() if name not in ("--config", "--seeds", "--out")}
    known = {f"--{name.replace('_', '-')}" for name in CrawlOptions.__dataclass_fields__}
    assert set(rest) <= known
    filled = {name[2:].replace("-", "_"): re.sub(r"\$\{\w+:-(\w+)\}", r"\1", value) for name, value in rest.items()}
    numbers = {name: int(value) if value.isdecimal() else value for name, value in filled.items()}
    Settings().with_values(numbers, where=place)


def test_settings__of_the_examples_are_settings(tmp_path: Path) -> None:
    """Of the compose file, and in the ConfigMap."""
    texts = [(DEPLOY / "crawl" / "settings.toml").read_text("utf-8")]
    texts += [each["data"]["settings.toml"] for each in kubernetes() if each["kind"] == "ConfigMap"]
    for text in texts:
        assert tomllib.loads(text)["identity"]["contact"] == "", "everybody says who they are"
        path = tmp_path / "settings.toml"
        path.write_text(text, encoding="utf-8")
        Settings().with_file(path)


def test_containerfile__installs_what_the_crawl_needs() -> None:
    """The extras that the commands use, and a Python that weft runs on; what it copies is there."""
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = re.search(r"'\.\[([a-z,]+)\]'", text)
    assert extras is not None
    assert set(extras[1].split(",")) == {"metrics", "postgres"} <= set(project["optional-dependencies"])
    for names in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for name in names.split():
            assert (ROOT / name).exists(), name
    assert set(re.findall(r"^FROM python:(\S+)", text, re.MULTILINE)) == {"3.11-slim"}


# --- validators ---


def test_compose__is_a_compose_file() -> None:
    """By the schema of the Compose specification."""
    run(needed("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    for service in found["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith("./") else source in found["volumes"], source
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), "on this machine alone"


def test_kubernetes__is_a_manifest() -> None:
    """By the schemas of Kubernetes, with no property that it does not know."""
    said = run(needed("kubernetes-validate"), "--strict", DEPLOY / "kubernetes" / "crawl.yaml")
    assert said.count("passed") == len(kubernetes()) == 4


def test_prometheus__takes_its_configuration() -> None:
    """Rules included, where promtool is there."""
    said = run(needed("promtool"), "check", "config", DEPLOY / "prometheus" / "prometheus.yml")
    assert "7 rules found" in said


def test_unit__is_a_unit(tmp_path: Path) -> None:
    """By systemd, where it is there; and a service that is cut off from what it does not need."""
    analyze = needed("systemd-analyze")
    text = (DEPLOY / "systemd" / "weft@.service").read_text("utf-8")
    unit = tmp_path / "weft@news.service"
    unit.write_text(text.replace("/opt/weft/bin/weft", shutil.which("true") or "/bin/true"), encoding="utf-8")
    said = run(analyze, "verify", "--man=no", unit)
    assert said == ""
    exposure = re.search(r"exposure level for \S+ ([\d.]+)", run(analyze, "security", "--offline=true", unit))
    assert exposure is not None
    assert float(exposure[1]) < 2.0
