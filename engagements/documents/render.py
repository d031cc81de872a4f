"""From a paper to the bytes of a tagged PDF (PDF/UA-1) with embedded fonts and enclosures."""

from __future__ import annotations

import hashlib
import io
import logging
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string

from engagements.documents import typefaces
from engagements.documents.renderable import Enclosure, RenderableDocument

_ROOT = Path(__file__).resolve().parents[2]
_TOKENS = _ROOT / "consultancy" / "static" / "css" / "tokens.css"
_STYLE = _ROOT / "templates" / "documents" / "document.css"
# What WeasyPrint warns of where no font has a character, which is its first argument.
_NO_GLYPH = ".notdef glyph rendered"
_KEPT = "What is sealed or issued keeps its letters: for that it takes the font."


class CannotBeTypeset(RuntimeError):
    """Something that the document needs is missing or unreadable; `reason` says what."""

    def __init__(self, title: str, reason: str) -> None:
        super().__init__(f"{title}: {reason}")
        self.reason = reason


def render_pdf(paper: RenderableDocument) -> bytes:
    """The PDF. The same paper gives the same bytes; nothing is fetched from any network.

    CannotBeTypeset when WeasyPrint had to leave something out: a picture, a description, or a
    letter that no font has.
    """
    from weasyprint import CSS, HTML
    from weasyprint.text.fonts import FontConfiguration

    fonts = FontConfiguration()
    fetch = _own_files_only()
    complaints = _Complaints()
    with complaints:
        styles = [
            CSS(filename=file, font_config=fonts, url_fetcher=fetch) for file in (_TOKENS, _STYLE)
        ]
        made: bytes = HTML(string=markup(paper), url_fetcher=fetch).write_pdf(
            stylesheets=styles,
            font_config=fonts,
            pdf_variant=paper.variant,
            xmp_metadata=[io.BytesIO(each) for each in paper.xmp],
            pdf_identifier=_identifier(paper),
            attachments=[_attached(each, paper) for each in paper.enclosures],
            custom_metadata=True,
        )
    if complaints.blank:
        raise CannotBeTypeset(paper.title, f"{typefaces.refusal(complaints.blank)} {_KEPT}")
    if complaints.errors:
        raise CannotBeTypeset(paper.title, "; ".join(complaints.errors))
    return made


def markup(paper: RenderableDocument) -> str:
    """The document as HTML, before it is laid out."""
    house = settings.CONSULTANCY
    contact = " · ".join([*house["address"].splitlines(), *filter(None, [house["email"]])])
    return render_to_string(
        paper.template, {"paper": paper, "house": house, "contact": contact, **paper.context}
    )


def _identifier(paper: RenderableDocument) -> bytes:
    about = f"{paper.filename} {paper.seal} {paper.dated.isoformat()}"
    return hashlib.sha256(about.encode()).hexdigest()[:32].encode()


def _attached(enclosure: Enclosure, paper: RenderableDocument) -> Any:
    from weasyprint import Attachment

    moment = paper.dated.astimezone(UTC)
    return Attachment(
        file_obj=io.BytesIO(enclosure.content),
        name=enclosure.name,
        description=enclosure.description,
        created=moment,
        modified=moment,
        relationship=enclosure.relationship,
    )


def _own_files_only() -> Any:
    """A fetcher for the fonts of the repository and for data: URLs. Everything else fails."""
    from weasyprint.urls import URLFetcher, URLFetcherResponse

    class OwnFiles(URLFetcher):
        def fetch(self, url: str, headers: dict[str, str] | None = None) -> Any:
            if url.startswith("data:"):
                return super().fetch(url, headers)
            folder, _, name = url.rpartition("/")
            if folder != typefaces.FONTS.as_uri():
                raise ValueError(f"a document takes nothing from {url}")
            return URLFetcherResponse(url, _unpacked(name))

    return OwnFiles()


@cache
def _unpacked(name: str) -> bytes:
    """A font as plain TrueType. Unpacking WOFF2 takes longer than all the rest, so once."""
    from fontTools.ttLib import TTFont

    font = TTFont(typefaces.FONTS / name, recalcTimestamp=False)
    font.flavor = None
    plain = io.BytesIO()
    font.save(plain)
    return plain.getvalue()


class _Complaints(logging.Handler):
    """What WeasyPrint could not do while this document was made."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.errors: list[str] = []
        self.blank: list[str] = []
        self.logger = logging.getLogger("weasyprint")

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            self.errors.append(record.getMessage())
        elif isinstance(record.msg, str) and record.msg.startswith(_NO_GLYPH):
            assert isinstance(record.args, tuple)
            self.blank += filter(typefaces.is_meant, str(record.args[0]))

    def __enter__(self) -> None:
        self.level_before = self.logger.level
        self.logger.setLevel(logging.WARNING)
        self.logger.addHandler(self)

    def __exit__(self, *_: object) -> None:
        self.logger.removeHandler(self)
        self.logger.setLevel(self.level_before)
