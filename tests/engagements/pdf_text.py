"""Reading a PDF back: its words, its structure, its fonts, what is attached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pypdf import PdfReader


def words(reader: PdfReader) -> str:
    """All text of all pages, with single spaces; a kerned comma is no word of its own."""
    text = " ".join(" ".join(page.extract_text().split()) for page in reader.pages)
    return re.sub(r"(?<=\d) (?=,\d)", "", text)


def elements(reader: PdfReader) -> Iterator[dict[str, Any]]:
    """Every structure element, in reading order."""
    root: Any = reader.trailer["/Root"]
    yield from _below(root["/StructTreeRoot"]["/K"])


def _below(kids: Any) -> Iterator[dict[str, Any]]:
    kids = kids.get_object()
    for kid in kids if isinstance(kids, list) else [kids]:
        found = kid.get_object()
        if isinstance(found, dict) and "/S" in found:
            yield found
            if "/K" in found:
                yield from _below(found["/K"])


def headings(reader: PdfReader) -> list[str]:
    """The levels of the headings in reading order: H1, H2, ..."""
    tags = (str(each["/S"])[1:] for each in elements(reader))
    return [tag for tag in tags if re.fullmatch(r"H\d", tag)]


def fonts(reader: PdfReader) -> dict[str, bool]:
    """Base font name, without its subset tag, to whether its glyphs are in the file."""
    found = {}
    for page in reader.pages:
        resources: Any = page["/Resources"]
        for font in resources["/Font"].values():
            full = font.get_object()
            for part in [full, *full.get("/DescendantFonts", [])]:
                descriptor = part.get_object().get("/FontDescriptor")
                if descriptor is not None:
                    name = str(full["/BaseFont"])[1:].split("+")[-1]
                    found[name] = any(
                        key in descriptor.get_object()
                        for key in ("/FontFile", "/FontFile2", "/FontFile3")
                    )
    return found


def attached(reader: PdfReader) -> dict[str, bytes]:
    """Name to bytes of each enclosed file."""
    return {name: contents[0] for name, contents in reader.attachments.items()}
