"""Render a document to a tagged PDF (PDF/UA-1) with embedded fonts and attachments."""

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

from engagements.documents import fonts
from engagements.documents.renderable import Enclosure, RenderableDocument

_ROOT = Path(__file__).resolve().parents[2]
_TOKENS = _ROOT / "consultancy" / "static" / "css" / "tokens.css"
_STYLE = _ROOT / "templates" / "documents" / "document.css"
# WeasyPrint's warning about a character that no font has; its first argument is the character.
_NO_GLYPH = ".notdef glyph rendered"
_SEALED_TEXT = "Text that is sealed or issued cannot be changed; it needs the font."


class RenderFailed(RuntimeError):
    """A font, a picture or its description is missing or unreadable; see `reason`."""

    def __init__(self, title: str, reason: str) -> None:
        super().__init__(f"{title}: {reason}")
        self.reason = reason


def render_pdf(source: RenderableDocument, *, level_text: str = "") -> bytes:
    """Render a PDF: equal input gives equal bytes, and nothing is fetched from a network.

    `level_text` says which signature the file will get; empty for none.

    RenderFailed when WeasyPrint would leave out a picture, a description or a character.
    """
    from weasyprint import CSS, HTML
    from weasyprint.text.fonts import FontConfiguration

    font_config = FontConfiguration()
    fetch = _local_fetcher()
    problems = _Problems()
    with problems:
        styles = [
            CSS(filename=file, font_config=font_config, url_fetcher=fetch)
            for file in (_TOKENS, _STYLE)
        ]
        content: bytes = HTML(
            string=markup(source, level_text=level_text), url_fetcher=fetch
        ).write_pdf(
            stylesheets=styles,
            font_config=font_config,
            pdf_variant=source.variant,
            xmp_metadata=[io.BytesIO(each) for each in source.xmp],
            pdf_identifier=_identifier(source),
            attachments=[_attachment(each, source) for each in source.enclosures],
            custom_metadata=True,
            finisher=_scope_headers,
        )
    if problems.blank:
        raise RenderFailed(source.title, f"{fonts.missing_text(problems.blank)} {_SEALED_TEXT}")
    if problems.errors:
        raise RenderFailed(source.title, "; ".join(problems.errors))
    return content


def markup(source: RenderableDocument, *, level_text: str = "") -> str:
    """Return the document as HTML, before layout."""
    house = settings.CONSULTANCY
    contact = " · ".join([*house["address"].splitlines(), *filter(None, [house["email"]])])
    return render_to_string(
        source.template,
        {
            "document": source,
            "house": house,
            "contact": contact,
            "level_text": level_text,
            **source.context,
        },
    )


def _identifier(source: RenderableDocument) -> bytes:
    identity = f"{source.filename} {source.seal} {source.dated.isoformat()}"
    return hashlib.sha256(identity.encode()).hexdigest()[:32].encode()


def _scope_headers(_: Any, pdf: Any) -> None:
    """Give every header cell its scope, which WeasyPrint leaves out.

    A row of headers alone heads its columns; a header beside data heads its row.
    """
    cells = {each.number: each for each in pdf.objects if _tag(each) in ("/TH", "/TD")}
    for row in (each for each in pdf.objects if _tag(each) == "/TR"):
        # A kid is an element's reference, as b"12 0 R".
        numbers = [int(kid.split()[0]) for kid in row["K"] if isinstance(kid, bytes)]
        own = [cells[number] for number in numbers if number in cells]
        scope = "/Column" if all(_tag(each) == "/TH" for each in own) else "/Row"
        for each in own:
            if _tag(each) == "/TH":
                each["A"]["Scope"] = scope


def _tag(element: Any) -> Any:
    return element.get("S") if isinstance(element, dict) else None


def _attachment(enclosure: Enclosure, source: RenderableDocument) -> Any:
    from weasyprint import Attachment

    moment = source.dated.astimezone(UTC)
    return Attachment(
        file_obj=io.BytesIO(enclosure.content),
        name=enclosure.name,
        description=enclosure.description,
        created=moment,
        modified=moment,
        relationship=enclosure.relationship,
    )


def _local_fetcher() -> Any:
    """Return a fetcher for the repository's fonts and data: URLs; anything else fails."""
    from weasyprint.urls import URLFetcher, URLFetcherResponse

    class LocalFetcher(URLFetcher):
        def fetch(self, url: str, headers: dict[str, str] | None = None) -> Any:
            if url.startswith("data:"):
                return super().fetch(url, headers)
            folder, _, name = url.rpartition("/")
            if folder != fonts.FONTS.as_uri():
                raise ValueError(f"documents may not load {url}")
            return URLFetcherResponse(url, _unpacked(name))

    return LocalFetcher()


@cache
def _unpacked(name: str) -> bytes:
    """Return a font as TrueType, cached: unpacking WOFF2 takes longer than rendering."""
    from fontTools.ttLib import TTFont

    font = TTFont(fonts.FONTS / name, recalcTimestamp=False)
    font.flavor = None
    plain = io.BytesIO()
    font.save(plain)
    return plain.getvalue()


class _Problems(logging.Handler):
    """Collects WeasyPrint's errors and the characters without a font."""

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
            self.blank += filter(fonts.is_significant, str(record.args[0]))

    def __enter__(self) -> None:
        self.level_before = self.logger.level
        self.logger.setLevel(logging.WARNING)
        self.logger.addHandler(self)

    def __exit__(self, *_: object) -> None:
        self.logger.removeHandler(self)
        self.logger.setLevel(self.level_before)
