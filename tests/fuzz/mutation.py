"""Inputs made of other inputs. In: a corpus, words, chance. Out: inputs without end; and a failing one made small.

It stands in where no fuzzer is installed that looks at which lines an input reaches, and makes the few inputs of `make
test`, which are always the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

_TELLING = (b"\0", b"\xff", b"\r\n", b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\x7f", b" ", b"\t")
_MOST_CHANGES = 8
_POOL = 500  # inputs that are changed further


def inputs(corpus: list[bytes], words: tuple[bytes, ...], chance: random.Random, largest: int) -> Iterator[bytes]:
    """The corpus as it is, then what chance makes of them."""
    pool = [data[:largest] for data in corpus] or [b""]
    chance.shuffle(pool)
    yield from tuple(pool)
    while True:
        data = chance.choice(pool)
        for _ in range(chance.randint(1, _MOST_CHANGES)):
            data = _changed(data, pool, words, chance)[:largest]
        if chance.random() < 0.01:  # now and then much of the same: what is not linear shows
            data = _repeated(data, chance, largest)
        elif chance.random() < 0.05:  # and now and then one that goes on from here
            if len(pool) < _POOL + len(corpus):
                pool.append(data)
            else:
                pool[chance.randrange(len(pool))] = data
        yield data


def _changed(data: bytes, pool: list[bytes], words: tuple[bytes, ...], chance: random.Random) -> bytes:
    """One change at one place."""
    begin = chance.randint(0, len(data))
    end = min(len(data), begin + int(chance.paretovariate(0.6)))
    match chance.randrange(8):
        case 0:
            return data[:begin] + bytes([chance.randrange(256)]) + data[begin + 1 :]
        case 1:
            return data[:begin] + data[end:]
        case 2:
            return data[:end] + data[begin:end] * chance.randint(1, 4) + data[end:]
        case 3:
            other = chance.choice(pool)
            cut = chance.randint(0, len(other))
            return data[:begin] + other[cut : cut + int(chance.paretovariate(0.5))] + data[end:]
        case 4:
            return data[:begin] + chance.choice(_TELLING) + data[begin:]
        case 5:
            return data[:begin] + data[begin:end].swapcase() + data[end:]
        case _:
            word = chance.choice(words) if words else b"0"
            return data[:begin] + word + (data[begin:] if chance.random() < 0.7 else data[end:])


def _repeated(data: bytes, chance: random.Random, largest: int) -> bytes:
    """A stretch over and over, up to the largest size."""
    begin = chance.randint(0, len(data))
    part = data[begin : begin + chance.randint(1, 40)] or b"<"
    head = data[: chance.choice((0, begin))]
    return (head + part * (largest // len(part) + 1))[:largest]


def shrunk(fails: Callable[[bytes], bool], data: bytes, *, tries: int = 2_000) -> bytes:
    """A shorter input that fails as well, by leaving out stretches of it.

    >>> shrunk(lambda data: b"ab" in data, b"xxxxabyyyy")
    b'ab'
    """
    size = max(1, len(data) // 2)
    while tries > 0:
        at, found = 0, False
        while at < len(data) and tries > 0:
            tries -= 1
            shorter = data[:at] + data[at + size :]
            if fails(shorter):
                data, found = shorter, True
            else:
                at += size
        if size == 1 and not found:
            break
        size = max(1, size // 2)
    return data
