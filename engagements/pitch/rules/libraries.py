"""Parse the libraries that were tried, one per line."""

from __future__ import annotations

from engagements.audit.rules.inputs import Tried
from engagements.common.errors import ApplicationError

MOST_LINES = 20
LONGEST_NAME = 80


def libraries_of(text: str) -> tuple[Tried, ...]:
    """Parse lines such as `FlashInfer: no skip connections, no fp8`: a library and its gaps.

    A library without a colon has no gaps. ApplicationError for a line without a library.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        raise ApplicationError(
            f"Enter at most {MOST_LINES} libraries.", code="pitch.too_many_libraries"
        )
    return tuple(_library(line) for line in lines)


def _library(line: str) -> Tried:
    name, _, rest = line.partition(":")
    if not name.strip():
        raise ApplicationError(
            f"“{line[:40]}” has no library name. Enter one such as FlashInfer: no fp8.",
            code="pitch.library_missing",
        )
    if len(name.strip()) > LONGEST_NAME:
        raise ApplicationError(
            f"Shorten the library name to {LONGEST_NAME} characters.", code="pitch.library_too_long"
        )
    return Tried(
        library=name.strip(),
        lacks=tuple(each.strip() for each in rest.split(",") if each.strip()),
    )
