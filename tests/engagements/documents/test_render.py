"""PDFs are tagged, reproducible, and rendered from local files with embedded fonts."""

import io
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader
from pytest_django import Settings

from engagements.documents import render
from engagements.documents.renderable import Enclosure, RenderableDocument
from engagements.engagement.models import Engagement
from tests.engagements.accessibility import errors_of
from tests.engagements.pdf_text import attached, elements, fonts, headings

ROOT = Path(__file__).resolve().parents[3]
SEAL = "sha256:" + "ab" * 32


@pytest.fixture
def source(tmp_path: Path, settings: Settings) -> RenderableDocument:
    template = tmp_path / "page.html"
    template.write_text(
        '{% extends "documents/base.html" %}{% block content %}<h1>Übergabe · 2.34× ≥ 2×</h1>'
        "<h2>Part</h2>{{ text|safe }}{% endblock %}"
    )
    settings.TEMPLATES[0]["DIRS"].append(tmp_path)
    settings.TEMPLATES = settings.TEMPLATES  # resets the engines
    return RenderableDocument(
        engagement=Engagement(reference="TF-2026-0001"),
        title="A title",
        running_title="A running title",
        filename="paper.pdf",
        template="page.html",
        dated=datetime(2026, 10, 5, 9, 30, tzinfo=UTC),
        seal=SEAL,
        sealed="What was sealed",
        summary="A summary",
        context={"text": "<p>Text</p><p style='break-before: page'>More, <code>code</code></p>"},
        enclosures=(Enclosure("a.json", b"{}", "Empty"),),
    )


def read(content: bytes) -> PdfReader:
    return PdfReader(io.BytesIO(content))


def test_a_document_is_tagged_titled_and_in_a_language(source: RenderableDocument) -> None:
    reader = read(render.render_pdf(source))
    root: Any = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == "en"
    assert root["/ViewerPreferences"]["/DisplayDocTitle"]
    assert b"http://www.aiim.org/pdfua/ns/id/" in root["/Metadata"].get_object().get_data()
    assert headings(reader) == ["H1", "H2"]
    assert "/P" in {each["/S"] for each in elements(reader)}


TABLE = (
    "<table><thead><tr><th>Part</th><th>Net</th></tr></thead>"
    "<tbody><tr><th>Audit</th><td>6</td></tr></tbody></table>"
)


def test_a_document_conforms_to_pdf_ua_by_another_validator(
    source: RenderableDocument, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_table = replace(source, context={"text": TABLE})
    assert errors_of(render.render_pdf(with_table)) == []
    monkeypatch.setattr(render, "_scope_headers", lambda *_: None)
    assert errors_of(render.render_pdf(with_table))


def test_metadata_does_not_depend_on_the_clock(source: RenderableDocument) -> None:
    metadata = read(render.render_pdf(source)).metadata
    assert metadata is not None
    assert metadata.title == "A title"
    assert metadata.subject == "A summary"
    assert metadata.creation_date == datetime(2026, 10, 5, 9, 30, tzinfo=UTC)


def test_every_font_is_embedded_and_bundled(source: RenderableDocument) -> None:
    embedded = fonts(read(render.render_pdf(source)))
    assert embedded
    assert all(embedded.values())
    assert all(name.startswith(("Inter", "JetBrains")) for name in embedded), embedded


def test_pages_carry_running_header_seal_and_number(
    source: RenderableDocument,
) -> None:
    first, second = (page.extract_text() for page in read(render.render_pdf(source)).pages)
    assert "A running title" not in first
    assert "A running title" in second
    assert "1 of 2" in first
    assert "2 of 2" in second
    for page in (first, second):
        assert SEAL in page
        assert "What was sealed" in page


def test_rendering_is_reproducible(source: RenderableDocument) -> None:
    assert render.render_pdf(source) == render.render_pdf(source)


def test_attachments_are_embedded_byte_for_byte(source: RenderableDocument) -> None:
    enclosed = (Enclosure("b.json", b"[2]", ""), Enclosure("a.json", b'{"a":1}', "First"))
    reader = read(render.render_pdf(replace(source, enclosures=enclosed)))
    assert attached(reader) == {"a.json": b'{"a":1}', "b.json": b"[2]"}


@pytest.mark.parametrize(
    "url", ["http://localhost:1/a.png", "file:///etc/hostname", "data:image/png;base64,AAAA"]
)
def test_a_remote_or_broken_picture_fails(source: RenderableDocument, url: str) -> None:
    broken = replace(source, context={"text": f'<img src="{url}" alt="a picture">'})
    with pytest.raises(render.RenderFailed):
        render.render_pdf(broken)


def test_a_picture_without_alt_text_fails(source: RenderableDocument) -> None:
    square = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/%3E"
    wordless = replace(source, context={"text": f'<img src="{square}">'})
    with pytest.raises(render.RenderFailed, match="alt"):
        render.render_pdf(wordless)


def test_a_letter_without_a_font_fails_and_is_named(source: RenderableDocument) -> None:
    nameless = replace(source, context={"text": "<p>\U00012000 Ltd</p>"})
    with pytest.raises(render.RenderFailed, match=r"U\+12000"):
        render.render_pdf(nameless)


def test_an_emoji_without_a_font_is_left_out(source: RenderableDocument) -> None:
    cheerful = replace(source, context={"text": "<p>Thank you \U0001fadf\ufe0f</p>"})
    assert render.render_pdf(cheerful)


def test_importing_every_kind_loads_no_renderer() -> None:
    code = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'consultancy.settings'; "
        "django.setup(); import engagements.documents, engagements.charts; "
        "from engagements.documents.registry import Document, kind_of; "
        "[kind_of(kind) for kind in Document.Kind]; "
        "print(sorted({'weasyprint', 'matplotlib', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
