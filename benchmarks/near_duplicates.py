"""How well near-duplicates are known by 64 bits: precision and recall on pages with known edits, and what it costs.

    python -m benchmarks.near_duplicates [--seed 1]

The words are real prose, the topics of Python's documentation and the descriptions of installed packages, cut into
pages; each site has a menu and a footer of 60 words that all its pages share. A sixth of the pages have an edited copy.
The edits: one word changed, three words (a date), one and two words in a hundred, ten words in a row (an
advertisement), a sentence added, and two halves swapped. A pair is right where one is an edit of the other, or both are
edits of a third. Thin pages, of which most is the menu, are what makes false ones.

Then the same for each edit and each length by itself; how many bits pages of one site have in common; how long a
fingerprint takes; and how long, and how much memory, the search for alike ones takes among a million and more.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.machine import description, peak_mb
from weft.duplicates.alike import alike
from weft.duplicates.clusters import find_duplicates
from weft.store.warc import sha1
from weft.text.html import whole_text
from weft.text.simhash import simhash

PAGES = 20  # of a site
TEMPLATE = 60  # words that all pages of a site share
WITHIN = range(11)
LEAST = (3, 70, 80, 100, 150, 200)  # the menu is among them
LENGTHS = (20, 50, 100, 200, 400, 800, 1600)
LISTED, PART = 1_000_000, 100_000
SEARCHED = (100_000, 1_000_000, 4_000_000)
Words = list[str]


def prose() -> Words:
    """All words there are, in the order of their texts."""
    texts = [topics[name] for name in sorted(topics)]
    described = {found.metadata["Name"]: found.metadata.json.get("description") for found in distributions()}
    texts += [str(described[name]) for name in sorted(described) if described[name]]
    return " ".join(texts).split()


def _one(words: Words, chance: random.Random) -> Words:
    return _some(words, 1, chance)


def _date(words: Words, chance: random.Random) -> Words:
    return _some(words, 3, chance)


def _some(words: Words, many: int, chance: random.Random) -> Words:
    edited = list(words)
    for place in chance.sample(range(len(words)), min(many, len(words))):
        edited[place] = f"x{chance.randrange(10**6)}"
    return edited


def _advertisement(words: Words, chance: random.Random) -> Words:
    at = chance.randrange(max(1, len(words) - 10))
    return [*words[:at], *(f"ad{chance.randrange(10**6)}" for _ in range(10)), *words[at + 10 :]]


def _sentence(words: Words, chance: random.Random) -> Words:
    return [*words, *(f"new{chance.randrange(10**6)}" for _ in range(12))]


EDITS: dict[str, Callable[[Words, random.Random], Words]] = {
    "one word": _one,
    "three words": _date,
    "1 % of the words": lambda words, chance: _some(words, max(1, len(words) // 100), chance),
    "2 % of the words": lambda words, chance: _some(words, max(1, len(words) // 50), chance),
    "ten words in a row": _advertisement,
    "a sentence more": _sentence,
    "halves swapped": lambda words, _chance: [*words[len(words) // 2 :], *words[: len(words) // 2]],
}


def mixed(words: Words, chance: random.Random) -> dict[str, Any]:
    """Precision and recall on a web of sites, by distance and by the least number of words."""
    values: list[int] = []
    counts: list[int] = []
    source: list[int] = []  # the page that a page is, or was edited from
    at = 0
    while at < len(words):  # every word is on one page
        menu = [words[chance.randrange(len(words))] for _ in range(TEMPLATE)]
        for _ in range(PAGES):
            length = max(5, min(2000, round(chance.lognormvariate(5.0, 1.0))))
            text = words[at : at + length]
            at += length
            if len(text) < length:
                break
            number = len(values)
            copies = [text]
            if chance.random() < 1 / 6:
                kinds = chance.sample(sorted(EDITS), 2)
                copies += [EDITS[kind](text, chance) for kind in kinds]
            for copy in copies:
                bits, size = simhash(" ".join([*menu, *copy]))
                values.append(bits)
                counts.append(size)
                source.append(number)
    return {
        "pages": len(values),
        "edited": len(values) - len(set(source)),
        "by_least": {least: _judged(values, counts, source, least) for least in LEAST},
    }


def _judged(values: list[int], counts: list[int], source: list[int], least: int) -> list[dict[str, Any]]:
    bits, of = np.array(values, np.uint64), np.array(source)
    printed = np.array(counts) >= least
    right, found = np.zeros(len(WITHIN), np.int64), np.zeros(len(WITHIN), np.int64)
    pairs = 0
    for page in range(len(bits) - 1):
        same = of[page + 1 :] == of[page]
        pairs += int(same.sum())
        if printed[page]:
            apart = np.bitwise_count(bits[page + 1 :] ^ bits[page]).astype(np.int64)
            apart[~printed[page + 1 :]] = 64
            found += np.array([int((apart <= within).sum()) for within in WITHIN])
            right += np.array([int(((apart <= within) & same).sum()) for within in WITHIN])
    return [
        {
            "within": within,
            "precision": round(float(right[within] / max(1, found[within])), 4),
            "recall": round(float(right[within] / pairs), 4),
        }
        for within in WITHIN
    ]


def by_edit(words: Words, chance: random.Random, many: int = 300) -> dict[str, dict[int, dict[str, Any]]]:
    """For each edit of texts of each length: the median distance, and how many are found within 3, 5 and 8 bits."""
    found: dict[str, dict[int, dict[str, Any]]] = {kind: {} for kind in (*EDITS, "another text")}
    for length in LENGTHS:
        starts = chance.sample(range(len(words) - 2 * length), many)
        texts = [words[start : start + length] for start in starts]
        bits = [simhash(" ".join(text))[0] for text in texts]
        for kind, edit in EDITS.items():
            edited = [simhash(" ".join(edit(text, chance)))[0] for text in texts]
            found[kind][length] = _spread(bits, edited)
        others = [simhash(" ".join(words[start + length : start + 2 * length]))[0] for start in starts]
        found["another text"][length] = _spread(bits, others)
    return found


def _spread(ones: list[int], others: list[int]) -> dict[str, Any]:
    apart = np.bitwise_count(np.array(ones, np.uint64) ^ np.array(others, np.uint64))
    shares = {f"within_{within}": round(float((apart <= within).mean()), 3) for within in (3, 5, 8)}
    return {"median": float(np.median(apart)), "least": int(apart.min()), **shares}


def cost(words: Words) -> dict[str, Any]:
    """Microseconds of a page of 800 words: its text, and its fingerprint."""
    text = " ".join(words[:800])
    page = f"<html><body><nav><a href=/>Home</a></nav>{''.join(f'<p>{part}</p>' for part in text.split('. '))}"
    found: dict[str, Any] = {"bytes": len(page)}
    for name, run in (("text", lambda: whole_text(page)), ("fingerprint", lambda: simhash(text))):
        run()
        best = float("inf")
        for _ in range(10):
            began = time.process_time()
            for _ in range(200):
                run()
            best = min(best, (time.process_time() - began) / 200)
        found[f"{name}_microseconds"] = round(best * 1e6, 1)
    return found


def search(count: int, within: int) -> dict[str, Any]:
    """Seconds and memory of the search among so many fingerprints, a tenth of which are alike."""
    chance = np.random.default_rng(1)
    values = chance.integers(0, 2**63, count, np.uint64) * np.uint64(2) + np.uint64(1)
    copies: NDArray[np.uint64] = values[: count // 10].copy()
    for _ in range(min(within, 3)):
        copies ^= np.uint64(1) << chance.integers(0, 64, len(copies), np.uint64)
    values = np.unique(np.concatenate((values[: count - len(copies)], copies)))
    alike(values[:1000], within)
    began = time.process_time()
    found = alike(values, within)
    seconds = time.process_time() - began
    tracemalloc.start()  # which NumPy tells of its arrays
    alike(values, within)
    most = tracemalloc.get_traced_memory()[1]
    joined = int((found.sets != np.arange(len(values))).sum())
    return {
        "fingerprints": len(values),
        "within": within,
        "alike": joined,
        "planted": len(copies),
        "cut": found.cut,
        "seconds": round(seconds, 2),
        "bytes_a_fingerprint": round(most / len(values), 1),
    }


def listing(count: int) -> dict[str, Any]:
    """Seconds and memory of `weft duplicates` on the columns of so many pages, of which three tenths are duplicates."""
    chance = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        crawl = Path(folder)
        (crawl / "crawl.toml").touch()
        (crawl / "pages").mkdir()
        for part in range(0, count, PART):
            _write_part(crawl / "pages" / f"part-0-{part // PART:05d}.parquet", part, chance)
        find_duplicates(_few(crawl))
        before, began = peak_mb(), time.process_time()
        found = find_duplicates(crawl)
        return {
            "pages": found.pages,
            "exact": found.exact,
            "near": found.near,
            "seconds": round(time.process_time() - began, 1),
            "bytes_a_page": round((peak_mb() - before) * 1024**2 / count),
        }


def _few(crawl: Path) -> Path:
    """A crawl of one part, so that all code is loaded when it is measured."""
    small = crawl / "small"
    (small / "pages").mkdir(parents=True)
    (small / "crawl.toml").touch()
    rows = pq.read_table(crawl / "pages" / "part-0-00000.parquet").slice(0, 1000)
    pq.write_table(rows, small / "pages" / "part-0-00000.parquet")
    return small


def _write_part(path: Path, first: int, chance: np.random.Generator) -> None:
    """A part of `pages`, as far as duplicates are found by it."""
    numbers = np.arange(first, first + PART)
    contents = np.where(chance.random(PART) < 0.2, numbers // 2, numbers)
    texts = np.where(chance.random(PART) < 0.1, contents // 3, contents).astype(np.uint64)
    bits = texts * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    table = pa.table(
        {
            "id": (numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64),
            "url": [f"http://s{number % 1000}.example/a/path/of/usual/length/{number}.html" for number in numbers],
            "site": [f"s{number % 1000}.example" for number in numbers],
            "kind": ["a"] * PART,
            "status": pa.array(np.full(PART, 200), pa.int16()),
            "final": np.ones(PART, np.bool_),
            "bytes": np.full(PART, 5000),
            "digest": [sha1(b"%d" % content) for content in contents.tolist()],
            "fetched_at": pa.array(numbers * 1000, pa.timestamp("us", "UTC")),
            "simhash": bits.view(np.int64),
        }
    )
    pq.write_table(table, path)


def _searched(count: int, within: int) -> dict[str, Any]:
    """The same in a process of its own."""
    return _apart("--search", str(count), "--within", str(within))


def _apart(*arguments: str) -> dict[str, Any]:
    import json

    command = [sys.executable, "-m", "benchmarks.near_duplicates", *arguments]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(seed: int = 1) -> dict[str, Any]:
    """All of it."""
    words, chance = prose(), random.Random(seed)
    return {
        "machine": description(),
        "words_of_prose": len(words),
        "mixed": {str(each): mixed(words, random.Random(each)) for each in (seed, seed + 1, seed + 2)},
        "by_edit": by_edit(words, chance),
        "cost": cost(words),
        "listing": _apart("--listing", str(LISTED)),
        "search": [_searched(count, within) for count in SEARCHED for within in (3, 5)],
    }


def show(result: dict[str, Any]) -> None:
    """As tables."""
    for seed, found in result["mixed"].items():
        print(f"seed {seed}: {found['pages']:,} pages, {found['edited']} of them edited copies")
        print("within  " + "".join(f"{f'{least} words':>18}" for least in found["by_least"]))
        for place, within in enumerate(WITHIN):
            cells = (judged[place] for judged in found["by_least"].values())
            row = "".join(f"{each['precision']:>9.3f} /{each['recall']:>6.3f}" for each in cells)
            print(f"{within:>6}  {row}")
    print("\nbits apart, median (share within 3 / 5), by words of the text")
    for kind, lengths in result["by_edit"].items():
        row = "".join(
            f"{each['median']:>6.0f} ({each['within_3']:.2f}/{each['within_5']:.2f})" for each in lengths.values()
        )
        print(f"{kind:<20}{row}")
    print(f"\n{result['cost']}")
    print(result["listing"])
    for each in result["search"]:
        print(each)


if __name__ == "__main__":
    import json

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--search", type=int)
    parser.add_argument("--listing", type=int)
    parser.add_argument("--within", type=int, default=3)
    given = parser.parse_args()
    if given.listing:
        print(json.dumps(listing(given.listing)))
    elif given.search:
        print(json.dumps(search(given.search, given.within)))
    else:
        show(run(given.seed))
