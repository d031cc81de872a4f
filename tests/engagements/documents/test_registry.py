"""Subjects of documents are parsed strictly."""

import pytest

from engagements.documents.registry import Subject


@pytest.mark.parametrize("text", ["audit:3", "contract:17", "contract:17:accepted"])
def test_a_subject_is_parsed_and_written(text: str) -> None:
    assert str(Subject.read(text)) == text


@pytest.mark.parametrize("text", ["", "audit", "audit:", "audit:x", "audit:03", "a:1:b:c", ":1"])
def test_anything_else_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="subject"):
        Subject.read(text)
