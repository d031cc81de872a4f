"""Sanitise text from a measured process for the database and the page."""

import re

# PostgreSQL stores no NUL; the others move a terminal's cursor or hide text.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
LONGEST_REASON = 2000
LONGEST_LOG = 16 * 1024


def readable(text: str, *, longest: int = LONGEST_REASON) -> str:
    """The text without control characters and lone surrogates, cut to `longest` characters."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    clean = CONTROL.sub(" ", clean).strip()
    return clean if len(clean) <= longest else clean[: longest - 1].rstrip() + "…"


def last_line(text: str) -> str:
    """The last line that is not blank, or an empty text."""
    lines = [line for line in readable(text, longest=len(text) + 1).splitlines() if line.strip()]
    return readable(lines[-1]) if lines else ""
