"""What a document is about."""

import pytest

from engagements.documents.subjects import Subject


@pytest.mark.parametrize("text", ["audit:3", "contract:17", "contract:17:accepted"])
def test_a_subject_reads_back_as_it_was_written(text: str) -> None:
    assert str(Subject.read(text)) == text


@pytest.mark.parametrize("text", ["", "audit", "audit:", "audit:x", "audit:03", "a:1:b:c", ":1"])
def test_anything_else_is_no_subject(text: str) -> None:
    with pytest.raises(ValueError, match="no subject"):
        Subject.read(text)
