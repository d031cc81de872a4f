"""What the documents' tests stand on."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfReader

from engagements import documents
from tests.engagements.documents.story import Story


@pytest.fixture
def story(db: None, settings: object, tmp_path: Path) -> Story:
    """An engagement that has just been opened."""
    return Story()


@pytest.fixture
def issued(tmp_path: Path) -> Callable[[str, str], PdfReader]:
    """Issue a document and read it; the bytes also lie in the test's folder, to look at."""

    def issue(kind: str, subject: str) -> PdfReader:
        document = documents.issue(kind=kind, subject=subject)
        content = bytes(document.content)
        (tmp_path / document.filename).write_bytes(content)
        return PdfReader(io.BytesIO(content))

    return issue
