"""Content codings undone within bounds, and charsets found out."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.costs import check_costs, check_linear

from weft.model import Reason
from weft.parse.decode import charset_of, decode_content, known_charset

LIMIT = 1_000_000
TEXT = b"The quick brown fox jumps over the lazy dog. " * 2000 + bytes(range(256)) * 40


def raw_deflate(data: bytes) -> bytes:
    """Deflate without the header that the standard wants."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw": ("deflate", raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": (" zstd ", zstandard.compress),
}
packed = pytest.mark.parametrize(("coding", "pack"), PACKERS.values(), ids=PACKERS)


# --- content codings ---


@packed
def test_coding__is_undone(coding: str, pack: Callable[[bytes], bytes]) -> None:
    """Every coding that we ask for, in whatever case, also of nothing."""
    assert decode_content(pack(TEXT), coding, LIMIT) == (TEXT, None)
    assert decode_content(pack(b""), coding, LIMIT) == (b"", None)
    assert decode_content(b"", coding, LIMIT) == (b"", None)


@pytest.mark.parametrize("first", PACKERS)
@pytest.mark.parametrize("second", PACKERS)
def test_codings__are_undone_in_turn(first: str, second: str) -> None:
    """The last coding named was applied last."""
    (one, pack_one), (two, pack_two) = PACKERS[first], PACKERS[second]
    assert decode_content(pack_two(pack_one(TEXT)), f"{one},{two}", LIMIT) == (TEXT, None)


@pytest.mark.parametrize("coding", ["", "identity", "none", "utf-8", " , identity"])
def test_coding__that_means_nothing_changes_nothing(coding: str) -> None:
    """Common mistakes are taken for what they are."""
    assert decode_content(TEXT, coding, LIMIT) == (TEXT, None)


@pytest.mark.parametrize("coding", ["compress", "snappy", "gzip;q=1", "gzip, unknown", ",".join(["gzip"] * 50)])
def test_coding__that_is_unknown_has_a_reason(coding: str) -> None:
    """So has a chain that nobody means."""
    assert decode_content(gzip.compress(TEXT), coding, LIMIT) == (b"", Reason.ENCODING)


@packed
def test_coding__that_breaks_off_gives_what_there_is(coding: str, pack: Callable[[bytes], bytes]) -> None:
    """However short, it is the beginning of the content and no error."""
    whole = pack(TEXT)
    sizes = []
    for end in range(len(whole) + 1):
        content, reason = decode_content(whole[:end], coding, LIMIT)
        assert reason is None
        assert TEXT.startswith(content)
        sizes.append(len(content))
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(TEXT)


@packed
def test_coding__of_something_else_has_a_reason(coding: str, pack: Callable[[bytes], bytes]) -> None:
    """A page that is not what its header says is not guessed at."""
    del pack
    assert decode_content(b"<html>plain, whatever the header says</html>", coding, LIMIT) == (b"", Reason.ENCODING)


