"""What all tests share."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).resolve().parent
SHARED = TESTS.parents[1] / "shared"

# Machines are noisy: a slow example is no failure. The order of tests is random, the examples need not be.
settings.register_profile("weft", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("weft")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole crawls first, in whichever order: the thousands of short tests that are left in the end keep all processes
    of a run busy until it is over.
    """
    items.sort(key=lambda item: item.path.is_relative_to(TESTS / "unit"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real files that lies beside the project."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the shared data is not beside this checkout")
    return folder


@pytest.fixture
def shared(shared_data: Path) -> Callable[[str], Path]:
    """A shared data file by its name; the test is skipped where it is missing."""

    def find(name: str) -> Path:
        if not (shared_data / name).exists():
            pytest.skip(f"the shared data {name} is not beside this checkout")
        return shared_data / name

    return find


@pytest.fixture(scope="session", autouse=True)
def beds_from_the_nursery() -> Iterator[None]:
    """Testbeds start at once, where some test has one."""
    if "weft.testbed.bed" not in sys.modules:
        yield
        return
    from tests.nursery import quick_beds

    with quick_beds():
        yield


def check_nothing_hidden(folder: Path, *, restarts: bool = False, faults: bool = False) -> None:
    """No crawl below a folder hides a restart of a worker, or a fault, that was not asked for."""
    for path in folder.rglob("frontier.db"):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
            found = base.execute("select worker, how, cause from restarts").fetchall()
        assert restarts or not found, f"workers of {path.parent} were started again: {found}"
        log = path.parent / "log"
        told = log / "faults.log"
        assert faults or not told.exists(), f"something failed inside {path.parent}: {told.read_text('utf-8')}"
        said = (log / "messages.log").read_text("utf-8") if (log / "messages.log").exists() else ""
        assert "is compiled in the middle" not in said, f"{path.parent}: add to weft.warming what was compiled: {said}"


@pytest.fixture(scope="session", autouse=True)
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[set[Path]]:
    """Folders of tests that were looked at; what fixtures of wider scope made is looked at in the end."""
    seen: set[Path] = set()
    yield seen
    for folder in tmp_path_factory.getbasetemp().iterdir():
        if folder not in seen and not folder.is_symlink():
            check_nothing_hidden(folder)


@pytest.fixture(autouse=True)
def nothing_hidden(request: pytest.FixtureRequest, looked_at: set[Path]) -> Iterator[None]:
    """A restart, or a fault, that a test did not ask for fails it: recovery hides both."""
    folder: Path | None = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if folder is not None:
        looked_at.add(folder)
        asked = {mark: request.node.get_closest_marker(mark) is not None for mark in ("restarts", "faults")}
        check_nothing_hidden(folder, **asked)
