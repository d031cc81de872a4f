"""Remove invisible characters from text that people type or paste.

XML cannot hold a vertical tab, which word processors use for a line break: an e-invoice with one
in a title cannot be rendered. A zero-width space makes one name look like another, and a
direction mark shows another text than the one stored.
"""

from __future__ import annotations

import re

# Control characters and line separators; tab, line feed and carriage return stay.
_BREAKS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]+")
_HIDDEN = re.compile("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]+")


def strip_invisible(text: str) -> str:
    """Return `text` trimmed, with breaks as spaces and hidden characters removed."""
    return _BREAKS.sub(" ", _HIDDEN.sub("", text)).strip()
