"""Match errors by their code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engagements.common.errors import ApplicationError
from engagements.evidence.readers.errors import EvidenceError


@contextmanager
def declined(code: str) -> Iterator[None]:
    """Expect a service to decline with this `code`, as in "settlement.same_person"."""
    with pytest.raises(ApplicationError) as caught:
        yield
    assert caught.value.code == code


@contextmanager
def unreadable(*codes: str, at: str = "") -> Iterator[None]:
    """Expect an evidence file to fail with one of these `codes`, in one line, at place `at`."""
    with pytest.raises(EvidenceError) as caught:
        yield
    assert caught.value.code in codes
    assert "\n" not in caught.value.message
    assert caught.value.message.endswith(f"({at})" if at else "")
