"""Word-by-word difference of two texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# Texts that share less than this are shown one after the other: a mixed text is unreadable.
MIN_SIMILARITY = 0.7


@dataclass(frozen=True)
class Piece:
    """A run of words. `change` is "kept", "out" or "in"."""

    change: str
    text: str


@dataclass(frozen=True)
class Difference:
    """One changed entry; "" where a version lacks it."""

    label: str
    before: str
    after: str

    @property
    def pieces(self) -> list[Piece]:
        """Both texts in one, removed words before added ones."""
        old, new = WORDS.findall(self.before), WORDS.findall(self.after)
        pieces = []
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        if self.before and self.after and matcher.ratio() < MIN_SIMILARITY:
            return [Piece("out", self.before), Piece("kept", " "), Piece("in", self.after)]
        for change, first, last, start, end in matcher.get_opcodes():
            if change == "equal":
                pieces.append(Piece("kept", "".join(old[first:last])))
                continue
            if first < last:
                pieces.append(Piece("out", "".join(old[first:last])))
            if start < end:
                pieces.append(Piece("in", "".join(new[start:end])))
        return pieces
