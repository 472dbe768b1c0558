"""The text of a PDF file, by pdfium. In: its bytes. Out: the text of its pages, in their order."""

from __future__ import annotations

from weft.text.gathering import Gathering, Stopped, Why

_PASSWORD = 4  # FPDF_ERR_PASSWORD


def read_pdf(body: bytes, _charset: str, into: Gathering) -> None:
    """Page by page, so that what was read stays where a page takes too long, or is broken."""
    import pypdfium2  # large, and few crawls want it

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        encrypted = getattr(error, "err_code", None) == _PASSWORD or "password" in str(error).lower()
        raise Stopped(Why.ENCRYPTED if encrypted else Why.BROKEN) from error
    broken = False
    try:
        for number in range(len(document)):
            try:
                page = document[number]
                words = page.get_textpage()
                piece = words.get_text_bounded()
                words.close()
                page.close()
            except pypdfium2.PdfiumError:
                broken = True  # the next page may be whole
                continue
            into.add(piece.replace("\ufffe", "").replace("\x02", "") + "\n\n")
    finally:
        document.close()
    if broken:
        raise Stopped(Why.BROKEN)
