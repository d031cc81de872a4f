"""PDF/UA-1 as another's validator sees it: outloud, without its own opinions."""

from __future__ import annotations

import tempfile
from pathlib import Path

from outloud import check

# FRM-003: a signature field has no place on the page, so ISO 14289-1, 7.18.1, exempts it.
# DOC-012: invoices are PDF/A-3 with an e-invoice inside, and do not claim PDF/UA.
EXEMPT = ("FRM-003", "DOC-012")


def errors_of(content: bytes) -> list[str]:
    """What the validator calls an error of conformance."""
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        Path(file.name).write_bytes(content)
        result = check(file.name, layers=["conformance"], skip=EXEMPT)
    assert result.error is None
    found = result.sorted_findings()
    return [f"{each.rule}: {each.message}" for each in found if each.severity == "error"]
