"""Match errors by their code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engagements.common.errors import ApplicationError


@contextmanager
def declined(code: str) -> Iterator[None]:
    """Expect a service to decline with this `code`, as in "settlement.same_person"."""
    with pytest.raises(ApplicationError) as caught:
        yield
    assert caught.value.code == code
