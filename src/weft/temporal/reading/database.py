"""DuckDB within bounds. In: SQL, a memory limit, a scratch folder. Out: answers; errors for people.

What does not fit into memory goes into the scratch folder, which belongs to whoever made it. Nothing is ever loaded
from a network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import duckdb

from weft.errors import UsageError, WeftError
from weft.temporal.reading.options import Reading

Advance = Callable[[float], None]
_BATCH = 1 << 16
_PATIENCE = 0.2  # seconds between two looks at how far a query is


class Database:
    """A DuckDB of our own: bounded memory, what does not fit in a folder; its errors are ours."""

    def __init__(self, scratch: Path, reading: Reading) -> None:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{reading.memory}MB",
            "threads": reading.threads,
            "temp_directory": str(scratch / "spilled"),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self._reading = reading
        self._connection = duckdb.connect(config=settings)
        # How far a query is, is known only where a bar is on; we draw our own.
        self._connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        self._connection.close()

    def run(self, sql: str, advance: Advance = lambda _: None) -> None:
        """Run a statement and tell now and then how far it is, from 0 to 1."""
        with self._errors():
            running = self._pool.submit(self._connection.execute, sql)
            try:
                while not _is_over(running):
                    advance(max(self._connection.query_progress(), 0.0) / 100)
            except BaseException:
                self._connection.interrupt()
                raise
            running.result()
        advance(1.0)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small answer."""
        with self._errors():
            return self._connection.execute(sql).fetchall()

    def table(self, sql: str) -> Any:
        """A whole answer as an Arrow table."""
        with self._errors():  # `execute` instead of `sql` would forget the order where that of insertion is not kept
            return self._connection.sql(sql).to_arrow_table()

    def batches(self, sql: str) -> Iterator[Any]:
        """A large answer, a batch at a time."""
        with self._errors():
            yield from self._connection.sql(sql).to_arrow_reader(_BATCH)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            raise WeftError(
                f"{self._reading.memory} MB of memory are too few for these logs",
                todo=f"give more with --memory, or make room for temporary files: {_first_line(error)}",
            ) from error
        except duckdb.Error as error:
            why = _first_line(error)
            raise UsageError(f"the logs cannot be counted: {why}", todo="are all files whole?") from error


def _is_over(running: Future[Any]) -> bool:
    try:
        running.exception(timeout=_PATIENCE)
    except TimeoutError:
        return False
    return True


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
