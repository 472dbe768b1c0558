"""Labels, and what labelled pages teach. In: views, rules, and perhaps a file of pages that people have labelled.

Learned are n and q, for each class of pages where the file has classes (P2 4.2, 5.2), and alpha and beta (4.3). Pages
are then labelled by what was learned, also those of the file: people's labels teach, they do not decide. Where nobody
has labelled anything, the rules stay as they are.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from weft.temporal.evaluation import train_weights
from weft.temporal.hand_labels import Labelled, read_labelled
from weft.temporal.labels import Rules, classify
from weft.temporal.reading import Reading
from weft.temporal.reading.pages import Canonical
from weft.temporal.sites import SiteRules
from weft.temporal.training import train
from weft.temporal.views import Labels, Views
from weft.urls import Unusable


@dataclass(frozen=True, slots=True)
class Learned:
    """Labels, the rules that they and the ranking follow, and what is to be said about how these came about."""

    labels: Labels
    rules: Rules
    sites: SiteRules
    told: dict[str, Any]


def learn(views: Views, path: Path, reading: Reading, rules: Rules, sites: SiteRules) -> Learned:
    """Label pages by the thresholds that the pages of a file teach, and weigh sites likewise."""
    labelled = _labelled(views, path, reading)
    training = train(views, labelled.page, labelled.temporal, labelled.classes, rules)
    learned = training.rules(rules)
    labels = classify(views, learned, training.thresholds)
    truth = labels.temporal.copy()
    truth[labelled.page] = labelled.temporal
    weights = train_weights(views, labels, truth, sites)
    told = {
        "labelled pages": len(labelled.page),
        "labelled pages without views enough": labelled.unseen,
        "thresholds": asdict(training.whole),
        "thresholds by class": {name: asdict(each) for name, each in training.classes.items()},
        "weights": {"alpha": weights.alpha, "beta": weights.beta, "f": weights.f},
        "f by alpha": {f"{alpha:g}": f for alpha, f in weights.tried},
    }
    return Learned(labels, learned, replace(sites, alpha=weights.alpha, beta=weights.beta), told)


def _labelled(views: Views, path: Path, reading: Reading) -> Labelled:
    canonical = Canonical(reading.drop_parameters)

    def form(text: str) -> str:
        url = text if reading.ids else canonical.url(text)
        return text if isinstance(url, Unusable) else url

    return read_labelled(path, views, form)
