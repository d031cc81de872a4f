"""Two wordings in one: what was taken out, put in and kept, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

WORDS = re.compile(r"\s+|\w+|[^\w\s]")
# Wordings that share less than this are set side by side; word by word nobody could read them.
ALIKE = 0.7


@dataclass(frozen=True)
class Piece:
    """A run of words: kept, taken out or put in."""

    change: str
    text: str


@dataclass(frozen=True)
class Difference:
    """One thing that the terms say otherwise, or only in one of the versions ("")."""

    label: str
    before: str
    after: str

    @property
    def pieces(self) -> list[Piece]:
        """Both wordings in one, with what was taken out before what was put in."""
        old, new = WORDS.findall(self.before), WORDS.findall(self.after)
        pieces = []
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        if self.before and self.after and matcher.ratio() < ALIKE:
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
