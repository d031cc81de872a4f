"""Kernels off the shelf that were held against the need, a line each."""

from __future__ import annotations

from engagements.audit.rules.inputs import Tried
from engagements.pitch.rules.stated import PitchError

MOST_LINES = 20
LONGEST_NAME = 80


def libraries_of(text: str) -> tuple[Tried, ...]:
    """`FlashInfer: no skip connections, no fp8` a line: the library, and what it lacks.

    Without a colon it lacks nothing: it fits. PitchError for a line that names none.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        raise PitchError(f"At most {MOST_LINES} libraries are looked at.")
    return tuple(_library(line) for line in lines)


def _library(line: str) -> Tried:
    name, _, rest = line.partition(":")
    if not name.strip():
        raise PitchError(f"“{line[:40]}” names no library: write it as in FlashInfer: no fp8.")
    if len(name.strip()) > LONGEST_NAME:
        raise PitchError(f"A library's name has at most {LONGEST_NAME} characters.")
    return Tried(
        library=name.strip(),
        lacks=tuple(each.strip() for each in rest.split(",") if each.strip()),
    )
