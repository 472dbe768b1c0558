"""A model of what texts of one topic have in common. In: texts, of which some are about it. Out: how likely another one
is, and a file that anybody can read.

It is a logistic regression on the words of a text: each word that was seen often enough has a weight, and the weights
of a text's words, scaled by how rare they are, add up. The file is JSON: words and numbers. Reading it runs no code,
which a pickle does, so that it may come from strangers; and who wonders why a page was kept finds its words in it.

>>> cars = [("a vintage car with a new engine", True), ("the engine of this car", True)]
>>> model = train([*cars, ("bread and soup", False), ("soup for two", False)], "cars", least=1)
>>> model.score("my car has no engine") > 0.7 > 0.3 > model.score("bread with soup")
True
>>> round(model.score("neither"), 2), model_in(model.encoded(), "cars.json") == model
(0.5, True)
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from weft.errors import UsageError, WeftError

KIND = "weft topic model"
FORMAT = 1
MOST_BYTES = 50_000_000  # of a file
_MOST_WORDS = 20_000  # of a model: those with the most weight
_MOST = 20_000  # characters of a text that are looked at
_ROUNDS = 20
_RATE = 0.5
_SHRINK = 1e-4  # how much weights that nothing speaks for lose, each time a text is looked at
_words = re.compile(r"[^\W\d_]{2,}")

Labelled = tuple[str, bool]
"""A text, and whether it is about the topic."""


class TopicModel(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a text likely to be about a topic."""

    kind: str = KIND
    format: int = FORMAT
    topic: str
    bias: float
    words: dict[str, tuple[float, float]]  # how rare each is, and what it weighs
    texts: int = 0  # that it was made of

    def score(self, text: str) -> float:
        """How likely a text is about the topic, from 0 to 1; what has no word that is known is as likely as not."""
        found = _features(text, self.words)
        if not found:
            return 0.5
        return _squashed(self.bias + sum(self.words[word][1] * value for word, value in found.items()))

    def encoded(self) -> bytes:
        """As it stands in a file."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1)

    def telling(self, many: int = 10) -> list[str]:
        """The words that speak most for the topic."""
        return sorted(self.words, key=lambda word: -self.words[word][1])[:many]


def model_in(data: bytes, where: str) -> TopicModel:
    """A model out of a file; what is none is an error."""
    try:
        model = msgspec.json.decode(data, type=TopicModel)
    except msgspec.MsgspecError as error:
        raise UsageError(f"this is no topic model: {error}", where=where, todo="weft focus train makes one") from error
    if (model.kind, model.format) != (KIND, FORMAT):
        raise UsageError(
            f"this is {model.kind!r} in format {model.format}, not {KIND!r} in format {FORMAT}",
            where=where,
            todo="make it anew by weft focus train",
        )
    numbers = (model.bias, *(number for both in model.words.values() for number in both))
    if not all(math.isfinite(number) for number in numbers):
        raise UsageError("the weights of this topic model are no numbers", where=where, todo="make it anew")
    return model


def read_model(path: Path) -> TopicModel:
    """Read a model."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"a topic model has at most {MOST_BYTES:,} bytes", where=str(path))
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the topic model cannot be read: {error.strerror}", where=str(path)) from error
    return model_in(data, str(path))


def train(texts: Sequence[Labelled], topic: str, *, least: int = 2, seed: int = 1) -> TopicModel:
    """Learn from texts what those of a topic have in common; words in fewer than `least` texts are left out.

    Each half, the texts that are about it and the others, counts the same, however many there are of each.
    """
    about = sum(is_about for _, is_about in texts)
    if not 0 < about < len(texts):
        raise WeftError(
            f"{about} of {len(texts)} texts are about {topic!r}",
            todo="a model is made of texts of both kinds: give some that are, and some that are not",
        )
    in_texts = Counter(word for text, _ in texts for word in set(_words_of(text)))
    rare = {word: 1 + math.log(len(texts) / times) for word, times in in_texts.items() if times >= least}
    known = {word: (rarity, 0.0) for word, rarity in rare.items()}
    rows = [(_features(text, known), is_about) for text, is_about in texts]
    half = {True: len(texts) / (2 * about), False: len(texts) / (2 * (len(texts) - about))}
    bias, weights = _fitted(rows, half, random.Random(seed))
    kept = sorted(weights, key=lambda word: (-abs(weights[word]), word))[:_MOST_WORDS]
    words = {word: (round(rare[word], 4), round(weights[word], 4)) for word in sorted(kept)}
    return TopicModel(topic=topic, bias=round(bias, 4), words=words, texts=len(texts))


def labelled(lines: Iterable[str], topic: str, where: str) -> list[Labelled]:
    """Texts out of lines as fastText has them: `__label__NAME`, perhaps several, and the text.

    >>> labelled(["__label__cars __label__old a Ford", "__label__food soup", ""], "cars", "texts")
    [('a Ford', True), ('soup', False)]
    """
    found = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        labels = {word.removeprefix("__label__") for word in words if word.startswith("__label__")}
        if not words:
            continue
        if not labels:
            raise UsageError(
                "this line says not what it is about", where=f"{where}:{number}", todo="begin it with __label__NAME"
            )
        found.append((" ".join(word for word in words if not word.startswith("__label__")), topic in labels))
    return found


class Verdicts(msgspec.Struct, frozen=True):
    """How a model did on texts of which the truth is known."""

    texts: int
    about: int  # by the truth
    said: int  # to be about it
    right: int  # of these

    @property
    def precision(self) -> float:
        """The share of what it took for the topic that is about it."""
        return self.right / self.said if self.said else 0.0

    @property
    def recall(self) -> float:
        """The share of what is about the topic that it found."""
        return self.right / self.about if self.about else 0.0


def judged(model: TopicModel, texts: Sequence[Labelled], threshold: float = 0.5) -> Verdicts:
    """Hold a model against texts whose truth is known."""
    said = [(model.score(text) >= threshold, is_about) for text, is_about in texts]
    right = sum(found and is_about for found, is_about in said)
    return Verdicts(len(said), sum(is_about for _, is_about in said), sum(found for found, _ in said), right)


def _words_of(text: str) -> list[str]:
    return _words.findall(text[:_MOST].lower())


def _features(text: str, known: dict[str, tuple[float, float]]) -> dict[str, float]:
    """The words of a text that are known: how often, the rarer the more, all together of length one."""
    counts = Counter(word for word in _words_of(text) if word in known)
    values = {word: (1 + math.log(times)) * known[word][0] for word, times in counts.items()}
    length = math.sqrt(sum(value * value for value in values.values()))
    return {word: value / length for word, value in values.items()}


def _fitted(
    rows: list[tuple[dict[str, float], bool]], half: dict[bool, float], chance: random.Random
) -> tuple[float, dict[str, float]]:
    """Bias and weights, by gradient descent, text by text; what is often corrected is corrected less each time."""
    bias, weights = 0.0, dict.fromkeys((word for row, _ in rows for word in row), 0.0)
    corrected = dict.fromkeys(weights, 1.0)
    for _ in range(_ROUNDS):
        chance.shuffle(rows)
        for row, is_about in rows:
            wrong = (is_about - _squashed(bias + sum(weights[word] * value for word, value in row.items()))) * half[
                is_about
            ]
            bias += 0.1 * _RATE * wrong
            for word, value in row.items():
                step = wrong * value - _SHRINK * weights[word]
                corrected[word] += step * step
                weights[word] += 5 * _RATE * step / math.sqrt(corrected[word])
    return bias, weights


def _squashed(sum_of_weights: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, sum_of_weights))))