def test_gzip__may_have_several_members_and_rubbish_behind() -> None:
    """As gzip files do."""
    assert decode_content(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0rubbish", "gzip", 9) == (b"ab", None)


@packed
def test_limit__is_kept_exactly(coding: str, pack: Callable[[bytes], bytes]) -> None:
    """A content of just the limit is whole, one byte more is too much and cut to the limit."""
    whole = pack(TEXT)
    assert decode_content(whole, coding, len(TEXT)) == (TEXT, None)
    assert decode_content(whole, coding, len(TEXT) - 1) == (TEXT[:-1], Reason.EXPANSION)


@packed
def test_limit__holds_against_bombs(coding: str, pack: Callable[[bytes], bytes]) -> None:
    """What expands a thousandfold costs no more memory and time than the limit does."""
    bomb = pack(bytes(20_000_000))
    tracemalloc.start()
    content, reason = decode_content(bomb, coding, 2_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (content, reason) == (bytes(2_000_000), Reason.EXPANSION)
    assert peak < 30_000_000
    check_costs(lambda: decode_content(bomb, coding, 2_000_000), steps=10_000_000)


def test_limit__holds_in_every_step_of_a_chain() -> None:
    """A bomb in a bomb is stopped at the first."""
    bomb = gzip.compress(gzip.compress(bytes(20_000_000)))
    content, reason = decode_content(bomb, "gzip, gzip", 10_000)
    assert reason is Reason.EXPANSION
    assert len(content) == 10_000


@given(st.binary(max_size=300), st.sampled_from([coding for coding, _ in PACKERS.values()]), st.integers(1, 1000))
def test_decode_content__never_raises(body: bytes, coding: str, limit: int) -> None:
    """Any bytes under any coding, within the limit."""
    content, reason = decode_content(body, coding, limit)
    assert len(content) <= limit
    assert reason in (None, Reason.ENCODING, Reason.EXPANSION)


@given(st.sampled_from(list(PACKERS)), st.integers(0, 2000), st.integers(0, 255))
def test_decode_content__never_raises_on_what_was_damaged(name: str, at: int, value: int) -> None:
    """One wrong byte anywhere."""
    coding, pack = PACKERS[name]
    damaged = bytearray(pack(TEXT[:5000]))
    damaged[at % len(damaged)] = value
    content, _ = decode_content(bytes(damaged), coding, 10_000)
    assert len(content) <= 10_000


# --- charsets ---


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("ISO-8859-1", "cp1252"),
        ("us-ascii", "cp1252"),
        (' "UTF8" ', "utf-8"),
        ("Windows-1251", "cp1251"),
        ("gb2312", "gb18030"),
        ("GBK", "gb18030"),
        ("x-sjis", "cp932"),
        ("ks_c_5601-1987", "cp949"),
        ("big5", "big5hkscs"),
        ("tis-620", "cp874"),
        ("utf-16", "utf-16-le"),
        ("iso-8859-8-i", "iso8859-8"),
        ("x-mac-cyrillic", "mac-cyrillic"),
        ("unicodefffe", "utf-16-be"),
        ("hex", ""),
        ("rot13", ""),
        ("utf-7", ""),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_label__means_what_it_means_on_the_web(label: str, codec: str) -> None:
    """As browsers read it, which is wider than the name says; what is no charset of the web is none."""
    assert known_charset(label) == codec


RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5
JAPANESE = "いろはにほへと ちりぬるを わかよたれそ つねならむ うゐのおくやま けふこえて " * 5
CHINESE = "我能吞下玻璃而不伤身体。中文网页编码检测测试文本。这是一个例子。" * 5
FRENCH = "Voix ambiguë d'un cœur qui au zéphyr préfère les jattes de kiwis. " * 5


def page(text: str, charset: str, head: str = "") -> bytes:
    """A page in a charset."""
    return f"<html><head>{head}</head><body><p>{text}</p></body></html>".encode(charset)


@pytest.mark.parametrize(
    ("body", "declared", "expected"),
    [
        (page(RUSSIAN, "utf-8-sig"), "windows-1251", "utf-8"),
        (page(RUSSIAN, "utf-16"), "windows-1251", "utf-16-le"),
        (b"\xfe\xff" + page(RUSSIAN, "utf-16-be"), "", "utf-16-be"),
        (page(RUSSIAN, "cp1251", "<meta charset=utf-8>"), "Windows-1251", "cp1251"),
        (page(RUSSIAN, "cp1251", "<meta charset=windows-1251>"), "", "cp1251"),
        (page(RUSSIAN, "cp1251", "<meta charset=windows-1251>"), "nonsense", "cp1251"),
        (
            page(RUSSIAN, "koi8-r", "<META http-equiv=content-type content='text/html; charset=\"KOI8-R\"'>"),
            "",
            "koi8-r",
        ),
        (b"<?xml version='1.0' encoding='koi8-r'?>" + page(RUSSIAN, "koi8-r"), "", "koi8-r"),
        (page(FRENCH, "utf-8", "<meta charset=utf-16>"), "", "utf-8"),
        (page(FRENCH, "utf-8", "<meta charset=nonsense>"), "", "utf-8"),
        (page(FRENCH, "utf-8"), "utf-16", "utf-8"),
        (page(FRENCH, "utf-8"), "", "utf-8"),
        (page(FRENCH, "utf-8").split(b"\xc3")[0] + b"\xc3", "", "utf-8"),
        (page(RUSSIAN, "cp1251"), "", "cp1251"),
        (page(JAPANESE, "shift_jis"), "", "cp932"),
        (page(JAPANESE, "euc-jp"), "", "euc_jp"),
        (page(CHINESE, "gb18030"), "", "gb18030"),
        (page(FRENCH, "cp1252"), "", "cp1252"),
        (page("Voilà.", "latin-1"), "", "cp1252"),
        (page(FRENCH, "utf-16-le"), "", "utf-16-le"),
        (page(FRENCH, "utf-16-be"), "", "utf-16-be"),
        (page(JAPANESE, "utf-16-le"), "utf-16", "utf-16-le"),
        (page(FRENCH, "utf-16-be"), "utf-16be", "utf-16-be"),
        (page(FRENCH, "utf-16-be"), "utf-16", "utf-16-be"),
        (page(FRENCH, "utf-16-be"), "unicode", "utf-16-be"),
        (page(JAPANESE, "utf-16-be"), "utf-16", "utf-16-be"),
        (page(JAPANESE * 20, "utf-16-be"), "UTF-16", "utf-16-be"),
        (page(JAPANESE * 20, "utf-16-le"), "UTF-16", "utf-16-le"),
        (page(FRENCH, "utf-16-le"), "utf-16", "utf-16-le"),
        (page(FRENCH, "utf-16-le"), "utf-16be", "utf-16-be"),
        (b"\xfe\xff" + page(FRENCH, "utf-16-be"), "utf-16le", "utf-16-be"),
        (b"\xff\xfe" + page(FRENCH, "utf-16-le"), "utf-16be", "utf-16-le"),
        (b"\xef\xbb\xbf" + page(FRENCH, "utf-8"), "utf-16", "utf-8"),
        (page(FRENCH, "utf-8") + b"\x00", "utf-16", "utf-8"),
        (page(RUSSIAN, "cp1251", "<!-- <meta charset=utf-8> --><meta charset=windows-1251>"), "", "cp1251"),
        (page(FRENCH, "utf-8", "<meta name=a content='use charset=big5'><meta charset=utf-8>"), "", "utf-8"),
        (page(RUSSIAN, "cp1251", "<style>" + "a{}" * 500 + "</style><meta charset=windows-1251>"), "", "cp1251"),
        (b"", "", "utf-8"),
        (b"\x00\x00\x01\x02" * 100, "", "utf-8"),
    ],
)
def test_charset__is_found_by_mark_header_declaration_and_look(body: bytes, declared: str, expected: str) -> None:
    """In this order; a declaration that cannot be true, or names no charset, is not believed."""
    assert charset_of(body, declared) == expected


def test_charset__a_declaration_far_down_is_not_looked_for() -> None:
    """Only the beginning of a page is searched, in linear time."""
    assert charset_of(b" " * 5000 + b"<meta charset=koi8-r>", "") == "utf-8"
    check_linear(lambda size: b"<meta " * size, lambda body: charset_of(body, ""), size=100_000)
    check_linear(lambda size: b"<?xml " * size, lambda body: charset_of(body, "x" * len(body)), size=100_000)


@given(st.binary(max_size=200), st.text(max_size=20))
def test_charset_of__is_always_one_that_can_be_used(body: bytes, declared: str) -> None:
    """Whatever comes out, the bytes can be read with it, and written down again."""
    text = body.decode(charset_of(body, declared), "replace")
    assert text.encode().decode() == text
