"""The columns of `pages.parquet`. In: findings. Out: a table with one row a page, by URL.

Each column says what it is and in which unit, in the file's own metadata; docs/temporal.md repeats it, and
`summary.json` has the units of all files. Times are days from the start of the window, whose first day stands there.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.temporal.findings import Findings
from weft.temporal.views import LABEL_NAMES

_DAYS = "days from the start of the window"
_DOCS: dict[str, tuple[pa.DataType, str, str]] = {  # by name: type, unit where there is one, meaning
    "url": (pa.string(), "", "the page, without session and tracking parameters; or the id that the log has instead"),
    "site": (pa.string(), "", "the site it is on"),
    "views": (pa.int64(), "views", "views in the window: users, each counted once a day"),
    "born": (pa.float64(), _DAYS, "when its life began for users"),
    "p": (pa.float64(), "probability", "that more than q of its interest lies in its first n days"),
    "temporal": (pa.bool_(), "", "the decision by p and the costs, for undecided pages too"),
    "label": (pa.string(), "", "temporal, untemporal, or undecided: too young to tell"),
    "share": (pa.float64(), "share of views", "observed share of its views within n days of its birth"),
    "activation": (pa.int16(), "number of a day", "the day on which its life began for users; the window's first is 0"),
    "activation_hour": (pa.int32(), "number of an hour", "the same as an hour of the window; null: the log has days"),
    "dormancy": (pa.int16(), "number of a day", "the last day of its valid lifetime"),
    "hub": (pa.bool_(), "", "a home page or section front: where new pages are announced"),
    "A": (pa.float64(), "views", "height of the fitted interest curve; where interest is flat no measure of its sum"),
    "b": (pa.float64(), _DAYS, "birth by the fitted curve"),
    "mu": (pa.float64(), "log of days", "position of the fitted curve: mean of the logarithm of the age at a view"),
    "sigma": (pa.float64(), "log of days", "width of the fitted curve: standard deviation of that logarithm"),
}

PAGES = pa.schema(
    [pa.field(name, kind, metadata={"doc": doc, "unit": unit}) for name, (kind, unit, doc) in _DOCS.items()]
)

_RANKED = {
    "views": "views",
    "publication_rate": "temporal pages a day",
    "births": "pages a day",
}
UNITS: dict[str, dict[str, str]] = {
    "pages.parquet": {name: unit for name, (_, unit, _) in _DOCS.items() if unit},
    "sites.tsv": {**_RANKED, "polls": "polls a day"},
    "folders.tsv": _RANKED,
    "patterns.tsv": _RANKED,
    "hubs.tsv": _RANKED,
}
"""The units of the columns of all files, as `summary.json` has them."""


def pages_table(found: Findings) -> pa.Table:
    """One row a page; parameters of curves are null where none was fitted."""
    views, labels, curves = found.views, found.labels, found.curves
    hour = labels.activation.astype(np.int32) * 24 + labels.hour
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
        "activation_hour": pa.array(hour, mask=labels.hour < 0),
        "dormancy": pa.array(labels.dormancy),
        "hub": pa.array(found.hub),
        "A": pa.array(curves.A, from_pandas=True),
        "b": pa.array(curves.b, from_pandas=True),
        "mu": pa.array(curves.mu, from_pandas=True),
        "sigma": pa.array(curves.sigma, from_pandas=True),
    }
    return pa.table([values[name] for name in PAGES.names], names=PAGES.names).cast(PAGES)
