"""The columns of `pages.parquet`. In: findings. Out: a table with one row a page, by URL.

Each column says what it is; docs/temporal.md repeats it. Times are days from the start of the window: the window's
first day stands in `summary.json`.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from weft.temporal.findings import Findings
from weft.temporal.views import LABEL_NAMES

_DOCS: dict[str, tuple[pa.DataType, str]] = {
    "url": (pa.string(), "the page, without session and tracking parameters; or the id that the log has instead"),
    "site": (pa.string(), "the site it is on"),
    "views": (pa.int64(), "views in the window: users, each counted once a day"),
    "born": (pa.float64(), "when its life began for users, in days from the start of the window"),
    "p": (pa.float64(), "probability that more than q of its interest lies in its first n days"),
    "temporal": (pa.bool_(), "the decision by p and the costs, for undecided pages too"),
    "label": (pa.string(), "temporal, untemporal, or undecided: too young to tell"),
    "share": (pa.float64(), "observed share of its views within n days of its birth"),
    "activation": (pa.int16(), "number of the day on which its life began for users"),
    "dormancy": (pa.int16(), "number of the last day of its valid lifetime"),
    "hub": (pa.bool_(), "a home page or section front: where new pages are announced"),
    "A": (pa.float64(), "height of the fitted interest curve; where interest is flat no measure of its sum"),
    "b": (pa.float64(), "birth by the fitted curve, in days from the start of the window"),
    "mu": (pa.float64(), "position of the fitted curve: mean of the logarithm of the age at a view, in days"),
    "sigma": (pa.float64(), "width of the fitted curve: standard deviation of that logarithm"),
}

PAGES = pa.schema([pa.field(name, kind, metadata={"doc": doc}) for name, (kind, doc) in _DOCS.items()])


def pages_table(found: Findings) -> pa.Table:
    """One row a page; parameters of curves are null where none was fitted."""
    views, labels, curves = found.views, found.labels, found.curves
    values = {
        "url": views.urls,
        "site": pc.take(views.sites, pa.array(views.site)),
        "views": pa.array(views.totals()),
        "born": pa.array(labels.born),
        "p": pa.array(labels.p),
        "temporal": pa.array(labels.temporal),
        "label": pc.take(pa.array(LABEL_NAMES), pa.array(labels.label)),
        "share": pa.array(labels.share, from_pandas=True),
        "activation": pa.array(labels.activation),
        "dormancy": pa.array(labels.dormancy),
        "hub": pa.array(found.hub),
        "A": pa.array(curves.A, from_pandas=True),
        "b": pa.array(curves.b, from_pandas=True),
        "mu": pa.array(curves.mu, from_pandas=True),
        "sigma": pa.array(curves.sigma, from_pandas=True),
    }
    return pa.table([values[name] for name in PAGES.names], names=PAGES.names).cast(PAGES)
