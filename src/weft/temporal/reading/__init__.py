"""From logs to views: build item 1 of the temporal room (P2 4.1).

The way through, each step a module:

1. `forms` finds out what a log is (Squid, Combined, CSV, JSON lines, Parquet; plain or packed);
2. `cutting` and `jsonlines` turn lines into rows (who, when, which page), `times` reads what a log calls a time;
3. `parts` brings all logs into one form on the disk, Parquet files of rows; `tables` reads those that have it already;
4. `pages` gives each spelling of a URL its page;
5. `counting` counts users by page and day, exactly, in bounded memory (DuckDB), and makes `Views`;
6. `days` keeps the counts of each day, so that a day of logs can be added at a time.

A line that cannot be read never stops the run: it is in `Taken`, with its file and its number.
"""

from weft.temporal.reading.days import add_days, views_of_days
from weft.temporal.reading.fates import Taken
from weft.temporal.reading.options import Reading
from weft.temporal.reading.run import read_views

__all__ = ["Reading", "Taken", "add_days", "read_views", "views_of_days"]
