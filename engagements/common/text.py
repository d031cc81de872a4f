"""Text as people type and paste it, without what nobody sees in it.

A vertical tab, which word processors put where a line breaks, can stand in no XML: the invoice of
a milestone with one in its title could never be made. A space without width makes two names of
one, or a name of nothing; a mark that turns the writing around shows another text than it is.
"""

from __future__ import annotations

import re

# What XML cannot hold or a page cannot show; tab, line feed and carriage return are writing.
_BREAKS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]+")
_HIDDEN = re.compile("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]+")


def strip_invisible(text: str) -> str:
    """`text` trimmed, with a space where something broke it, and nothing where something hid."""
    return _BREAKS.sub(" ", _HIDDEN.sub("", text)).strip()
